//! Stored policies and webhook configurations that cannot be decoded.

use coracle_meta::{GroupVersionResource, Status, reason};
use coracle_registry::{Lists, Review, User};

/// The configuration of a plug-in from objects, with the keys of objects that cannot be decoded.
pub(crate) struct Configured<T> {
    pub(crate) read: Vec<T>,
    unreadable: Vec<String>,
}

impl<T> Default for Configured<T> {
    fn default() -> Self {
        Self { read: Vec::new(), unreadable: Vec::new() }
    }
}

impl<T> Configured<T> {
    pub(crate) fn new(read: Vec<T>, lists: &Lists, resources: &[GroupVersionResource]) -> Self {
        let unreadable = resources.iter().flat_map(|resource| lists.unreadable(resource)).cloned().collect();
        Self { read, unreadable }
    }

    /// Refuses every request that an undecodable object might have refused, except those of the API server itself, so
    /// that it can start.
    ///
    /// In Kubernetes: such a plug-in is "not yet ready to handle request", because its informer never syncs.
    ///
    /// # Errors
    /// 500 with the first key.
    pub(crate) fn check(&self, review: &Review<'_>) -> Result<(), Status> {
        match self.unreadable.first() {
            Some(key) if review.request.user.name != User::system().name => {
                let message = format!(
                    "Internal error occurred: the stored value {key} cannot be read: nothing says whether it lets this \
                     request through"
                );
                Err(Status::failure(500, reason::STORE_READ_ERROR, message))
            }
            _ => Ok(()),
        }
    }
}
