use serde::{Deserialize, Serialize};

/// Why a container cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Hold {
    /// Its image is nowhere.
    ErrImagePull,
    /// And is not asked for again before a pause is over.
    ImagePullBackOff,
    /// Its image may not be asked for.
    ErrImageNeverPull,
    /// Its image has no name that can be read.
    InvalidImageName,
    /// What it is configured with is not there.
    CreateContainerConfigError,
}
