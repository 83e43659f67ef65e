//! Decides about one node: its taints, and whether its heartbeat is overdue.

use coracle_ambient::Timestamp;
use coracle_api::coordination_v1::Lease;
use coracle_api::core_v1::{Node, NodeCondition, Taint};
use coracle_meta::{format_time, parse_time};
use jiff::SignedDuration;

pub(super) const NO_SCHEDULE: &str = "NoSchedule";
pub(super) const NO_EXECUTE: &str = "NoExecute";
pub(super) const NOT_READY: &str = "node.kubernetes.io/not-ready";
pub(super) const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// The `NoSchedule` taint of each condition: type, status, taint.
const TAINTS_OF_CONDITIONS: [(&str, &str, &str); 6] = [
    ("Ready", "False", NOT_READY),
    ("Ready", "Unknown", UNREACHABLE),
    ("MemoryPressure", "True", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    ("NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
];

/// The conditions that a kubelet must renew.
const RENEWED: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/// The node's taints, including those that follow from its conditions; `None` if they are up to date.
pub(super) fn no_schedule_taints(node: &Node, now: Timestamp) -> Option<Vec<Taint>> {
    let holds = |type_: &str, status: &str| node.condition(type_).is_some_and(|condition| condition.status == status);
    let mut wanted: Vec<&str> = TAINTS_OF_CONDITIONS
        .iter()
        .filter(|(type_, status, _)| holds(type_, status))
        .map(|(_, _, taint)| *taint)
        .collect();
    if node.spec.unschedulable {
        wanted.push(UNSCHEDULABLE);
    }
    let ours = |key: &str| key == UNSCHEDULABLE || TAINTS_OF_CONDITIONS.iter().any(|(_, _, taint)| *taint == key);
    let is_surplus =
        |taint: &Taint| taint.effect == NO_SCHEDULE && ours(&taint.key) && !wanted.contains(&taint.key.as_str());
    let remove: Vec<(&str, &str)> = node
        .spec
        .taints
        .iter()
        .filter(|taint| is_surplus(taint))
        .map(|taint| (taint.key.as_str(), NO_SCHEDULE))
        .collect();
    let add: Vec<(&str, &str)> = wanted.iter().map(|key| (*key, NO_SCHEDULE)).collect();
    swapped(node, &add, &remove, now)
}

/// The node's taints after removing some and adding others; `None` if that changes nothing.
pub(super) fn swapped(
    node: &Node,
    add: &[(&str, &str)],
    remove: &[(&str, &str)],
    now: Timestamp,
) -> Option<Vec<Taint>> {
    let among = |list: &[(&str, &str)], taint: &Taint| list.contains(&(taint.key.as_str(), taint.effect.as_str()));
    let mut taints: Vec<Taint> = node.spec.taints.iter().filter(|taint| !among(remove, taint)).cloned().collect();
    for (key, effect) in add {
        if node.taint(key, effect).is_none() {
            taints.push(Taint {
                key: (*key).to_owned(),
                effect: (*effect).to_owned(),
                time_added: Some(format_time(now)),
                ..Taint::default()
            });
        }
    }
    (taints != node.spec.taints).then_some(taints)
}

/// The last heartbeat of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Health {
    /// `status` of its condition `Ready`, as last seen or set; `None` without that condition.
    pub(super) ready: Option<String>,
    heartbeat: Option<String>,
    renewed: Option<String>,
    /// When that was seen.
    pub(super) heard: Timestamp,
}

impl Health {
    /// The health of a node after another check of it and its Lease, whose last renewal was seen at `renewed_at`. A
    /// heartbeat counts from the time it is seen, since the clocks of nodes may differ.
    pub(super) fn observe(
        before: Option<&Self>,
        node: &Node,
        lease: Option<&Lease>,
        renewed_at: Timestamp,
        now: Timestamp,
    ) -> Self {
        let ready = node.condition("Ready");
        let heartbeat = ready.and_then(|condition| condition.last_heartbeat_time.clone());
        let renewed = lease.and_then(|lease| lease.spec.renew_time.clone());
        let created = node.metadata.creation_timestamp.as_deref().and_then(parse_time).unwrap_or(now);
        let heard = match before {
            None if ready.is_none() => created,
            None => now,
            Some(before) if before.ready.is_some() != ready.is_some() || before.heartbeat != heartbeat => now,
            Some(before) => before.heard,
        };
        let last_renewed = before.and_then(|before| before.renewed.clone());
        let heard = if later(renewed.as_deref(), last_renewed.as_deref()) { renewed_at.max(heard) } else { heard };
        Self {
            ready: ready.map(|condition| condition.status.clone()),
            heartbeat,
            renewed: renewed.or(last_renewed),
            heard,
        }
    }

    /// Whether the node's heartbeat is overdue; a node without any heartbeat yet has `startup`.
    pub(super) fn is_silent(&self, grace: SignedDuration, startup: SignedDuration, now: Timestamp) -> bool {
        let grace = if self.ready.is_some() { grace } else { startup };
        now.duration_since(self.heard) > grace
    }
}

fn later(time: Option<&str>, than: Option<&str>) -> bool {
    match (time.and_then(parse_time), than.and_then(parse_time)) {
        (Some(time), Some(than)) => time > than,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// The conditions of an unreachable node; `None` if they are set already.
pub(super) fn unknown_conditions(node: &Node, now: Timestamp) -> Option<Vec<NodeCondition>> {
    let mut conditions = node.status.conditions.clone();
    for type_ in RENEWED {
        match conditions.iter_mut().find(|condition| condition.type_ == type_) {
            None => conditions.push(NodeCondition {
                type_: type_.to_owned(),
                status: "Unknown".to_owned(),
                reason: "NodeStatusNeverUpdated".to_owned(),
                message: "Kubelet never posted node status.".to_owned(),
                last_heartbeat_time: node.metadata.creation_timestamp.clone(),
                last_transition_time: Some(format_time(now)),
                unknown: None,
            }),
            Some(condition) if condition.status != "Unknown" => {
                condition.status = "Unknown".to_owned();
                condition.reason = "NodeStatusUnknown".to_owned();
                condition.message = "Kubelet stopped posting node status.".to_owned();
                condition.last_transition_time = Some(format_time(now));
            }
            Some(_) => {}
        }
    }
    (conditions != node.status.conditions).then_some(conditions)
}

/// The `NoExecute` taint for this value of `Ready`, and the one that must be removed then.
pub(super) fn no_execute(ready: &str) -> Option<(&'static str, &'static str)> {
    match ready {
        "False" => Some((NOT_READY, UNREACHABLE)),
        "Unknown" => Some((UNREACHABLE, NOT_READY)),
        _ => None,
    }
}

/// The zone of a node: region and zone, both empty without labels.
pub(super) fn zone_of(node: &Node) -> String {
    let label = |names: [&str; 2]| names.iter().find_map(|name| node.metadata.labels.get(*name)).cloned();
    let region = label(["topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"]);
    let zone = label(["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"]);
    match (region, zone) {
        (None, None) => String::new(),
        (region, zone) => format!("{}/{}", region.unwrap_or_default(), zone.unwrap_or_default()),
    }
}

/// The old names of a node's labels, where they differ from the new ones.
pub(super) fn missing_labels(node: &Node) -> Vec<(&'static str, String)> {
    let pairs = [("kubernetes.io/os", "beta.kubernetes.io/os"), ("kubernetes.io/arch", "beta.kubernetes.io/arch")];
    let labels = &node.metadata.labels;
    let missing = pairs.iter().filter(|(new, old)| labels.contains_key(*new) && labels.get(*new) != labels.get(*old));
    missing.map(|(new, old)| (*old, labels[*new].clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_767_225_600 + second).unwrap()
    }

    fn node(ready: &str, heartbeat: i64) -> Node {
        serde_json::from_value(serde_json::json!({
            "metadata": {"name": "n", "creationTimestamp": format_time(at(0)), "labels": {"kubernetes.io/os": "linux"}},
            "status": {"conditions": [{"type": "Ready", "status": ready, "lastHeartbeatTime": format_time(at(heartbeat))}]},
        }))
        .unwrap()
    }

    fn lease(renewed: i64) -> Lease {
        let mut lease = Lease::default();
        lease.spec.renew_time = Some(format_time(at(renewed)));
        lease
    }

    const GRACE: SignedDuration = SignedDuration::from_secs(50);
    const STARTUP: SignedDuration = SignedDuration::from_secs(60);

    #[test]
    fn taints_follow_conditions_and_leave_others_alone() {
        let mut node = node("Unknown", 0);
        node.spec.unschedulable = true;
        node.spec.taints = vec![
            Taint { key: NOT_READY.to_owned(), effect: NO_SCHEDULE.to_owned(), ..Taint::default() },
            Taint { key: NOT_READY.to_owned(), effect: NO_EXECUTE.to_owned(), ..Taint::default() },
            Taint { key: "mine".to_owned(), effect: NO_SCHEDULE.to_owned(), ..Taint::default() },
        ];
        let taints = no_schedule_taints(&node, at(0)).unwrap();
        let keys: Vec<_> = taints.iter().map(|taint| (taint.key.as_str(), taint.effect.as_str())).collect();
        assert_eq!(
            keys,
            [(NOT_READY, NO_EXECUTE), ("mine", NO_SCHEDULE), (UNREACHABLE, NO_SCHEDULE), (UNSCHEDULABLE, NO_SCHEDULE)]
        );
        node.spec.taints = taints;
        assert_eq!(no_schedule_taints(&node, at(1)), None);
    }

    #[test]
    fn a_heartbeat_or_a_renewed_lease_is_a_sign_of_life() {
        let health = Health::observe(None, &node("True", 0), Some(&lease(0)), at(0), at(0));
        let quiet = Health::observe(Some(&health), &node("True", 0), Some(&lease(0)), at(51), at(51));
        assert!(quiet.is_silent(GRACE, STARTUP, at(51)) && !quiet.is_silent(GRACE, STARTUP, at(50)));
        let renewed = Health::observe(Some(&health), &node("True", 0), Some(&lease(40)), at(41), at(41));
        assert!(!renewed.is_silent(GRACE, STARTUP, at(91)));
        let seen_before = Health::observe(Some(&health), &node("True", 0), Some(&lease(40)), at(45), at(90));
        assert_eq!(seen_before.heard, at(45), "a renewal counts from when it was seen, not from the look");
        let reported = Health::observe(Some(&health), &node("True", 40), None, at(41), at(41));
        assert!(!reported.is_silent(GRACE, STARTUP, at(91)));
    }

    #[test]
    fn a_node_without_any_heartbeat_has_a_longer_grace_period() {
        let mut node = node("True", 0);
        node.status.conditions.clear();
        let health = Health::observe(None, &node, None, at(30), at(30));
        assert!(!health.is_silent(GRACE, STARTUP, at(60)) && health.is_silent(GRACE, STARTUP, at(61)));
        let conditions = unknown_conditions(&node, at(61)).unwrap();
        assert_eq!((conditions.len(), conditions[0].reason.as_str()), (4, "NodeStatusNeverUpdated"));
    }

    #[test]
    fn a_silent_node_gets_status_unknown_once() {
        let mut node = node("True", 0);
        node.status.conditions = unknown_conditions(&node, at(60)).unwrap();
        assert_eq!(node.condition("Ready").unwrap().reason, "NodeStatusUnknown");
        assert_eq!(unknown_conditions(&node, at(65)), None);
    }

    #[test]
    fn old_label_names_are_filled_in() {
        let mut node = node("True", 0);
        assert_eq!(missing_labels(&node), [("beta.kubernetes.io/os", "linux".to_owned())]);
        node.metadata.labels.insert("beta.kubernetes.io/os".to_owned(), "linux".to_owned());
        assert!(missing_labels(&node).is_empty());
    }
}
