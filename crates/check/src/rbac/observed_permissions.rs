use std::collections::BTreeSet;
use std::sync::Arc;

use http::{Request, StatusCode};
use parking_lot::Mutex;

use super::permission::Permission;

/// What the requests of a program needed in all runs of a search. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObservedPermissions(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    used: BTreeSet<Permission>,
    refused: BTreeSet<Permission>,
}

impl ObservedPermissions {
    /// Notes a request, and returns what it needs.
    pub(crate) fn asks<B>(&self, request: &Request<B>) -> Option<Permission> {
        let needed = Permission::of(request.method(), request.uri())?;
        self.0.lock().used.insert(needed.clone());
        Some(needed)
    }

    /// Notes the answer.
    pub(crate) fn is_answered(&self, needed: Permission, code: StatusCode) {
        if code == StatusCode::FORBIDDEN {
            self.0.lock().refused.insert(needed);
        }
    }

    /// What was needed.
    pub(super) fn used(&self) -> BTreeSet<Permission> {
        self.0.lock().used.clone()
    }

    /// What was refused.
    pub(crate) fn refused(&self) -> BTreeSet<Permission> {
        self.0.lock().refused.clone()
    }
}
