//! Policies and webhook configurations of the store that cannot be read.

use coracle_meta::{GroupVersionResource, Status, reason};
use coracle_registry::{Lists, Review, User};

/// What a plug-in reads of the objects that configure it, with the keys of those that cannot be read.
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

    /// Lets no request through that one that cannot be read might have refused; but the server itself writes on, so that it
    /// starts.
    ///
    /// In Kubernetes: such a plug-in is "not yet ready to handle request", because its informer never has a list.
    ///
    /// # Errors
    /// 500 with the key of the first.
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
