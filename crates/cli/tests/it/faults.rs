//! Faults of a running cluster, for programs that are not changed: over HTTPS, against `coracle up`.

use std::path::Path;
use std::process::Command;

use coracle_client::kubeconfig::Kubeconfig;
use http::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::fault_cluster::{Cluster, FAULTS, JSON, PROTOBUF_WATCH, Program, SECOND, SECRETS, SOON, run};
use crate::program::{Folder, Running, coracle, eventually, free_port, in_state, repository, succeed, text, there_is};

#[test]
fn a_program_loses_an_answer_and_another_does_not() {
    let cluster = Cluster::start("faults-lost", &[]);
    run(async {
        let (operator, other) = (cluster.program("my-operator/v0.0.0 (linux/amd64)"), cluster.program("other/v1"));
        let lose = "{when: {by: my-operator, verb: create, resource: secrets, nth: 2}, do: {lose: answer}}";
        let added = other.cause(lose).await;
        assert_eq!((&added[0]["state"], &added[0]["struck"]), (&json!("waiting"), &json!(0)), "{added:?}");
        assert_eq!(operator.create("first").await, Ok(201));
        assert_eq!(other.create("others").await, Ok(201));
        let waits = other.faults().await[0]["nearMiss"].as_str().unwrap().to_owned();
        assert!(waits.starts_with("1 request matched, and it waits for number 2; 1 matched"), "{waits}");
        assert!(waits.ends_with("create secrets default/others by other as kubernetes-admin"), "{waits}");
        let lost = operator.create("second").await;
        assert!(lost.is_err(), "{lost:?}");
        assert_eq!(other.list("").await, ["first", "others", "second"], "the write has landed");
        let struck = &other.faults().await[0];
        assert_eq!((&struck["state"], &struck["struck"]), (&json!("ended"), &json!(1)), "{struck}");
        assert!(struck["revision"].as_i64().is_some_and(|revision| revision > 1), "{struck}");
        assert_eq!(operator.create("third").await, Ok(201));

        other.cause("{when: {by: my-operator, verb: create}, do: {refuse: 503}, for: 3}").await;
        for code in [503, 503, 503, 201] {
            assert_eq!(operator.create(&format!("storm-{code}")).await, Ok(code));
        }
        other.cause("{name: a cut, do: {cut: my-operator}}").await;
        assert!(operator.send(Method::GET, SECRETS, &Value::Null).await.is_err());
        assert_eq!(other.list("").await.len(), 5);
        let (code, healed) = other.send(Method::DELETE, &format!("{FAULTS}/a%20cut"), &Value::Null).await.unwrap();
        assert_eq!((code, &healed["faults"][0]["struck"]), (200, &json!(1)), "{healed}");
        assert_eq!(operator.list("").await.len(), 5);
        other.heal().await;
    });
}

#[test]
fn a_watch_of_one_kind_by_one_program_is_late_and_can_end() {
    let cluster = Cluster::start("faults-watch", &[]);
    run(async {
        let (operator, other) = (cluster.program("my-operator/v0"), cluster.program("other/v1"));
        let mut late = operator.watch(SECRETS, JSON).await;
        let mut in_protobuf = operator.watch(SECRETS, PROTOBUF_WATCH).await;
        let mut of_namespaces = operator.watch("/api/v1/namespaces", JSON).await;
        let mut others = other.watch(SECRETS, JSON).await;
        other.cause("{do: {lag: 5s, kind: Secret, to: my-operator}}").await;
        let written = Instant::now();
        assert_eq!(other.create("web").await, Ok(201));
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
        assert_eq!(other.send(Method::POST, "/api/v1/namespaces", &namespace).await.unwrap().0, 201);
        let soon = async { others.delivers("\"web\"").await && of_namespaces.delivers("\"shop\"").await };
        assert_eq!(timeout(SOON, soon).await, Ok(true));
        assert!(late.delivers("\"web\"").await && in_protobuf.delivers("web").await);
        let lag = written.elapsed();
        assert!(lag >= 5 * SECOND, "{lag:?}");
        assert_eq!(other.faults().await[0]["state"], "active");
        other.heal().await;

        other.cause("{do: {gone: {}, kind: Secret, to: my-operator}}").await;
        let gone = async { late.delivers("\"code\":410").await && in_protobuf.delivers("Expired").await };
        assert_eq!(timeout(SOON, gone).await, Ok(true));
        let more = async { late.delivers("nothing more").await || in_protobuf.delivers("nothing more").await };
        assert_eq!(timeout(SOON, more).await, Ok(false), "the watches have ended");
        assert_eq!(other.create("db").await, Ok(201));
        assert_eq!(timeout(SOON, others.delivers("\"db\"")).await, Ok(true));
    });
}

#[test]
fn a_program_reads_the_past_while_another_reads_the_present() {
    let cluster = Cluster::start("faults-stale", &[]);
    let kubeconfig = succeed(&mut in_state(cluster.home.path(), &["kubeconfig", "--for", "my-operator"]));
    run(async {
        let other = cluster.program("same/v1");
        let own = Kubeconfig::read(Path::new(kubeconfig.trim())).unwrap();
        let operator = Program { kubeconfig: own, agent: "same/v1" };
        assert_eq!(other.create("before").await, Ok(201));
        other.cause("{do: {stale: my-operator}}").await;
        let mut past = operator.watch(SECRETS, PROTOBUF_WATCH).await;
        assert_eq!(operator.create("after").await, Ok(201), "writes are not affected");
        assert_eq!(operator.list("?resourceVersion=0").await, ["before"]);
        assert_eq!(other.list("").await, ["after", "before"]);
        assert_eq!(timeout(SOON, past.delivers("before")).await, Ok(true));
        assert!(timeout(SECOND, past.delivers("after")).await.is_err());
        other.heal().await;
        assert_eq!(timeout(SOON, past.delivers("after")).await, Ok(true));
        assert_eq!(operator.list("?resourceVersion=0").await, ["after", "before"]);
    });
}

#[test]
fn only_administrators_control_faults_and_bad_input_is_refused_with_its_place() {
    let cluster = Cluster::start("faults-refused", &[]);
    let path = cluster.home.path();
    let file = |name: &str| cluster.home.join(name).display().to_string();
    let bind = ["kubeconfig", "--for", "ann", "--group", "people", "--output", &file("ann")];
    succeed(&mut in_state(path, &bind));
    run(async {
        let (admin, ann) = (cluster.program("a"), Kubeconfig::read(&cluster.home.join("ann")).unwrap());
        let ann = Program { kubeconfig: ann, agent: "a" };
        let role = json!({"metadata": {"name": "all-paths"}, "rules": [{"nonResourceURLs": ["*"], "verbs": ["*"]}]});
        let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
        let binding = json!({"metadata": {"name": "all-paths"}, "subjects": [{"kind": "User", "name": "ann"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "all-paths"}});
        let cannot = ann.send(Method::GET, FAULTS, &Value::Null).await.unwrap();
        assert_eq!((cannot.0, cannot.1["reason"].as_str()), (403, Some("Forbidden")), "{cannot:?}");
        for (resource, object) in [(roles.to_owned(), role), (roles.replace("roles", "rolebindings"), binding)] {
            assert_eq!(admin.send(Method::POST, &resource, &object).await.unwrap().0, 201);
        }
        let cut = json!({"do": {"cut": "kubernetes-admin"}});
        for (method, body) in [(Method::GET, &Value::Null), (Method::POST, &cut), (Method::DELETE, &Value::Null)] {
            let refused = ann.send(method, FAULTS, body).await.unwrap();
            assert_eq!(refused.0, 403, "{refused:?}");
            assert!(
                refused.1["message"].as_str().unwrap().contains("\"faults\" in API group \"coracle.dev\""),
                "{refused:?}"
            );
        }
        for (body, code, message) in [
            ("{do: {loose: answer}}", 422, "body:1:7: unknown fault `loose`, expected one of"),
            ("{do: [", 400, "body:"),
            ("{doo: {cut: a}}", 400, "body:1:2: unknown field `doo`"),
            ("{when: {step: a}, do: {cut: a}}", 422, "body:1:15: a running cluster has no steps"),
        ] {
            let refused = admin.send_text(Method::POST, FAULTS, body.to_owned()).await.unwrap();
            assert_eq!(refused.0, code, "{body}: {refused:?}");
            assert!(refused.1["message"].as_str().unwrap().starts_with(message), "{body}: {refused:?}");
        }
        assert_eq!(admin.send(Method::DELETE, &format!("{FAULTS}/9"), &Value::Null).await.unwrap().0, 404);
        assert_eq!(admin.send(Method::PUT, FAULTS, &cut).await.unwrap().0, 405);
        // An administrator who is cut off still controls the faults.
        admin.cause(&cut.to_string()).await;
        assert!(admin.send(Method::GET, SECRETS, &Value::Null).await.is_err());
        admin.heal().await;
        assert_eq!(admin.send(Method::GET, SECRETS, &Value::Null).await.unwrap().0, 200);
    });

    std::fs::write(cluster.home.join("good.yaml"), "- {name: late, do: {lag: 1s, kind: Pod, to: a-later-one}}\n")
        .unwrap();
    std::fs::write(cluster.home.join("bad.yaml"), "- do: {cut: a}\n- do: {kut: a}\n").unwrap();
    let added = succeed(&mut in_state(path, &["fault", "add", "-f", &file("good.yaml")]));
    assert!(added.starts_with("fault/2 added  late  waiting: it began at revision "), "{added}");
    let bad = in_state(path, &["fault", "add", &file("bad.yaml")]).output().unwrap();
    assert_eq!(bad.status.code(), Some(2));
    assert!(text(&bad).contains("bad.yaml:2:8: unknown fault `kut`"), "{}", text(&bad));
    let at = path.display().to_string();
    assert!(succeed(coracle().args(["fault", "list", "--state-dir", &at])).starts_with("fault/2  late  waiting"));
    let as_ann = in_state(path, &["fault", "list", "--kubeconfig", &file("ann")]).output().unwrap();
    assert_eq!(as_ann.status.code(), Some(2));
    assert!(text(&as_ann).contains("\"faults\" in API group \"coracle.dev\""), "{}", text(&as_ann));
    assert!(succeed(&mut in_state(path, &["fault", "remove", "late"])).starts_with("fault/2 removed  late"));
    assert_eq!(succeed(&mut in_state(path, &["fault", "list"])), "no faults\n");
    assert_eq!(in_state(path, &["fault", "remove", "late"]).output().unwrap().status.code(), Some(2));
}

#[test]
fn a_file_of_faults_applies_from_the_start_and_custom_resources_have_groups() {
    let folder = Folder::new("faults-file");
    let file = folder.join("faults.yaml");
    let faults = "faults:\n- {when: {by: my-operator, verb: create, resource: widgets.example.com}, do: {refuse: 429}}\n\
                  - {when: {by: my-operator, verb: create, resource: secrets}, do: {refuse: 500}}\n";
    std::fs::write(&file, faults).unwrap();
    let cluster = Cluster::start("faults-file-up", &["--faults", &file.display().to_string()]);
    run(async {
        let (operator, other) = (cluster.program("my-operator/v0"), cluster.program("other/v1"));
        assert_eq!(other.create("a").await, Ok(201));
        assert_eq!(operator.create("b").await, Ok(500));
        let widgets = "/apis/example.com/v1/namespaces/default/widgets";
        assert_eq!(operator.send(Method::POST, widgets, &json!({})).await.unwrap().0, 429);
        let states: Vec<_> = other.faults().await.iter().map(|fault| fault["state"].clone()).collect();
        assert_eq!(states, ["ended", "ended"]);
    });
}

#[test]
fn an_api_server_alone_has_the_faults_of_requests_watches_requesters_and_the_store() {
    let folder = Folder::new("faults-alone");
    let (file, pki, port) = (folder.join("faults.yaml"), folder.join("pki"), free_port().to_string());
    let start = |faults: &str| {
        std::fs::write(&file, faults).unwrap();
        let mut command = coracle();
        command.args(["apiserver", "--store", "memory", "--secure-port", &port, "--cert-dir"]).arg(&pki);
        command.arg("--faults").arg(&file);
        command
    };
    let refused = start("- do: {cut: a}\n- do: {kill: scheduler}\n").output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let why = "faults.yaml:2:8: an API server alone has no component `scheduler`: faults of requests";
    assert!(text(&refused).contains(why), "{}", text(&refused));

    let _running = Running::start(&mut start("{when: {by: my-operator, verb: create}, do: {lose: answer}}"));
    let kubeconfig = pki.join("admin.kubeconfig");
    let fault = |arguments: &[&str]| {
        let mut command = coracle();
        command.arg("fault").arg(arguments[0]).arg("--kubeconfig").arg(&kubeconfig).args(&arguments[1..]);
        command
    };
    eventually("the API server is up", || fault(&["list"]).output().ok().filter(|output| output.status.success()));
    run(async {
        let program = |agent| Program { kubeconfig: Kubeconfig::read(&kubeconfig).unwrap(), agent };
        let (operator, other) = (program("my-operator/v0"), program("other/v1"));
        assert_eq!(other.create("first").await, Ok(201));
        assert!(operator.create("second").await.is_err());
        assert_eq!(other.list("").await, ["first", "second"], "the write has landed");
        assert_eq!(other.faults().await[0]["state"], "ended");

        other.cause("{do: {stale: my-operator}}").await;
        assert_eq!(other.create("third").await, Ok(201));
        assert_eq!(operator.list("?resourceVersion=0").await, ["first", "second"]);
        other.cause("{name: full, do: {store: full}}").await;
        assert_eq!(other.create("fourth").await.map(|code| code >= 500), Ok(true));
        let (code, refusal) =
            other.send_text(Method::POST, FAULTS, "{do: {node: {stop: a}}}".to_owned()).await.unwrap();
        assert_eq!((code, refusal["message"].as_str().unwrap().contains("no simulated node `a`")), (422, true));
        other.heal().await;
        assert_eq!(other.create("fourth").await, Ok(201));
    });
    assert_eq!(succeed(&mut fault(&["list"])), "no faults\n");
}

#[test]
fn a_python_program_sets_faults_between_two_lines() {
    if !there_is("python3") {
        return;
    }
    let cluster = Cluster::start("faults-python", &[]);
    let mut program = Command::new("python3");
    let program = program.arg(repository().join("tests/clients/python/faults.py"));
    let claims = succeed(program.env("KUBECONFIG", cluster.kubeconfig()));
    let expected = [
        "an answer is lost and the write landed",
        "a watch hangs and delivers what it held",
        "a watch that hangs ends after its timeout",
        "a watch is closed without an error",
        "updates and applies conflict",
    ];
    assert_eq!(claims.lines().collect::<Vec<_>>(), expected);
}
