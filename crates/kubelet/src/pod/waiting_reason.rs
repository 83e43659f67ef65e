use serde::{Deserialize, Serialize};

/// Why a container cannot be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum WaitingReason {
    /// Its image does not exist.
    ErrImagePull,
    /// Its image does not exist, and is not pulled again before the back-off is over.
    ImagePullBackOff,
    /// Its image must not be pulled.
    ErrImageNeverPull,
    /// Its image reference is invalid.
    InvalidImageName,
    /// A ConfigMap, Secret or key that it refers to is missing.
    CreateContainerConfigError,
}
