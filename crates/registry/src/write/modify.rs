use std::sync::Arc;

use coracle_meta::{Object, Status};
use coracle_storage::Stored;

use super::intent::{AdmissionScope, Intent};
use super::plan::Plan;
use crate::{Planned, Registry, Request};

/// A write of the API server itself, which its caller plans.
struct Modify<'a, F> {
    request: &'a Request,
    plan: F,
}

impl<F: Fn(&Arc<Object>) -> Result<Plan, Status> + Send + Sync> Intent for Modify<'_, F> {
    fn admission(&self) -> AdmissionScope<'_> {
        AdmissionScope::None
    }

    fn plan(&self, _wanted: Option<Object>, existing: Option<&Arc<Object>>) -> Planned<Plan> {
        match existing {
            Some(existing) => Ok((self.plan)(existing)?),
            None => Err(self.request.not_found().into()),
        }
    }
}

impl Registry {
    /// Changes an object as `plan` decides, and retries on conflict. Hooks and actions of one kind use this for objects
    /// of another kind. There is no validation and no admission.
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
