//! What a volume needs on each node.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use coracle_api::core_v1::Pod;
use sha2::{Digest, Sha256};

/// How long a driver may take to attach a volume before an event reports it, and between such events.
pub(super) const ATTACH_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a volume stays attached to an unreachable node that may still use it. In Kubernetes:
/// `ReconcilerMaxWaitForUnmountDuration`.
pub(super) const UNMOUNT_TIMEOUT: Duration = Duration::from_secs(360);

/// What a pass sees of a volume.
#[derive(Debug, Default)]
pub(super) struct ObservedVolume {
    /// The volume's name.
    pub(super) name: String,
    pub(super) driver: String,
    /// The driver's volume handle.
    pub(super) handle: String,
    /// The name in the node's status.
    pub(super) unique_name: String,
    /// Whether several nodes may attach it at once.
    pub(super) is_shared: bool,
    /// The pods that use it, by node.
    pub(super) wanted: BTreeMap<String, Vec<Arc<Pod>>>,
    /// Its VolumeAttachments, by node.
    pub(super) asked: BTreeMap<String, AttachmentState>,
    /// The state of those nodes; deleted nodes are missing.
    pub(super) nodes: BTreeMap<String, NodeState>,
}

/// The state of a VolumeAttachment.
#[derive(Clone, Debug, Default)]
pub(super) struct AttachmentState {
    pub(super) attached: bool,
    pub(super) terminating: bool,
    /// The driver's error.
    pub(super) error: Option<String>,
}

/// The state of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct NodeState {
    pub(super) ready: bool,
    /// Whether the node uses the volume.
    pub(super) in_use: bool,
    /// Whether a user tainted the node as out of service.
    pub(super) out_of_service: bool,
}

/// What to do on a node.
#[derive(Debug, PartialEq)]
pub(super) enum Deed {
    /// Create a VolumeAttachment.
    Ask { node: String },
    /// Wait for the driver.
    Wait { node: String },
    /// Report that the driver failed, or has not finished yet.
    Fail { node: String, why: String },
    /// Report that another node has it: a message for each pod.
    Refuse { node: String, why: Vec<String> },
    /// Say that it is attached.
    Attached { node: String },
    /// Keep it attached to a node that may still use it.
    Keep { node: String },
    /// Delete the VolumeAttachment.
    Detach { node: String },
}

impl Deed {
    pub(super) fn node(&self) -> &str {
        match self {
            Self::Ask { node }
            | Self::Wait { node }
            | Self::Fail { node, .. }
            | Self::Refuse { node, .. }
            | Self::Attached { node }
            | Self::Keep { node }
            | Self::Detach { node } => node,
        }
    }
}

/// How long detachment has been wanted, and attachment awaited, by node.
pub(super) type Times = BTreeMap<String, (Option<Duration>, Option<Duration>)>;

/// The actions, detachments first; and when to sync again at the latest.
pub(super) fn deeds(volume: &ObservedVolume, times: &Times, forces_on_timeout: bool) -> (Vec<Deed>, Option<Duration>) {
    let (mut deeds, mut again) = (Vec::new(), None::<Duration>);
    let mut look_after = |left: Duration| again = Some(again.map_or(left, |again| again.min(left)));
    for node in volume.asked.keys().filter(|node| !volume.wanted.contains_key(*node)) {
        let state = volume.nodes.get(node).copied();
        let waited = times.get(node).and_then(|times| times.0).unwrap_or_default();
        let node = node.clone();
        // A deleted node may still be running.
        let may_use_it = state.is_none_or(|state| state.in_use);
        let is_silent = state.is_none_or(|state| !state.ready);
        let is_out = state.is_some_and(|state| state.out_of_service);
        if !may_use_it || is_out || (is_silent && forces_on_timeout && waited >= UNMOUNT_TIMEOUT) {
            deeds.push(Deed::Detach { node });
        } else {
            if is_silent && forces_on_timeout {
                look_after(UNMOUNT_TIMEOUT - waited);
            }
            deeds.push(Deed::Keep { node });
        }
    }
    for (node, pods) in &volume.wanted {
        let others: Vec<_> = volume.asked.keys().filter(|other| *other != node).collect();
        let waited = times.get(node).and_then(|times| times.1).unwrap_or_default();
        let node = node.clone();
        deeds.push(match volume.asked.get(&node) {
            Some(AttachmentState { attached: true, terminating: false, .. }) => Deed::Attached { node },
            // It is attached again after the driver has detached it.
            Some(AttachmentState { terminating: true, .. }) => Deed::Wait { node },
            Some(AttachmentState { error: Some(error), .. }) => {
                Deed::Fail { node, why: format!("AttachVolume.Attach failed for volume {:?} : {error}", volume.name) }
            }
            Some(_) if waited >= ATTACH_TIMEOUT => {
                look_after(ATTACH_TIMEOUT);
                Deed::Fail { node, why: timed_out(volume) }
            }
            Some(_) => {
                look_after(ATTACH_TIMEOUT - waited);
                Deed::Wait { node }
            }
            None if !volume.is_shared && !others.is_empty() => {
                Deed::Refuse { node, why: pods.iter().map(|pod| held_by_others(volume, &others, pod)).collect() }
            }
            None => {
                look_after(ATTACH_TIMEOUT);
                Deed::Ask { node }
            }
        });
    }
    (deeds, again)
}

fn timed_out(volume: &ObservedVolume) -> String {
    let ObservedVolume { name, driver, handle, .. } = volume;
    format!(
        "AttachVolume.Attach failed for volume {name:?} : timed out waiting for external-attacher of {driver} CSI driver \
         to attach volume {handle}"
    )
}

/// The message for a pod about the pods that have its volume; of pods in other namespaces it contains only the
/// number.
fn held_by_others(volume: &ObservedVolume, nodes: &[&String], pod: &Pod) -> String {
    let users: Vec<_> = nodes.iter().filter_map(|node| volume.wanted.get(*node)).flatten().collect();
    let (near, far): (Vec<&Arc<Pod>>, Vec<_>) =
        users.into_iter().partition(|user| user.metadata.namespace == pod.metadata.namespace);
    let names: Vec<_> = near.iter().map(|user| user.name()).collect();
    let why = match (names.is_empty(), far.len()) {
        (true, 0) => "Volume is already exclusively attached to one node and can't be attached to another".to_owned(),
        (true, far) => format!("Volume is already used by {far} pod(s) in different namespaces"),
        (false, 0) => format!("Volume is already used by pod(s) {}", names.join(", ")),
        (false, far) => {
            format!("Volume is already used by pod(s) {} and {far} pod(s) in different namespaces", names.join(", "))
        }
    };
    format!("Multi-Attach error for volume {:?} {why}", volume.name)
}

/// The name of the VolumeAttachment of a volume and a node.
pub(super) fn attachment_name(handle: &str, driver: &str, node: &str) -> String {
    let digest = Sha256::digest(format!("{handle}{driver}{node}"));
    digest.iter().fold("csi-".to_owned(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    })
}

/// The decision as a sentence, for the event log.
pub(super) fn sentence(deeds: &[Deed]) -> String {
    let say = |deed: &Deed| match deed {
        Deed::Ask { node } => format!("{node}: ask for it"),
        Deed::Wait { node } => format!("{node}: wait for the driver"),
        Deed::Fail { node, why } => format!("{node}: {why}"),
        Deed::Refuse { node, .. } => format!("{node}: another node has it"),
        Deed::Attached { node } => format!("{node}: it is attached"),
        Deed::Keep { node } => format!("{node}: it may still be used there"),
        Deed::Detach { node } => format!("{node}: let it go"),
    };
    let said: Vec<_> = deeds.iter().map(say).collect();
    if said.is_empty() { "not in use".to_owned() } else { said.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(namespace: &str, name: &str) -> Arc<Pod> {
        let mut pod = Pod::default();
        pod.metadata.namespace = Some(namespace.to_owned());
        pod.metadata.name = Some(name.to_owned());
        Arc::new(pod)
    }

    fn wanted(volume: &mut ObservedVolume, node: &str, pods: &[Arc<Pod>]) {
        volume.wanted.insert(node.to_owned(), pods.to_vec());
        volume.nodes.insert(node.to_owned(), NodeState { ready: true, ..NodeState::default() });
    }

    fn one(volume: &ObservedVolume, times: &Times) -> Deed {
        let (mut deeds, _) = deeds(volume, times, true);
        assert_eq!(deeds.len(), 1, "{deeds:?}");
        deeds.remove(0)
    }

    fn node() -> String {
        "n".to_owned()
    }

    #[test]
    fn a_volume_is_asked_for_waited_for_and_attached() {
        let mut volume = ObservedVolume {
            name: "v".to_owned(),
            driver: "d".to_owned(),
            handle: "h".to_owned(),
            ..ObservedVolume::default()
        };
        wanted(&mut volume, "n", &[pod("a", "p")]);
        assert_eq!(one(&volume, &Times::new()), Deed::Ask { node: node() });
        volume.asked.insert(node(), AttachmentState::default());
        assert_eq!(one(&volume, &Times::new()), Deed::Wait { node: node() });
        let late = [(node(), (None, Some(ATTACH_TIMEOUT)))].into();
        let Deed::Fail { why, .. } = one(&volume, &late) else { panic!("it took too long") };
        assert!(why.ends_with("timed out waiting for external-attacher of d CSI driver to attach volume h"), "{why}");
        volume.asked.insert(node(), AttachmentState { attached: true, ..AttachmentState::default() });
        assert_eq!(one(&volume, &late), Deed::Attached { node: node() });
    }

    #[test]
    fn a_single_node_volume_is_refused_to_another_node_with_its_current_one() {
        let mut volume = ObservedVolume { name: "v".to_owned(), ..ObservedVolume::default() };
        wanted(&mut volume, "m", &[pod("a", "p"), pod("b", "q")]);
        wanted(&mut volume, "n", &[pod("a", "r")]);
        volume.asked.insert("m".to_owned(), AttachmentState { attached: true, ..AttachmentState::default() });
        let (done, _) = deeds(&volume, &Times::new(), true);
        let Deed::Refuse { why, .. } = &done[1] else { panic!("{done:?}") };
        let text = "Multi-Attach error for volume \"v\" Volume is already used by pod(s) p and 1 pod(s) in different namespaces";
        assert_eq!(why, &[text]);
        volume.is_shared = true;
        assert_eq!(deeds(&volume, &Times::new(), true).0[1], Deed::Ask { node: node() });
    }

    #[test]
    fn a_volume_stays_where_it_is_used_until_the_node_has_been_silent_for_long_or_is_given_up() {
        let mut volume = ObservedVolume::default();
        volume.asked.insert(node(), AttachmentState { attached: true, ..AttachmentState::default() });
        let mut with = |state: Option<NodeState>, waited: Duration, forces: bool| {
            volume.nodes = state.map(|state| (node(), state)).into_iter().collect();
            let (deeds, again) = deeds(&volume, &[(node(), (Some(waited), None))].into(), forces);
            (deeds == [Deed::Detach { node: node() }], again)
        };
        let used = NodeState { ready: true, in_use: true, out_of_service: false };
        let long = UNMOUNT_TIMEOUT;
        assert!(with(Some(NodeState { in_use: false, ..used }), Duration::ZERO, true).0);
        assert_eq!(with(Some(used), long, true), (false, None), "a node that is well lets go itself");
        let silent = NodeState { ready: false, ..used };
        assert_eq!(with(Some(silent), Duration::ZERO, true), (false, Some(long)));
        assert!(with(Some(silent), long, true).0 && !with(Some(silent), long, false).0);
        assert!(with(Some(NodeState { out_of_service: true, ..silent }), Duration::ZERO, false).0);
        assert!(with(None, long, true).0 && !with(None, Duration::ZERO, true).0);
    }

    #[test]
    fn an_attachments_name_is_the_published_one() {
        let name = attachment_name("", "", "abc");
        assert_eq!(name, "csi-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
