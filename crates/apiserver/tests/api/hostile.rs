use coracle_apiserver::Body;
use http::Method;
use proptest::prelude::*;

use crate::server::{CONFIG_MAPS, Server, request};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_path_query_or_header_makes_the_server_fail(
        steps in prop::collection::vec("(api|apis|v1|watch|namespaces|default|configmaps|proxy|status|%2e%2e|[!-~&&[^?# ]]{0,6})", 0..8),
        query in "((watch|limit|continue|resourceVersion|resourceVersionMatch|labelSelector|fieldSelector|timeoutSeconds|timeout|dryRun|pretty|sendInitialEvents)=[0-9a-zA-Z%,=!()-]{0,12}&){0,4}timeoutSeconds=1",
        accept in "[ -~]{0,40}",
        method in prop::sample::select(vec!["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW"]),
    ) {
        let target = format!("/{}?{query}", steps.join("/"));
        prop_assume!(target.parse::<http::Uri>().is_ok());
        let code = runtime().block_on(async {
            let server = Server::start().await;
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            server.send(request(method, &target, &[("accept", &accept)], Body::empty())).await.code
        });
        prop_assert!(code.as_u16() < 500 || code == 504, "{target}: {code}");
    }

    #[test]
    fn no_body_makes_the_server_fail(
        body in prop::collection::vec(any::<u8>(), 0..200),
        text in "[\\[\\]{}:,\"a-z0-9 .\n-]{0,60}",
        kind in prop::sample::select(vec![
            "application/json", "application/yaml", "application/vnd.kubernetes.protobuf",
            "application/json-patch+json", "application/merge-patch+json",
            "application/strategic-merge-patch+json", "application/apply-patch+yaml", "", "x/y;;",
        ]),
        method in prop::sample::select(vec![Method::POST, Method::PUT, Method::PATCH, Method::DELETE]),
        binary: bool,
    ) {
        let body = match (binary, kind.contains("protobuf")) {
            (true, true) => [b"k8s\0".as_slice(), &body].concat(),
            (true, false) => body,
            (false, _) => text.into_bytes(),
        };
        let code = runtime().block_on(async {
            let server = Server::start().await;
            server.create_config_map("a").await;
            let target = match method {
                Method::POST => CONFIG_MAPS.to_owned(),
                _ => format!("{CONFIG_MAPS}/a?fieldManager=fuzz"),
            };
            server.send(request(method.clone(), &target, &[("content-type", kind)], Body::from(body))).await.code
        });
        prop_assert!(code.as_u16() < 500, "{code}");
    }
}
