use coracle_meta::{Status, format_time};
use coracle_storage::{Attempt, Draft, Stored, Write};

use crate::{Kind, Registry, Request};

/// The fields of a new object that the API server sets, and that differ from one create to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemFields {
    /// The uid.
    pub uid: String,
    /// The creation time.
    pub created: String,
}

/// Writes of objects whose stored form is known. The callers are parts of the API server that have compared this form
/// with the one that the verbs give: nothing is defaulted, validated, admitted or reserved, and no hook runs.
impl Registry {
    /// The fields that a create of the request's object would set now. Each call draws another uid, as each create
    /// does.
    pub fn new_system_fields(&self, request: &Request) -> SystemFields {
        let uid = request.random(self.ambient(), "uid", &request.at.name).uuid();
        SystemFields { uid, created: format_time(request.now) }
    }

    /// Stores the object of the request if it is still `current`: `None` for an object that does not exist. Returns
    /// `None` if it is not.
    ///
    /// # Errors
    /// If the kind is not served, the value is no object, or the store refuses.
    pub async fn put_prepared(
        &self,
        request: &Request,
        current: Option<&Stored>,
        value: Vec<u8>,
    ) -> Result<Option<Stored>, Status> {
        let kind = self.kind_of(request)?;
        let draft = Draft::laid_out(value.into()).map_err(Status::internal)?;
        let put = Write::Put { draft: &draft, ttl_seconds: None };
        let Kind { store, .. } = &*kind;
        match self.storage().write(store, &kind.key(request), current, put, request.cause).await? {
            Attempt::Done(stored) => Ok(Some(stored)),
            Attempt::Stale(_) => Ok(None),
        }
    }
}
