//! The stages that KWOK ships, built in; `../kwok/README.md` names their source.

type File = (&'static str, &'static str);

/// A file of `kwok/stage`, and its text.
macro_rules! file {
    ($path:literal) => {
        (concat!("kwok/stage/", $path), include_str!(concat!("../kwok/stage/", $path)))
    };
}

const POD_FAST: &[File] =
    &[file!("pod/fast/pod-complete.yaml"), file!("pod/fast/pod-delete.yaml"), file!("pod/fast/pod-ready.yaml")];
const POD_GENERAL: &[File] = &[
    file!("pod/general/pod-complete.yaml"),
    file!("pod/general/pod-create.yaml"),
    file!("pod/general/pod-delete.yaml"),
    file!("pod/general/pod-init-container-completed.yaml"),
    file!("pod/general/pod-init-container-running.yaml"),
    file!("pod/general/pod-ready.yaml"),
];
const POD_CHAOS: &[File] =
    &[file!("pod/chaos/pod-container-running-failed.yaml"), file!("pod/chaos/pod-init-container-running-failed.yaml")];
const NODE_FAST: &[File] = &[file!("node/fast/node-initialize.yaml")];
const NODE_HEARTBEAT_WITH_LEASE: &[File] = &[file!("node/heartbeat-with-lease/node-heartbeat-with-lease.yaml")];
const NODE_CHAOS: &[File] = &[file!("node/chaos/node-not-ready.yaml")];

/// The sets that `--stages` can name.
const SETS: &[(&str, &[&[File]])] = &[
    ("fast", &[POD_FAST, NODE_FAST, NODE_HEARTBEAT_WITH_LEASE]),
    ("general", &[POD_GENERAL, NODE_FAST, NODE_HEARTBEAT_WITH_LEASE]),
    ("chaos", &[POD_GENERAL, POD_CHAOS, NODE_FAST, NODE_HEARTBEAT_WITH_LEASE, NODE_CHAOS]),
];

/// The files of a set; none if there is no such set.
pub(crate) fn built_in(name: &str) -> Option<impl Iterator<Item = &'static File>> {
    let (_, parts) = SETS.iter().find(|(known, _)| *known == name)?;
    Some(parts.iter().copied().flatten())
}
