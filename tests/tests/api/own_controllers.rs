//! What the API server reports of objects that are about itself.

use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::front::{api_server, call, get};

const FLOWS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
const LEVELS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";
const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";

/// Longer than anything that happens by itself takes.
const SETTLED: Duration = Duration::from_millis(100);

fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array().expect("conditions");
    conditions.iter().find(|condition| condition["type"] == kind).expect("the condition")
}

#[tokio::test(start_paused = true)]
async fn every_flow_schema_of_a_new_cluster_has_its_level() {
    let cluster = api_server().await;
    let list = get(&cluster, FLOWS).await;
    let flows = list["items"].as_array().unwrap();
    assert_eq!(flows.len(), 11);
    for flow in flows {
        assert_eq!(condition(flow, "Dangling")["status"], "False", "{}", flow["metadata"]["name"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_flow_schema_dangles_until_its_level_comes() {
    let cluster = api_server().await;
    let spec = json!({"matchingPrecedence": 1000, "priorityLevelConfiguration": {"name": "mine"}});
    let made = call(&cluster, Method::POST, FLOWS, &json!({"metadata": {"name": "mine"}, "spec": spec})).await;
    assert_eq!(made.code, StatusCode::CREATED);
    tokio::time::sleep(SETTLED).await;
    let dangling = get(&cluster, &format!("{FLOWS}/mine")).await;
    assert_eq!(condition(&dangling, "Dangling")["reason"], "NotFound");
    let owner = &dangling["metadata"]["managedFields"][0];
    assert_eq!(owner["manager"], "api-priority-and-fairness-config-consumer-v1");
    assert_eq!((&owner["operation"], &owner["subresource"]), (&json!("Apply"), &json!("status")));

    let level = json!({"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}});
    let made = call(&cluster, Method::POST, LEVELS, &json!({"metadata": {"name": "mine"}, "spec": level})).await;
    assert_eq!(made.code, StatusCode::CREATED);
    tokio::time::sleep(SETTLED).await;
    let found = get(&cluster, &format!("{FLOWS}/mine")).await;
    assert_eq!(condition(&found, "Dangling")["status"], "False");
    let version = found["metadata"]["resourceVersion"].clone();
    tokio::time::sleep(SETTLED).await;
    assert_eq!(get(&cluster, &format!("{FLOWS}/mine")).await["metadata"]["resourceVersion"], version, "silence");
}

#[tokio::test(start_paused = true)]
async fn an_api_service_says_what_its_server_lacks() {
    let cluster = api_server().await;
    let spec = json!({
        "group": "boats.example", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 10,
        "service": {"namespace": "default", "name": "boats"}, "insecureSkipTLSVerify": true,
    });
    let object = json!({"metadata": {"name": "v1.boats.example"}, "spec": spec});
    assert_eq!(call(&cluster, Method::POST, API_SERVICES, &object).await.code, StatusCode::CREATED);
    let reason = async || {
        tokio::time::sleep(SETTLED).await;
        let object = get(&cluster, &format!("{API_SERVICES}/v1.boats.example")).await;
        condition(&object, "Available")["reason"].clone()
    };
    assert_eq!(reason().await, "ServiceNotFound");
    let service = json!({"metadata": {"name": "boats"}, "spec": {"ports": [{"port": 443}]}});
    assert_eq!(
        call(&cluster, Method::POST, "/api/v1/namespaces/default/services", &service).await.code,
        StatusCode::CREATED
    );
    assert_eq!(reason().await, "EndpointsNotFound");
}
