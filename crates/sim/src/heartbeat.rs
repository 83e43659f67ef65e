use coracle_meta::Object;
use serde_json::Value;

/// Leases and Events in the store. They are written for ever, whether or not anything else happens.
const RECORDS: [&[u8]; 2] = [b"/registry/leases/", b"/registry/events/"];

/// Whether each change of this key only records that a component is alive: the key of a Lease or an Event.
pub(crate) fn is_record(key: &[u8]) -> bool {
    RECORDS.iter().any(|folder| key.starts_with(folder))
}

/// Whether a value of the store may be a Node, without decoding it.
pub(crate) fn may_be_node(value: &[u8]) -> bool {
    // A value of another layout, or with an escape in its kind, may have any kind.
    let Some(rest) = value.strip_prefix(b"{\"kind\":\"") else { return true };
    let kind = rest.split(|byte| *byte == b'"').next().unwrap_or_default();
    kind == b"Node" || kind.contains(&b'\\')
}

/// Whether a change leaves a Node as it is, except for the times of its heartbeats.
pub(crate) fn is_heartbeat(before: &Object, after: &Object) -> bool {
    (after.api_version(), after.kind()) == ("v1", "Node") && without_heartbeat(before) == without_heartbeat(after)
}

fn without_heartbeat(node: &Object) -> Value {
    let mut node = node.to_value();
    if let Some(metadata) = node.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
        metadata.remove("managedFields");
    }
    let conditions = node.get_mut("status").and_then(|status| status.get_mut("conditions"));
    for condition in conditions.and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut) {
        condition.remove("lastHeartbeatTime");
    }
    node
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(api_version: &str, kind: &str, heartbeat: &str, ready: &str) -> Object {
        let condition = json!({"type": "Ready", "status": ready, "lastHeartbeatTime": heartbeat});
        let (metadata, status) =
            (json!({"name": "a", "resourceVersion": heartbeat}), json!({"conditions": [condition]}));
        let node = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "status": status});
        Object::from_value(node).unwrap()
    }

    #[test]
    fn only_leases_events_and_the_times_of_nodes_are_heartbeats() {
        let node = |heartbeat, ready| object("v1", "Node", heartbeat, ready);
        assert!(is_heartbeat(&node("1", "True"), &node("2", "True")));
        assert!(!is_heartbeat(&node("1", "True"), &node("2", "False")));
        let of_other_kind = |heartbeat| object("example.com/v1", "Node", heartbeat, "True");
        assert!(!is_heartbeat(&of_other_kind("1"), &of_other_kind("2")));
        assert!(is_record(b"/registry/leases/kube-node-lease/node-1") && is_record(b"/registry/events/default/web.1"));
        assert!(!is_record(b"/registry/example.com/events/default/a") && !is_record(b"/registry/pods/default/events"));
    }
}
