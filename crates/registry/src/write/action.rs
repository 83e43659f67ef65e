use std::sync::Arc;

use coracle_meta::{GroupVersion, Object, Status};
use coracle_schema::decode::is_accepted;
use coracle_storage::Stored;

use super::create::check_kind;
use super::ownership::book_body;
use crate::{Computed, Kind, Operation, Registry, Request, Subresource, object_meta};

/// Creates that do not store their body: computed kinds, and actions of subresources.
impl Registry {
    /// Serves a create of a computed kind.
    pub(super) async fn compute(
        &self,
        request: &Request,
        kind: &Kind,
        mut object: Object,
        computed: &dyn Computed,
    ) -> Result<Stored, Status> {
        kind.strategy().set_defaults(&mut object);
        let object = self.book_create(request, kind, object, &[]).await?;
        let (object, _) = self.mutate(request, kind, Operation::Create, object, None).await?;
        self.admit(request, kind, Operation::Create, &object, None).await?;
        let answer = computed.create(self, request, object).await?;
        Ok(Stored::from_object(&Arc::new(answer), 0))
    }

    /// Creates a body at a subresource.
    pub(super) async fn act(&self, request: &Request, kind: &Kind, mut body: Object) -> Result<Stored, Status> {
        let Some(Subresource::Action(action)) = kind.subresource(&request.at.subresource) else {
            return Err(crate::registry::not_served());
        };
        let body_kind = action.body();
        let found = GroupVersion::parse(body.api_version()).map(|version| version.kind(body.kind()));
        if found.is_some_and(|found| is_accepted(&found, &body_kind.gvk)) {
            body.set_kind(&body_kind.gvk);
        }
        check_kind(&body, &body_kind.gvk)?;
        if !action.keeps_system_fields() {
            object_meta::wipe_system_fields(&mut body);
        }
        object_meta::ensure_namespace(&mut body, &request.at.namespace, kind.is_namespaced())?;
        action.set_defaults(&mut body);
        let body = book_body(request, body_kind, body);
        let (body, _) = self.mutate(request, kind, Operation::Create, body, None).await?;
        action.check(request, &body)?;
        self.admit(request, kind, Operation::Create, &body, None).await?;
        let answer = action.create(self, request, body).await?;
        Ok(Stored::from_object(&Arc::new(answer), 0))
    }
}
