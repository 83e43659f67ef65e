//! The verb of a request to a node, and the subresources of `nodes`. A client must be allowed one of them.

use http::Method;

/// The fine-grained subresources of paths. In Kubernetes: `GetRequestAttributes`, with `KubeletFineGrainedAuthz`.
const FINE: [(&str, &str); 4] =
    [("/pods", "pods"), ("/healthz", "healthz"), ("/configz", "configz"), ("/runningpods", "pods")];
const COARSE: [(&str, &str); 6] = [
    ("/stats", "stats"),
    ("/metrics", "metrics"),
    ("/logs", "log"),
    ("/checkpoint", "checkpoint"),
    ("/statusz", "statusz"),
    ("/flagz", "configz"),
];

/// The verb of a request; empty for one that has none.
pub(crate) fn verb(method: &Method) -> &'static str {
    match *method {
        Method::POST => "create",
        Method::GET => "get",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "",
    }
}

/// The subresources by any of which a path may be allowed.
pub(crate) fn subresources(path: &str) -> Vec<&'static str> {
    let of = |table: &[(&str, &'static str)]| {
        table.iter().find(|(prefix, _)| is_below(path, prefix)).map(|(_, subresource)| *subresource)
    };
    of(&FINE).into_iter().chain([of(&COARSE).unwrap_or("proxy")]).collect()
}

fn is_below(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_subresource_of_nodes() {
        assert_eq!(subresources("/stats/summary"), ["stats"]);
        assert_eq!(subresources("/metrics"), ["metrics"]);
        assert_eq!(subresources("/metricsz"), ["proxy"]);
        assert_eq!(subresources("/containerLogs/a/b/c"), ["proxy"]);
        assert_eq!(subresources("/exec/a/b/c"), ["proxy"]);
        assert_eq!(subresources("/pods"), ["pods", "proxy"]);
        assert_eq!(subresources("/healthz/ping"), ["healthz", "proxy"]);
        assert_eq!(subresources(""), ["proxy"]);
        assert_eq!((verb(&Method::POST), verb(&Method::HEAD)), ("create", ""));
    }

    proptest::proptest! {
        #[test]
        fn every_path_asks_for_something(path in "\\PC*") {
            proptest::prop_assert!(!subresources(&path).is_empty());
        }
    }
}
