use coracle_apiserver::{Body, Limits};
use coracle_journal::{EntryId, Stage};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::server::{CONFIG_MAPS, Server, request};

#[tokio::test(start_paused = true)]
async fn an_object_is_created_read_changed_listed_and_deleted() {
    let server = Server::start().await;
    let created = server.create_config_map("a").await;
    assert!(!created["metadata"]["uid"].as_str().unwrap().is_empty());
    let path = format!("{CONFIG_MAPS}/a");
    let read = server.get(&path).await;
    assert_eq!(read.json(), created);
    assert_eq!(read.header("content-type"), "application/json");

    let patch = [("content-type", "application/merge-patch+json")];
    let patched = server.call(Method::PATCH, &path, &patch, json!({"data": {"k": "new"}})).await.json();
    assert_eq!(patched["data"]["k"], "new");
    assert_ne!(patched["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);

    let list = server.get("/api/v1/configmaps").await.json();
    assert_eq!(list["kind"], "ConfigMapList");
    assert_eq!(list["items"][0]["metadata"]["name"], "a");
    assert_eq!(list["items"][0].get("kind"), None);

    let deleted = server.call(Method::DELETE, &path, &[], json!({"propagationPolicy": "Background"})).await;
    assert_eq!((deleted.code, &deleted.json()["status"]), (StatusCode::OK, &json!("Success")));
    let gone = server.get(&path).await;
    assert_eq!(gone.code, StatusCode::NOT_FOUND);
    assert_eq!(gone.json()["message"], "configmaps \"a\" not found");
}

#[tokio::test(start_paused = true)]
async fn unknown_paths_resources_and_methods_have_different_errors() {
    let server = Server::start().await;
    let page = server.get("/apis/nope/v1/things").await;
    assert_eq!((page.code, page.body.as_slice()), (StatusCode::NOT_FOUND, b"404 page not found\n".as_slice()));
    let below_what_is_built_in =
        ["/api/v1/namespaces/default/nothings", "/api/v9", "/apis/apps/v9", "/apis/apps/v9/things", "/version/x"];
    for path in below_what_is_built_in {
        let resource = server.get(path).await;
        let message = "the server could not find the requested resource";
        assert_eq!((resource.code, &resource.json()["message"]), (StatusCode::NOT_FOUND, &json!(message)), "{path}");
    }
    let method = server.call(Method::POST, &format!("{CONFIG_MAPS}/a"), &[], json!({})).await;
    assert_eq!(method.code, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(server.get("/api/v1/namespaces/default/namespaces").await.code, StatusCode::NOT_FOUND);
    assert_eq!(server.get("/api/v1/configmaps/a").await.code, StatusCode::NOT_FOUND);
    assert_eq!(server.get(&format!("{CONFIG_MAPS}/a/status")).await.code, StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn invalid_tokens_are_rejected_and_users_are_authorized() {
    let server = Server::start().await;
    let wrong = http::Request::get("/api").header("authorization", "Bearer wrong").body(Body::empty()).unwrap();
    let answer = server.send(wrong).await;
    assert_eq!((answer.code, answer.json()["message"].as_str()), (StatusCode::UNAUTHORIZED, Some("Unauthorized")));
    let secrets = server.get("/api/v1/namespaces/default/secrets").await;
    assert_eq!(secrets.code, StatusCode::FORBIDDEN);
    assert_eq!(
        secrets.json()["message"],
        "secrets is forbidden: User \"ann\" cannot list resource \"secrets\" in API group \"\" in the namespace \"default\""
    );
}

#[tokio::test(start_paused = true)]
async fn selectors_of_a_request_are_authorized() {
    let server = Server::start().await;
    const SECRETS: &str = "/api/v1/namespaces/default/secrets";
    for (target, code) in [
        (format!("{SECRETS}?labelSelector=public%3Dyes"), 200),
        (format!("{SECRETS}?fieldSelector=metadata.namespace%3Dpublic"), 200),
        (format!("{SECRETS}?labelSelector=public%3Dno"), 403),
        // Selectors count where objects are selected, and the old path of watches is no such place.
        (format!("{SECRETS}/a?labelSelector=public%3Dyes"), 403),
        ("/api/v1/watch/namespaces/default/secrets?labelSelector=public%3Dyes".to_owned(), 403),
    ] {
        assert_eq!(server.get(&target).await.code, code, "{target}");
    }
    let target = format!("{SECRETS}?labelSelector=public%3Dyes");
    assert_eq!(server.call(Method::DELETE, &target, &[], json!({})).await.code, 200);
}

#[tokio::test(start_paused = true)]
async fn an_apply_that_creates_is_refused_in_the_words_of_a_create() {
    let server = Server::start().await;
    let as_editor = [("impersonate-user", "editor <&>"), ("content-type", "application/apply-patch+yaml")];
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let created = server.call(Method::POST, CONFIG_MAPS, &as_editor[..1], body.clone()).await;
    let target = format!("{CONFIG_MAPS}/a?fieldManager=me");
    let applied = server.call(Method::PATCH, &target, &as_editor, body).await;
    assert_eq!((created.code, applied.code), (StatusCode::FORBIDDEN, StatusCode::FORBIDDEN));
    let sentence = "is forbidden: User \"editor &lt;&amp;&gt;\" cannot create resource \"configmaps\" in API group \"\" in the namespace \"default\"";
    assert_eq!(created.json()["message"], format!("configmaps {sentence}"));
    assert_eq!(applied.json()["message"], format!("configmaps \"a\" {sentence}"));
}

#[tokio::test(start_paused = true)]
async fn unknown_fields_are_warned_of_refused_or_ignored_as_asked() {
    let server = Server::start().await;
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "w"}, "dat": {}});
    let strict = server.call(Method::POST, &format!("{CONFIG_MAPS}?fieldValidation=Strict"), &[], body.clone()).await;
    assert_eq!(strict.code, StatusCode::BAD_REQUEST);
    let warned = server.call(Method::POST, &format!("{CONFIG_MAPS}?dryRun=All"), &[], body.clone()).await;
    assert_eq!(warned.header("warning"), "299 - \"unknown field \\\"dat\\\"\"");
    let ignored = server.call(Method::POST, &format!("{CONFIG_MAPS}?fieldValidation=Ignore"), &[], body).await;
    assert_eq!((ignored.code, ignored.header("warning")), (StatusCode::CREATED, ""));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_too_large_is_refused_and_the_server_continues() {
    let server = Server::with_limits(Limits { body_bytes: 1000, ..Limits::default() }).await;
    let body = Body::from(vec![b' '; 1001]);
    let answer = server.send(request(Method::POST, CONFIG_MAPS, &[], body)).await;
    assert_eq!(answer.code, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(answer.json()["message"], "Request entity too large: limit is 1000");
    server.create_config_map("after").await;
}

#[tokio::test(start_paused = true)]
async fn the_same_object_is_shown_as_json_yaml_protobuf_table_and_metadata() {
    let server = Server::start().await;
    server.create_config_map("a").await;
    let path = format!("{CONFIG_MAPS}/a");
    let show = |accept: &'static str| {
        let request = request(Method::GET, &path, &[("accept", accept)], Body::empty());
        server.send(request)
    };
    let yaml = show("application/yaml").await;
    assert_eq!(yaml.header("content-type"), "application/yaml");
    assert!(String::from_utf8(yaml.body).unwrap().starts_with("apiVersion: v1\n"));
    let protobuf = show("application/vnd.kubernetes.protobuf,application/json").await;
    assert_eq!(protobuf.header("content-type"), "application/vnd.kubernetes.protobuf");
    assert!(protobuf.body.starts_with(b"k8s\0"));
    let table = show("application/json;as=Table;v=v1;g=meta.k8s.io,application/json").await.json();
    assert_eq!(
        (&table["kind"], &table["rows"][0]["object"]["kind"]),
        (&json!("Table"), &json!("PartialObjectMetadata"))
    );
    let metadata = show("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io").await.json();
    assert_eq!((&metadata["kind"], metadata.get("data")), (&json!("PartialObjectMetadata"), None));
    assert_eq!(show("text/csv").await.code, StatusCode::NOT_ACCEPTABLE);
}

#[tokio::test(start_paused = true)]
async fn a_body_in_protobuf_is_read_back_the_same() {
    let server = Server::start().await;
    server.create_config_map("a").await;
    let accept = [("accept", "application/vnd.kubernetes.protobuf")];
    let stored = server.send(request(Method::GET, &format!("{CONFIG_MAPS}/a"), &accept, Body::empty())).await;
    let headers = [("content-type", "application/vnd.kubernetes.protobuf")];
    let written =
        server.send(request(Method::PUT, &format!("{CONFIG_MAPS}/a"), &headers, Body::from(stored.body))).await;
    assert_eq!(written.code, StatusCode::OK, "{}", written.json());
    assert_eq!(written.json()["data"]["k"], "a");
}

#[tokio::test(start_paused = true)]
async fn every_answer_carries_the_audit_id_of_its_request() {
    let server = Server::start().await;
    let own = request(Method::GET, CONFIG_MAPS, &[("audit-id", "mine")], Body::empty());
    assert_eq!(server.send(own).await.header("audit-id"), "mine");
    let made = server.get("/nowhere").await;
    assert_eq!(made.header("audit-id").len(), 36);
    assert_eq!(made.header("cache-control"), "no-cache, private");
}

#[tokio::test(start_paused = true)]
async fn a_request_and_its_answer_stand_in_the_event_log_with_the_commit_between() {
    let server = Server::start().await;
    server.create_config_map("a").await;
    let entries = server.recorder.entries(EntryId(0));
    let find = |stage: Stage| entries.iter().rfind(|entry| entry.stage == stage).unwrap();
    let (request, commit, respond) = (find(Stage::ApiRequest), find(Stage::StoreCommit), find(Stage::ApiRespond));
    assert_eq!(request.data["verb"], "create");
    assert_eq!(commit.causes, [request.id]);
    assert_eq!(respond.causes, [request.id]);
    assert_eq!(respond.data["code"], 201);
}

#[tokio::test(start_paused = true)]
async fn the_answer_to_a_read_stands_in_the_event_log_with_the_revision_that_was_read() {
    let server = Server::start().await;
    let made = server.create_config_map("a").await;
    server.create_config_map("b").await;
    let last = || {
        let entries = server.recorder.entries(EntryId(0));
        entries.into_iter().rfind(|entry| entry.stage == Stage::ApiRespond).unwrap().data
    };
    assert!(!last().contains_key("read"), "a write is not a read");
    let read = |object: &Value| object["metadata"]["resourceVersion"].as_str().unwrap().parse::<i64>().unwrap();
    let one = server.get(&format!("{CONFIG_MAPS}/a")).await.json();
    assert_eq!(last()["read"], read(&one));
    let list = server.get(CONFIG_MAPS).await.json();
    assert_eq!(last()["read"], read(&list));
    assert!(read(&list) > read(&one));
    drop(made);
}

#[tokio::test(start_paused = true)]
async fn a_conflict_stands_in_the_event_log_with_what_was_wanted_and_what_was_stored() {
    let server = Server::start().await;
    let made = server.create_config_map("a").await;
    let read = server.get(&format!("{CONFIG_MAPS}/a")).await.json();
    let mut other = read.clone();
    other["data"] = json!({"k": "b"});
    let path = format!("{CONFIG_MAPS}/a");
    let put = |object: &Value| {
        request(Method::PUT, &path, &[("content-type", "application/json")], Body::from(object.to_string()))
    };
    let stored = server.send(put(&other)).await.json();
    let last = |server: &Server| {
        let entries = server.recorder.entries(EntryId(0));
        entries.into_iter().rfind(|entry| entry.stage == Stage::ApiRespond).unwrap().data
    };
    assert!(!last(&server).contains_key("stored"), "all is well");
    let mut late = read.clone();
    late["data"] = json!({"k": "c"});
    assert_eq!(server.send(put(&late)).await.code, StatusCode::CONFLICT);
    let (seen, there) = (&read["metadata"]["resourceVersion"], &stored["metadata"]["resourceVersion"]);
    assert_eq!(last(&server)["precondition"], format!("resourceVersion {}", seen.as_str().unwrap()));
    assert_eq!(&last(&server)["stored"], there);
    let options = json!({"preconditions": {"resourceVersion": seen}}).to_string();
    let delete = request(Method::DELETE, &path, &[("content-type", "application/json")], Body::from(options));
    assert_eq!(server.send(delete).await.code, StatusCode::CONFLICT);
    assert_eq!(&last(&server)["stored"], there);
    assert_eq!(last(&server)["precondition"], format!("resourceVersion {}", seen.as_str().unwrap()));
    drop(made);
}

#[tokio::test(start_paused = true)]
async fn pages_of_a_list_are_of_one_revision() {
    let server = Server::start().await;
    for name in ["a", "b", "c"] {
        server.create_config_map(name).await;
    }
    let first = server.get(&format!("{CONFIG_MAPS}?limit=2")).await.json();
    assert_eq!(first["metadata"]["remainingItemCount"], 1);
    server.create_config_map("bb").await;
    let token = first["metadata"]["continue"].as_str().unwrap();
    let second = server.get(&format!("{CONFIG_MAPS}?limit=2&continue={token}")).await.json();
    assert_eq!(second["items"].as_array().unwrap().len(), 1);
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    assert_eq!(second["metadata"].get("continue"), None);
}

#[tokio::test(start_paused = true)]
async fn a_large_list_is_whole_and_compressed_for_those_who_accept_it() {
    let server = Server::start().await;
    for number in 0..60 {
        let body = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{number:02}")},
            "data": {"k": "x".repeat(4000)}
        });
        assert_eq!(server.call(Method::POST, CONFIG_MAPS, &[], body).await.code, StatusCode::CREATED);
    }
    let plain = server.get(CONFIG_MAPS).await;
    assert_eq!(plain.json()["items"].as_array().unwrap().len(), 60);
    let packed = server.send(request(Method::GET, CONFIG_MAPS, &[("accept-encoding", "gzip")], Body::empty())).await;
    assert_eq!(packed.header("content-encoding"), "gzip");
    let mut unpacked = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(packed.body.as_slice()), &mut unpacked).unwrap();
    assert_eq!(unpacked, plain.body);
}

#[tokio::test(start_paused = true)]
async fn impersonation_changes_who_is_asking() {
    let server = Server::start().await;
    let headers = [("impersonate-user", "bob")];
    let answer = server.send(request(Method::GET, "/api/v1/namespaces/default/secrets", &headers, Body::empty())).await;
    assert!(answer.json()["message"].as_str().unwrap().contains("User \"bob\""));
    let groups = [("impersonate-group", "devs")];
    assert_eq!(server.send(request(Method::GET, "/api", &groups, Body::empty())).await.code, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn options_of_a_delete_may_be_of_any_group_as_clients_of_custom_kinds_send_them() {
    let server = Server::start().await;
    for group in ["v1", "meta.k8s.io/v1", "apps/v1", "cache.example.com/v1alpha1"] {
        server.create_config_map("m").await;
        let options = json!({"apiVersion": group, "kind": "DeleteOptions", "propagationPolicy": "Background"});
        let deleted = server.call(Method::DELETE, &format!("{CONFIG_MAPS}/m"), &[], options).await;
        assert_eq!(deleted.code, StatusCode::OK, "{group}: {}", deleted.json());
    }
}
