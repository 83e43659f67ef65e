use std::sync::Arc;

use coracle_meta::{Object, Status};
use coracle_storage::Stored;

use super::intent::{Asked, Intent};
use super::plan::Plan;
use crate::{Registry, Request};

/// A write of the server's own, planned by whoever asks for it.
struct Modify<'a, F> {
    request: &'a Request,
    plan: F,
}

impl<F: Fn(&Arc<Object>) -> Result<Plan, Status> + Send + Sync> Intent for Modify<'_, F> {
    fn admission(&self) -> Asked<'_> {
        Asked::None
    }

    fn plan(&self, _wanted: Option<Object>, existing: Option<&Arc<Object>>) -> Result<Plan, Status> {
        match existing {
            Some(existing) => (self.plan)(existing),
            None => Err(self.request.not_found()),
        }
    }
}

impl Registry {
    /// Does to an object what `plan` says, again and again until nobody else came between: what hooks and actions of one
    /// kind do to objects of another. No rules of the kind and no admission are asked.
    pub async fn modify(
        &self,
        request: &Request,
        plan: impl Fn(&Arc<Object>) -> Result<Plan, Status> + Send + Sync,
    ) -> Result<Stored, Status> {
        let kind = self.kind_of(request)?;
        let committed = self.commit(request, &kind, &mut Modify { request, plan }).await?;
        self.answer(request, &kind, committed.stored).await
    }
}
