use std::collections::BTreeSet;

use coracle_meta::{GroupResource, Status};

use crate::Registry;

/// A stored value that cannot be decoded as an object of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableValue {
    /// The resource of its key.
    pub resource: GroupResource,
    /// Its key in the store.
    pub key: String,
    /// Why it cannot be decoded.
    pub why: String,
}

impl Registry {
    /// Reads every stored value of the served kinds, and returns those that cannot be decoded.
    ///
    /// # Errors
    /// The store does not respond.
    pub async fn unreadable_values(&self) -> Result<Vec<UnreadableValue>, Status> {
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        let kinds = self.kinds();
        for kind in kinds.iter().filter(|kind| kind.computed().is_none()) {
            if seen.insert(kind.store.prefix()) {
                let unreadable = self.storage().unreadable(&kind.store).await?.into_iter();
                let resource = &kind.store.name;
                found.extend(unreadable.map(|(key, why)| UnreadableValue {
                    resource: resource.clone(),
                    key,
                    why: why.0,
                }));
            }
        }
        found.sort_by(|one, other| one.key.cmp(&other.key));
        Ok(found)
    }
}
