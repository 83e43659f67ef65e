use coracle_api::core_v1::Container;
use serde::{Deserialize, Serialize};

use crate::container::Part;

/// Names a container of a pod: which of its lists, and where in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Place {
    Init(usize),
    Main(usize),
    Ephemeral(usize),
}

/// Whether an init container goes on beside the others.
pub(crate) fn is_sidecar(init: &Container) -> bool {
    init.restart_policy.as_deref() == Some("Always")
}

/// What a container is within its pod.
pub(crate) fn part(container: &Container, place: Place) -> Part {
    match place {
        Place::Init(_) if is_sidecar(container) => Part::Sidecar,
        Place::Init(_) => Part::Init,
        Place::Main(_) => Part::Main,
        Place::Ephemeral(_) => Part::Ephemeral,
    }
}
