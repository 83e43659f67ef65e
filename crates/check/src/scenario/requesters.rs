use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_journal::{Entry, EntryId, Stage};
use coracle_sim::checks::RunLog;

/// The users of the components.
const USERS: [(&str, &str); 4] = [
    ("controller-manager", "system:serviceaccount:kube-system:"),
    ("controller-manager", "system:kube-controller-manager"),
    ("scheduler", "system:kube-scheduler"),
    ("kubelet", "system:node:"),
];

/// The names of those who sent the requests of a log: a controller such as `controller-manager/replicaset`, a node, or the
/// user of a request that no sync has sent.
pub(super) fn requesters(entries: &[Entry], log: &RunLog) -> Vec<Arc<str>> {
    let of_stage = |stage: Stage| entries.iter().filter(move |entry| entry.stage == stage);
    let actors: BTreeMap<EntryId, Arc<str>> =
        of_stage(Stage::SyncWrite).map(|entry| (entry.id, Arc::from(entry.actor.as_str()))).collect();
    let senders: BTreeMap<EntryId, Arc<str>> = of_stage(Stage::ApiRequest)
        .filter_map(|entry| Some((entry.id, entry.causes.iter().find_map(|cause| actors.get(cause))?.clone())))
        .collect();
    log.requests.iter().map(|request| senders.get(&request.entry).unwrap_or(&request.user).clone()).collect()
}

/// Whether a requester is a component, or a part of it.
pub(super) fn is_of(requester: &str, component: &str) -> bool {
    let is_part = requester.strip_prefix(component).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    is_part || USERS.iter().any(|(of, user)| *of == component && requester.starts_with(user))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_and_the_users_of_a_component_belong_to_it() {
        for (requester, component, belongs) in [
            ("controller-manager/job", "controller-manager", true),
            ("system:serviceaccount:kube-system:job-controller", "controller-manager", true),
            ("controller-manager/job", "controller-manager/job", true),
            ("controller-manager/job-orphans", "controller-manager/job", false),
            ("system:serviceaccount:kube-system:job-controller", "controller-manager/job", false),
            ("scheduler", "scheduler", true),
            ("system:kube-scheduler", "scheduler", true),
            ("scenario", "scheduler", false),
            ("kubelet/node-1", "kubelet", true),
        ] {
            assert_eq!(is_of(requester, component), belongs, "{requester} {component}");
        }
    }
}
