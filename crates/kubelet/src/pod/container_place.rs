use coracle_api::core_v1::Container;
use serde::{Deserialize, Serialize};

use crate::pod::container::ContainerRole;

/// Identifies a container of a pod: the list it is in, and its index in that list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum ContainerPlace {
    Init(usize),
    Main(usize),
    Ephemeral(usize),
}

/// Whether an init container keeps running next to the main containers.
pub(crate) fn is_sidecar(init: &Container) -> bool {
    init.restart_policy.as_deref() == Some("Always")
}

/// The role of a container in its pod.
pub(crate) fn part(container: &Container, place: ContainerPlace) -> ContainerRole {
    match place {
        ContainerPlace::Init(_) if is_sidecar(container) => ContainerRole::Sidecar,
        ContainerPlace::Init(_) => ContainerRole::Init,
        ContainerPlace::Main(_) => ContainerRole::Main,
        ContainerPlace::Ephemeral(_) => ContainerRole::Ephemeral,
    }
}
