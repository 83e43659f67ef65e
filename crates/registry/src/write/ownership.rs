use coracle_meta::{Object, Status, format_time};
use coracle_schema::apply::{Booking, Versions, managed_fields};

use crate::versions::{KindVersions, OneVersion, all_but};
use crate::{BodyKind, Kind, Planned, Registry, Request};

impl Registry {
    /// Sets the managed fields of a new object.
    pub(super) async fn book_create(
        &self,
        request: &Request,
        kind: &Kind,
        mut new: Object,
        reset: &[Vec<String>],
    ) -> Result<Object, Status> {
        let versions = KindVersions::of(&self.kinds(), kind, all_but(reset));
        let (api_version, nothing) = (kind.gvk().api_version(), Object::default());
        let booked = || book_write(request, &api_version, &nothing, kind.for_run(&mut new), &versions);
        self.planned(request, kind, booked).await
    }
}

/// The input of managed fields for a write.
pub(super) fn booking<'a, V>(request: &'a Request, api_version: &'a str, versions: V) -> Booking<'a, V> {
    Booking {
        versions,
        api_version,
        manager: &request.field_manager,
        subresource: &request.at.subresource,
        time: format_time(request.now),
    }
}

/// Updates the managed fields of `new`, if all versions that this takes are known.
///
/// # Errors
/// The conversions to ask for first.
pub(super) fn book_write(
    request: &Request,
    api_version: &str,
    live: &Object,
    new: Object,
    versions: &KindVersions,
) -> Planned<Object> {
    versions.settled(Ok(book(request, api_version, live, new, versions)))
}

/// Updates the managed fields of `new`. In Kubernetes: `FieldManager.Update`.
fn book<V: Versions>(request: &Request, api_version: &str, live: &Object, new: Object, versions: V) -> Object {
    let verbatim = new.verbatim().clone();
    let booked = managed_fields::update(&booking(request, api_version, versions), live.as_value(), new.into_value());
    Object::from_value(booked).expect("booking keeps an object an object").with_verbatim(verbatim)
}

/// Updates the managed fields of a body of a kind without its own resource.
pub(super) fn book_body(request: &Request, kind: BodyKind, body: Object) -> Object {
    let api_version = kind.gvk.api_version();
    let versions = OneVersion { api_version: api_version.clone(), schema: kind.schema };
    book(request, &api_version, &Object::default(), body, &versions)
}
