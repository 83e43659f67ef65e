use coracle_lab::Lab;
use serde_json::{Value, json};

/// A Deployment with three pods.
pub(crate) const WEB: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
";

/// The answer to a message, and its payload.
pub(crate) fn answer(lab: &mut Lab, message: &Value) -> (Value, Vec<u8>) {
    let bytes = lab.call(&message.to_string());
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    (serde_json::from_slice(&bytes[..end]).unwrap(), bytes[end + 1..].to_vec())
}

/// The result of a message that succeeds.
pub(crate) fn result(lab: &mut Lab, message: &Value) -> Value {
    let (mut answer, _) = answer(lab, message);
    assert!(answer.get("error").is_none(), "{message}: {answer}");
    answer["result"].take()
}

/// The error of a message that fails.
pub(crate) fn error(lab: &mut Lab, message: &Value) -> Value {
    let (mut answer, payload) = answer(lab, message);
    assert!(answer.get("result").is_none() && payload.is_empty(), "{message}: {answer}");
    answer["error"].take()
}

/// A lab with a cluster.
pub(crate) fn opened(seed: u64) -> Lab {
    let mut lab = Lab::default();
    result(&mut lab, &json!({"do": "open", "seed": seed}));
    lab
}

/// A lab in which the pods of `WEB` run.
pub(crate) fn with_web(seed: u64) -> Lab {
    let mut lab = opened(seed);
    result(&mut lab, &json!({"do": "apply", "manifest": WEB}));
    result(&mut lab, &json!({"do": "settle"}));
    lab
}

/// The names of the pods of a cluster that run, in order.
pub(crate) fn running_pods(lab: &mut Lab, cluster: &str) -> Vec<String> {
    let path = "/api/v1/namespaces/default/pods";
    let answered = result(lab, &json!({"do": "request", "cluster": cluster, "path": path}));
    let pods = answered["body"]["items"].as_array().unwrap();
    let runs = |pod: &&Value| pod["status"]["phase"] == "Running" && pod["metadata"].get("deletionTimestamp").is_none();
    pods.iter().filter(runs).map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}
