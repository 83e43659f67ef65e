use coracle_cluster::controllers::{component_called, component_names};

use crate::word::nearest;

/// The components of a cluster, without their parts.
pub(crate) const COMPONENTS: [&str; 4] = ["controller-manager", "scheduler", "csi-driver", "kubelet"];

/// The parts of components that send requests, by their names in the event log, in addition to
/// [components](COMPONENTS) and [controllers](controllers). The name of the node is added to `kubelet`.
const PARTS: &[&str] = &[
    "controller-manager/garbage-collector-orphans",
    "controller-manager/job-orphans",
    "controller-manager/node-lifecycle-pods",
    "controller-manager/persistentvolume-binder-claims",
    "controller-manager/persistentvolume-binder-volumes",
    "controller-manager/stale-pod-disruption",
    "csi-driver/attacher",
    "csi-driver/attacher-volumes",
    "csi-driver/deleter",
    "csi-driver/provisioner",
    "csi-driver/resizer",
    "kubelet/nodes",
    "kubelet/pods",
];

/// The parts of components that send requests, without nodes.
pub(crate) fn senders() -> impl Iterator<Item = String> {
    COMPONENTS.iter().chain(PARTS).map(|&sender| sender.to_owned()).chain(controllers())
}

/// The controllers, as parts of the controller-manager.
pub(crate) fn controllers() -> impl Iterator<Item = String> {
    component_names().map(controller)
}

fn controller(name: &str) -> String {
    format!("controller-manager/{name}")
}

/// The component or part of one whose name is nearest to a word, also if the word is a name in `--controllers`. `more`
/// are names in addition to those of components and controllers.
pub(crate) fn nearest_component(word: &str, more: &[String]) -> Option<String> {
    let part = word.strip_prefix("controller-manager/").unwrap_or(word);
    let controllers: Vec<String> = controllers().collect();
    let known = COMPONENTS.into_iter().chain(controllers.iter().chain(more).map(String::as_str));
    component_called(part)
        .map(controller)
        .or_else(|| nearest(word, known).map(str::to_owned))
        .or_else(|| nearest(part, component_names()).map(controller))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_is_found_by_each_of_its_names_and_by_one_that_is_nearly_right() {
        for word in [
            "controller-manager/replicasett",
            "controller-manager/replicaset-controller",
            "replicaset-controller",
            "replicaset",
            "replicasets",
        ] {
            let found = nearest_component(word, &[]);
            assert_eq!(found.as_deref(), Some("controller-manager/replicaset"), "{word}");
        }
        let podgc = nearest_component("controller-manager/podgc", &[]);
        assert_eq!(podgc.as_deref(), Some("controller-manager/pod-garbage-collector"));
        assert_eq!(nearest_component("schedular", &[]).as_deref(), Some("scheduler"));
        assert_eq!(
            nearest_component("kubelet/nod-1", &["kubelet/node-1".to_owned()]).as_deref(),
            Some("kubelet/node-1")
        );
        assert_eq!(nearest_component("my-operator", &[]), None);
    }
}
