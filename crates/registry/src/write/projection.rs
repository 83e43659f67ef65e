use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::{Object, Status};
use coracle_schema::apply::{managed_fields, scale};
use coracle_storage::{Freshness, Stored};
use serde_json::Value;

use super::create::check_kind;
use super::intent::OwnKind;
use super::ownership::booking;
use super::patch::{ParsedPatch, ReadPatch};
use super::update::{UpdatedObject, WrittenPart};
use crate::decode::{self, Patched};
use crate::versions::OneVersion;
use crate::{BodyKind, Kind, Patch, Planned, Projection, Registry, Request, Written, object_meta};

/// The requested change of the projected part.
enum Wanted {
    Body(Object),
    Patch(ReadPatch),
}

/// A write of a part with its own kind, as a write of the object. In Kubernetes: `scaleUpdatedObjectInfo`.
struct Projected<'a> {
    request: &'a Request,
    kind: &'a Kind,
    projection: &'a dyn Projection,
    body: BodyKind,
    wanted: Wanted,
}

impl Projected<'_> {
    fn replicas_paths(&self) -> scale::ReplicasPaths {
        BTreeMap::from([(self.kind.gvk().api_version(), Some(self.projection.replicas_path()))])
    }

    /// The requested part, with its managed fields.
    fn wanted(&self, shown: &Object) -> Result<Object, Status> {
        let BodyKind { gvk: kind, schema } = &self.body;
        let api_version = kind.api_version();
        let versions = OneVersion { api_version: api_version.clone(), schema: schema.clone() };
        let booking = booking(self.request, &api_version, &versions);
        let booked = match &self.wanted {
            Wanted::Body(body) => managed_fields::update(&booking, shown.as_value(), body.to_value()),
            Wanted::Patch(patch) => match patch.get()? {
                (ParsedPatch::Apply { config, force }, objections) => {
                    let applied = managed_fields::apply(&booking, shown.as_value(), config, *force)?;
                    objections.clone().report_apply(self.request)?;
                    applied
                }
                (change, objections) => {
                    let value = change.patched(shown.to_value(), schema)?;
                    let quote = || change.quoted(shown, schema, Some(schema.root()));
                    let patched = Patched { value, quote: &quote, made_by: change.made_by() };
                    let new = decode::with_schema(kind, schema, patched, objections.clone(), self.request)?;
                    managed_fields::update(&booking, shown.as_value(), new.into_value())
                }
            },
        };
        Object::from_value(booked).map_err(|error| Status::internal(error.to_string()))
    }
}

impl OwnKind for Projected<'_> {
    fn of(&self, object: &Object) -> Result<Object, Status> {
        self.projection.show(object)
    }

    fn with_owners(&self, object: &Object) -> Result<Object, Status> {
        let mut shown = self.projection.show(object)?;
        let owners = object.field("metadata.managedFields");
        shown.set("metadata.managedFields", scale::to_scale(owners, &self.replicas_paths()).map_err(Status::internal)?);
        Ok(shown)
    }

    fn put_into(&self, live: &Object, mut wanted: Object) -> Result<Object, Status> {
        object_meta::ensure_namespace(&mut wanted, &self.request.at.namespace, self.kind.is_namespaced())?;
        object_meta::check_name(&wanted, &self.request.at.name)?;
        let errors = self.projection.validate(&wanted);
        if !errors.is_empty() {
            return Err(Status::invalid(&self.body.gvk, &self.request.at.name, &errors));
        }
        if !wanted.uid().is_empty() && wanted.uid() != live.uid() {
            let why = format!(
                "Precondition failed: UID in precondition: {}, UID in object meta: {}",
                wanted.uid(),
                live.uid()
            );
            let mut resource = self.request.group_resource();
            resource.resource = format!("{}/{}", resource.resource, self.projection.name());
            return Err(Status::conflict(&resource, &self.request.at.name, &why));
        }
        let mut object = live.clone();
        self.projection.write(&mut object, &wanted)?;
        if !wanted.resource_version().is_empty() {
            object.set_resource_version(wanted.resource_version().to_owned());
        }
        let (before, after) = (live.field("metadata.managedFields"), wanted.field("metadata.managedFields"));
        let version = self.kind.gvk().api_version();
        let owners = scale::to_parent(before, after, &self.replicas_paths(), &version).map_err(Status::internal)?;
        object.set("metadata.managedFields", Value::from(owners));
        self.kind.strategy().set_defaults(&mut object);
        Ok(object)
    }
}

impl UpdatedObject for Projected<'_> {
    fn make(&self, _registry: &Registry, live: &Object) -> Planned<Object> {
        let mut wanted = self.wanted(&self.with_owners(live)?)?;
        object_meta::ensure_namespace(&mut wanted, &self.request.at.namespace, self.kind.is_namespaced())?;
        object_meta::check_name(&wanted, &self.request.at.name)?;
        Ok(wanted)
    }

    fn uid(&self) -> Option<&str> {
        match &self.wanted {
            Wanted::Body(body) => Some(body.uid()).filter(|uid| !uid.is_empty()),
            Wanted::Patch(_) => None,
        }
    }

    fn part(&self) -> Option<&dyn OwnKind> {
        Some(self)
    }
}

impl Registry {
    /// Reads a part with its own kind.
    pub(crate) async fn get_projection(
        &self,
        request: &Request,
        kind: &Kind,
        projection: &dyn Projection,
    ) -> Result<Stored, Status> {
        let found = self.inner.storage.get(&kind.store, &kind.key(request), Freshness::Newest).await?;
        let stored = found.ok_or_else(|| request.not_found())?;
        show(projection, &self.answer(request, kind, stored).await?)
    }

    pub(super) async fn update_projection(
        &self,
        request: &Request,
        kind: &Kind,
        projection: &dyn Projection,
        body: Object,
    ) -> Result<Written, Status> {
        check_kind(&body, &projection.body().gvk)?;
        self.write_projection(request, kind, projection, Wanted::Body(body)).await
    }

    pub(super) async fn patch_projection(
        &self,
        request: &Request,
        kind: &Kind,
        projection: &dyn Projection,
        patch: &Patch,
    ) -> Result<Written, Status> {
        self.write_projection(request, kind, projection, Wanted::Patch(ReadPatch::of(patch))).await
    }

    async fn write_projection(
        &self,
        request: &Request,
        kind: &Kind,
        projection: &dyn Projection,
        wanted: Wanted,
    ) -> Result<Written, Status> {
        let updated = Projected { request, kind, projection, body: projection.body(), wanted };
        let written = self.write(request, kind, &WrittenPart::Object, &updated).await?;
        Ok(Written { object: show(projection, &written.object)?, ..written })
    }
}

fn show(projection: &dyn Projection, stored: &Stored) -> Result<Stored, Status> {
    let shown = projection.show(&stored.object())?;
    Ok(Stored::from_object(&Arc::new(shown), stored.revision()))
}
