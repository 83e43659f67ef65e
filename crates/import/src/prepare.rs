use coracle_meta::Object;
use serde_json::{Value, json};

/// The fields that only the server sets.
const OWNED_BY_SERVER: [&str; 8] = [
    "metadata.uid",
    "metadata.resourceVersion",
    "metadata.creationTimestamp",
    "metadata.generation",
    "metadata.managedFields",
    "metadata.selfLink",
    "metadata.ownerReferences",
    "status",
];

/// The labels by which a Job finds its pods. They contain its uid, and the server sets them.
const OF_JOB: [&str; 4] =
    ["controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"];

const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// An object as it is sent, and what follows.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) object: Object,
    /// The merge patch after its status is written.
    pub(crate) afterwards: Option<Value>,
    pub(crate) notes: Vec<String>,
}

/// Why an object is not created.
pub(crate) fn unwanted(object: &Object) -> Option<&'static str> {
    if object.is_terminating() {
        return Some("it was being deleted");
    }
    match object.kind() {
        "Pod" if object.annotation("kubernetes.io/config.mirror").is_some() => Some("a static pod: its node makes it"),
        "IPAddress" if object.label("ipaddress.kubernetes.io/managed-by") == Some("ipallocator.k8s.io") => {
            Some("its Service takes it")
        }
        "Endpoints" | "EndpointSlice" if is_of_service(object) => Some("it is made of its Service and pods"),
        _ => None,
    }
}

/// Whether a controller derives these endpoints.
fn is_of_service(object: &Object) -> bool {
    object.label("endpointslice.kubernetes.io/managed-by") == Some("endpointslice-controller.k8s.io")
        || object.label("endpoints.kubernetes.io/managed-by") == Some("endpoint-controller")
}

/// Whether a Job has ended, so that its controller does not change it.
pub(crate) fn is_finished(job: &Object) -> bool {
    let conditions = job.field("status.conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        condition["status"] == "True" && matches!(condition["type"].as_str(), Some("Complete" | "Failed"))
    })
}

/// Removes from an object what belongs to its former cluster.
pub(crate) fn prepared(object: &Object) -> Prepared {
    let mut object = object.clone();
    let (mut afterwards, mut notes) = (None, Vec::new());
    let finished = object.kind() == "Job" && is_finished(&object);
    for path in OWNED_BY_SERVER {
        object.remove(path);
    }
    let kind = object.kind().to_owned();
    match kind.as_str() {
        "Job" if object.field("spec.manualSelector").is_none_or(|manual| manual != true) => {
            object.remove("spec.selector");
            for label in OF_JOB {
                object.remove(["spec", "template", "metadata", "labels", label].as_slice());
            }
        }
        "Pod" if object.remove("spec.ephemeralContainers").is_some() => {
            notes.push("its ephemeral containers are not created again".to_owned());
        }
        "PersistentVolume" => {
            object.remove("spec.claimRef.uid");
            object.remove("spec.claimRef.resourceVersion");
        }
        "Secret" if object.text("type") == "kubernetes.io/service-account-token" => {
            object.remove(["metadata", "annotations", ACCOUNT_UID].as_slice());
            object.remove("data");
            notes.push("its token is created again".to_owned());
        }
        _ => {}
    }
    if finished && object.field("spec.suspend").is_none_or(|suspend| suspend != true) {
        object.set("spec.suspend", true);
        afterwards = Some(json!({"spec": {"suspend": false}}));
    }
    Prepared { object, afterwards, notes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_server_are_removed_and_the_rest_stays() {
        let pod = Object::from_value(json!({"kind": "Pod", "metadata": {"name": "a", "uid": "1", "labels": {"x": "y"},
            "resourceVersion": "5", "ownerReferences": [{"uid": "2"}]}, "spec": {"nodeName": "n",
            "ephemeralContainers": []}, "status": {"phase": "Running"}}));
        let Prepared { object, notes, .. } = prepared(&pod.unwrap());
        assert_eq!(
            object.into_value(),
            json!({"kind": "Pod", "metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {"nodeName": "n"}})
        );
        assert_eq!(notes.len(), 1);
    }

    #[test]
    fn a_job_that_has_ended_is_held_until_its_status_is_there() {
        let job = json!({"kind": "Job", "metadata": {"name": "a"}, "spec": {"selector": {"matchLabels": {}},
            "template": {"metadata": {"labels": {"a": "b", "controller-uid": "1", "batch.kubernetes.io/job-name": "a"}}}},
            "status": {"conditions": [{"type": "Complete", "status": "True"}]}});
        let Prepared { object, afterwards, .. } = prepared(&Object::from_value(job).unwrap());
        assert_eq!(
            object.field("spec"),
            Some(&json!({"suspend": true, "template": {"metadata": {"labels": {"a": "b"}}}}))
        );
        assert_eq!(afterwards, Some(json!({"spec": {"suspend": false}})));
    }
}
