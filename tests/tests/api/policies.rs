//! Admission policies: whom they ask, what they see of connections, what they leave for the audit log.

use coracle::Cluster;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::front::{Answer, call};

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";

/// A policy about one resource, and its binding.
async fn enforce(cluster: &Cluster, rule: Value, spec: Value) {
    let mut policy = json!({"metadata": {"name": "p"}, "spec": {"matchConstraints": {"resourceRules": [rule]}}});
    for (field, value) in spec.as_object().unwrap() {
        policy["spec"][field] = value.clone();
    }
    let made = call(cluster, Method::POST, POLICIES, &policy).await;
    assert_eq!(made.code, StatusCode::CREATED, "{:?}", made.json());
    let binding = json!({"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}});
    let made = call(cluster, Method::POST, BINDINGS, &binding).await;
    assert_eq!(made.code, StatusCode::CREATED, "{:?}", made.json());
}

fn rule(operation: &str, resource: &str) -> Value {
    json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": [operation], "resources": [resource]})
}

async fn create(cluster: &Cluster, plural: &str, object: Value) -> Answer {
    call(cluster, Method::POST, &format!("/api/v1/namespaces/default/{plural}"), &object).await
}

fn message(answer: &Answer) -> String {
    answer.json()["message"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_policy_asks_the_authorizer() {
    let cluster = Cluster::builder().api_server_only().start().await.unwrap();
    let asks = "authorizer.serviceAccount('default', 'robot').group('').resource('secrets').namespace('default')\
        .check('get').allowed() == (object.metadata.name == 'allowed') && authorizer.requestResource.check('create')\
        .allowed()";
    let spec = json!({"validations": [{"expression": asks, "message": "as the authorizer says"}]});
    enforce(&cluster, rule("CREATE", "configmaps"), spec).await;
    assert_eq!(create(&cluster, "configmaps", json!({"metadata": {"name": "a"}})).await.code, StatusCode::CREATED);
    let refused = create(&cluster, "configmaps", json!({"metadata": {"name": "allowed"}})).await;
    assert_eq!(refused.code, StatusCode::UNPROCESSABLE_ENTITY);
    let expected = "configmaps \"allowed\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: as \
        the authorizer says";
    assert_eq!(message(&refused), expected);
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let role =
        json!({"metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]});
    call(&cluster, Method::POST, &format!("{rbac}/roles"), &role).await;
    let binding = json!({
        "metadata": {"name": "r"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "default"}]
    });
    call(&cluster, Method::POST, &format!("{rbac}/rolebindings"), &binding).await;
    let now = create(&cluster, "configmaps", json!({"metadata": {"name": "allowed"}})).await;
    assert_eq!(now.code, StatusCode::CREATED, "{:?}", now.json());
    let other = create(&cluster, "configmaps", json!({"metadata": {"name": "b"}})).await;
    assert_eq!(other.code, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test(start_paused = true)]
async fn connections_are_admitted_before_they_are_made() {
    let cluster = Cluster::builder().api_server_only().start().await.unwrap();
    let spec = json!({"validations": [{
        "expression": "request.name != 'guarded' || (object.kind == 'PodExecOptions' && object.command[0] == 'ls')",
        "messageExpression": "'no ' + request.operation + ' of ' + request.subResource + ' ' + object.kind"
    }]});
    enforce(&cluster, rule("CONNECT", "pods/*"), spec).await;
    let exec = async |pod: &str, rest: &str| {
        let path = format!("/api/v1/namespaces/default/pods/{pod}/{rest}");
        call(&cluster, Method::POST, &path, &Value::Null).await
    };
    let refused = exec("guarded", "exec?command=rm&stdin=true").await;
    assert_eq!(refused.code, StatusCode::UNPROCESSABLE_ENTITY);
    let expected = "pods \"guarded\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no CONNECT \
        of exec PodExecOptions";
    assert_eq!(message(&refused), expected);
    assert!(message(&exec("guarded", "portforward?ports=80").await).ends_with("of portforward PodPortForwardOptions"));
    assert!(message(&exec("guarded", "proxy/metrics").await).ends_with("of proxy PodProxyOptions"));
    // What is let through meets what there is to connect to: nothing.
    assert_eq!(exec("guarded", "exec?command=ls").await.code, StatusCode::NOT_FOUND);
    assert_eq!(exec("other", "proxy/").await.code, StatusCode::NOT_IMPLEMENTED);
}

#[tokio::test(start_paused = true)]
async fn a_missing_namespace_matches_no_policy() {
    let cluster = Cluster::builder().api_server_only().start().await.unwrap();
    let mut constraint = rule("CREATE", "configmaps");
    constraint["operations"] = json!(["*"]);
    let policy = json!({"metadata": {"name": "p"}, "spec": {
        "matchConstraints": {
            "resourceRules": [constraint], "namespaceSelector": {"matchLabels": {"guarded": "yes"}}
        },
        "validations": [{"expression": "false"}]
    }});
    let made = call(&cluster, Method::POST, POLICIES, &policy).await;
    assert_eq!(made.code, StatusCode::CREATED, "{:?}", made.json());
    let binding = json!({"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}});
    call(&cluster, Method::POST, BINDINGS, &binding).await;
    assert_eq!(create(&cluster, "configmaps", json!({"metadata": {"name": "a"}})).await.code, StatusCode::CREATED);
    let path = "/api/v1/namespaces/nowhere/configmaps";
    let refused = call(&cluster, Method::POST, path, &json!({"metadata": {"name": "a"}})).await;
    assert_eq!(
        (refused.code, message(&refused)),
        (StatusCode::NOT_FOUND, "namespaces \"nowhere\" not found".to_owned())
    );
}

#[tokio::test(start_paused = true)]
async fn a_policy_sees_an_object_in_the_version_that_it_names() {
    let cluster = Cluster::builder().api_server_only().start().await.unwrap();
    let rule = json!({"apiGroups": ["autoscaling"], "apiVersions": ["v1"], "operations": ["CREATE"],
        "resources": ["horizontalpodautoscalers"]});
    let message = "request.kind.version + ' of ' + request.requestKind.version + ': ' + request.resource.version + ' of ' \
        + request.requestResource.version";
    let spec = json!({"validations": [{
        "expression": "!has(object.spec.targetCPUUtilizationPercentage) || object.spec.targetCPUUtilizationPercentage < 90",
        "messageExpression": message
    }]});
    enforce(&cluster, rule, spec).await;
    let create = async |name: &str, share: i64| {
        let metric = json!({"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": share}}});
        let scaler = json!({"metadata": {"name": name}, "spec": {"maxReplicas": 3, "metrics": [metric],
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
        let path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
        call(&cluster, Method::POST, path, &scaler).await
    };
    assert_eq!(create("a", 50).await.code, StatusCode::CREATED);
    let refused = create("b", 95).await;
    let text = refused.json()["message"].as_str().unwrap_or_default().to_owned();
    assert!(text.ends_with("denied request: v1 of v2: v1 of v2"), "{text}");
}
