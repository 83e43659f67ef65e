use std::sync::Arc;

use coracle_meta::{FieldError, GroupVersionKind, Object, ResourcePath, Status};
use coracle_schema::apply::managed_fields;
use coracle_storage::Stored;

use super::commit::CommitOutcome;
use super::create::{self, check_kind};
use super::generation::{self, Likeness};
use super::intent::{AdmissionScope, IntendedObject, Intent, OwnKind};
use super::ownership::book_write;
use super::plan::Plan;
use crate::restore::restore;
use crate::versions::{KindVersions, all_but};
use crate::{
    Attributes, Decision, Kind, Planned, Preconditions, Projection, Registry, Request, Subresource, View, findings,
    forbidden, object_meta,
};

/// The result of an update or a patch.
#[derive(Clone, Debug)]
pub struct Written {
    /// The new object.
    pub object: Stored,
    /// Whether it was created (201 instead of 200).
    pub created: bool,
}

/// The written part of an object, which determines the rules.
pub(super) enum WrittenPart {
    Object,
    Status,
    View(Arc<dyn View>),
}

/// The target of a request: a part of the object, or a projection with its own kind.
pub(super) enum Addressee {
    Part(WrittenPart),
    Projection(Arc<dyn Projection>),
}

/// The client's change of an object. In Kubernetes: `rest.UpdatedObjectInfo`.
pub(super) trait UpdatedObject: Send + Sync {
    /// The requested object, or the requested part if it has its own kind, with updated managed fields, in the version
    /// of the request. `live` is an empty object if there is no stored object.
    fn make(&self, registry: &Registry, live: &Object) -> Planned<Object>;

    /// The required uid of the stored object.
    fn uid(&self) -> Option<&str> {
        None
    }

    /// The part with its own kind, if the write is for one.
    fn part(&self) -> Option<&dyn OwnKind> {
        None
    }

    /// Whether this creates a missing object, independently of the kind.
    fn creates(&self) -> bool {
        false
    }
}

/// The body of a PUT.
struct Replace<'a> {
    request: &'a Request,
    kind: &'a Kind,
    versions: KindVersions,
    body: Object,
}

impl UpdatedObject for Replace<'_> {
    fn make(&self, _registry: &Registry, live: &Object) -> Planned<Object> {
        let api_version = self.kind.gvk().api_version();
        book_write(self.request, &api_version, live, self.body.clone(), &self.versions)
    }

    fn uid(&self) -> Option<&str> {
        Some(self.body.uid()).filter(|uid| !uid.is_empty())
    }
}

/// A write of an object or of a part of it.
struct Update<'a> {
    request: &'a Request,
    kind: &'a Kind,
    part: &'a WrittenPart,
    updated: &'a dyn UpdatedObject,
}

impl Update<'_> {
    /// Checks the uid, and refuses the write if there is no object and the verb does not create one.
    fn check(&self, live: Option<&Object>) -> Result<(), Status> {
        let by_kind = || self.kind.row().has(coracle_schema::Trait::CreateOnUpdate);
        let is_whole = matches!(self.part, WrittenPart::Object) && self.updated.part().is_none();
        let creates = || is_whole && (by_kind() || self.updated.creates());
        if live.is_none() && !creates() {
            return Err(self.request.not_found());
        }
        let Some(uid) = self.updated.uid() else { return Ok(()) };
        let preconditions = Preconditions { uid: Some(uid.to_owned()), ..Preconditions::default() };
        let nothing = Object::default();
        let checked = preconditions.check_stored(&self.kind.store_key(self.request), live.unwrap_or(&nothing));
        checked.map_err(|why| {
            self.request.audit.not_met(format!("uid {uid}"));
            Status::conflict(&self.request.group_resource(), &self.request.at.name, &why)
        })
    }
}

impl Intent for Update<'_> {
    fn admission(&self) -> AdmissionScope<'_> {
        AdmissionScope::OfWrites
    }

    fn wanted(&mut self, registry: &Registry, live: Option<&Object>) -> Planned<IntendedObject> {
        self.check(live)?;
        let nothing = Object::default();
        self.updated.make(registry, live.unwrap_or(&nothing)).map(IntendedObject::ToMutate)
    }

    fn part(&self) -> Option<&dyn OwnKind> {
        self.updated.part()
    }

    fn complete(&self, registry: &Registry, wanted: &mut Object, existing: Option<&Object>) -> Result<(), Status> {
        match existing {
            Some(existing) => check_version(self.request, self.kind, wanted, existing)?,
            None => create::complete(registry, self.request, wanted),
        }
        Ok(())
    }

    fn reserves(&self) -> bool {
        matches!(self.part, WrittenPart::Object | WrittenPart::Status)
    }

    fn plan(&self, wanted: Option<Object>, existing: Option<&Arc<Object>>) -> Planned<Plan> {
        let wanted = wanted.unwrap_or_default();
        match existing {
            Some(existing) => plan(self.kind, self.request, self.part, wanted, existing),
            None => create::plan(self.kind, self.request, wanted),
        }
    }
}

impl Registry {
    /// Replaces an object, or the part that `request.at.subresource` names.
    ///
    /// In Kubernetes: `UpdateResource` and `Store.Update`.
    pub async fn update(&self, request: &Request, object: Object) -> Result<Written, Status> {
        let kind = self.kind_of(request)?;
        let part = match kind.addressee(request)? {
            Addressee::Part(part) => part,
            Addressee::Projection(projection) => {
                return self.update_projection(request, &kind, &*projection, object).await;
            }
        };
        let mut body = object;
        check_kind(&body, kind.gvk())?;
        object_meta::ensure_namespace(&mut body, &request.at.namespace, kind.is_namespaced())?;
        object_meta::check_name(&body, &request.at.name)?;
        object_meta::deduplicate_owners(&mut body, request, false);
        kind.strategy().drop_nulls(&mut body);
        kind.strategy().set_defaults_at(&mut body, request.now);
        let versions = part.versions(self, &kind);
        self.write(request, &kind, &part, &Replace { request, kind: &kind, versions, body }).await
    }

    /// Authorizes a create: permission to update does not include it.
    pub(super) async fn authorize_create(&self, request: &Request) -> Result<(), Status> {
        let at = ResourcePath { subresource: String::new(), ..ResourcePath::clone(&request.at) };
        let attributes = Attributes::of_resource(&request.user, "create", at);
        match self.authorize(&attributes).await? {
            Decision::Allow(_) => Ok(()),
            Decision::Deny(why) | Decision::NoOpinion(why) => Err(forbidden(&attributes, &why)),
        }
    }

    /// Writes the change of `updated` to a part.
    pub(super) async fn write(
        &self,
        request: &Request,
        kind: &Kind,
        part: &WrittenPart,
        updated: &dyn UpdatedObject,
    ) -> Result<Written, Status> {
        let committed = self.commit(request, kind, &mut Update { request, kind, part, updated }).await?;
        let created = committed.fate == CommitOutcome::Created;
        Ok(Written { object: self.answer(request, kind, committed.stored).await?, created })
    }
}

impl Kind {
    /// The target of a write request.
    pub(super) fn addressee(&self, request: &Request) -> Result<Addressee, Status> {
        match (request.at.subresource.as_str(), self.subresource(&request.at.subresource)) {
            ("", _) => Ok(Addressee::Part(WrittenPart::Object)),
            ("status", _) if self.has_status() => Ok(Addressee::Part(WrittenPart::Status)),
            (_, Some(Subresource::View(view))) => Ok(Addressee::Part(WrittenPart::View(Arc::clone(view)))),
            (_, Some(Subresource::Projection(projection))) => Ok(Addressee::Projection(Arc::clone(projection))),
            _ => Err(crate::registry::not_served()),
        }
    }
}

impl WrittenPart {
    /// The versions of the kind for the managed fields of a write through this part.
    pub(super) fn versions(&self, registry: &Registry, kind: &Kind) -> KindVersions {
        let filter = match self {
            Self::Object => all_but(&kind.spec().all_reset_fields()),
            Self::Status => all_but(&kind.strategy().reset_status_fields()),
            Self::View(view) => match view.only_fields() {
                Some(only) => coracle_schema::apply::Filter::Only(only),
                None => all_but(&view.reset_fields()),
            },
        };
        KindVersions::of(&registry.kinds(), kind, filter)
    }
}

/// The plan for a changed part of `existing`. In Kubernetes: the function that `Store.Update` passes to its storage.
fn plan(
    kind: &Kind,
    request: &Request,
    part: &WrittenPart,
    mut wanted: Object,
    existing: &Arc<Object>,
) -> Planned<Plan> {
    let old = kind.ruled(existing)?;
    prepare(request, kind, part, &mut wanted, &old)?;
    let new = kind.normalize(wanted, Some(existing))?;
    let is_same =
        same_content(&new, existing) && managed_fields::differ_in_times_only(existing.as_value(), new.as_value());
    let object = if is_same { Arc::clone(existing) } else { Arc::new(new) };
    Ok(if goes_with_this_update(&object, existing) && !(kind.hub().spec().is_held)(&object) {
        Plan::Delete { shown: Some(object) }
    } else {
        Plan::Put { object, then_delete: false }
    })
}

/// Whether two versions of an object differ at most in their metadata.
fn same_content(new: &Object, old: &Object) -> bool {
    let same_bytes = new.verbatim() == old.verbatim();
    let (new, old) = (new.tree(), old.tree());
    same_bytes
        && new.len() == old.len()
        && new.iter().all(|(name, value)| name == "metadata" || old.get(name) == Some(value))
}

/// Compares the client's resource version with the stored one. In Kubernetes: the beginning of `Store.Update`.
fn check_version(request: &Request, kind: &Kind, new: &mut Object, existing: &Object) -> Result<(), Status> {
    let seen = new.resource_version();
    if seen.is_empty() || seen == "0" {
        if kind.row().has(coracle_schema::Trait::UnconditionalUpdate) {
            new.set_resource_version(existing.resource_version().to_owned());
            return Ok(());
        }
        let error = FieldError::invalid("metadata.resourceVersion", 0, "must be specified for an update");
        let resource = request.group_resource();
        let named = GroupVersionKind::new(resource.group, "", resource.resource);
        return Err(Status::invalid(&named, &request.at.name, &[error]));
    }
    if seen.parse::<u64>().is_err() {
        let message = format!("strconv.ParseUint: parsing {seen:?}: invalid syntax");
        return Err(Status::failure(500, "", message));
    }
    if seen != existing.resource_version() {
        request.audit.not_met(format!("resourceVersion {seen}"));
        return Err(Status::modified(&request.group_resource(), &request.at.name));
    }
    Ok(())
}

/// Prepares and validates a change. In Kubernetes: `BeforeUpdate`.
fn prepare(request: &Request, kind: &Kind, part: &WrittenPart, new: &mut Object, old: &Object) -> Planned<()> {
    let strategy = kind.ruling();
    let spec = strategy.spec();
    object_meta::ensure_namespace(new, &request.at.namespace, kind.is_namespaced())?;
    restore(new, old, "metadata.generation");
    match part {
        WrittenPart::Object => {
            if kind.has_status() {
                restore(new, old, "status");
            }
            (spec.prepare_update)(new, old, request, &spec.release);
        }
        WrittenPart::Status => strategy.prepare_status_update(new, old, request),
        WrittenPart::View(view) => view.prepare_update(new, old, request),
    }
    // A status update changes nothing desired, even if the kind counts changes of annotations.
    if !matches!(part, WrittenPart::Status) {
        generation::count(spec.generation, new, old, Likeness::of(kind));
    }
    if new.uid().is_empty() {
        restore(new, old, "metadata.uid");
    }
    restore(new, old, "metadata.creationTimestamp");
    new.remove("metadata.selfLink");
    if old.is_terminating() {
        restore(new, old, "metadata.deletionTimestamp");
    }
    if new.field("metadata.deletionGracePeriodSeconds").is_none() {
        restore(new, old, "metadata.deletionGracePeriodSeconds");
    }
    let mut errors = object_meta::validate_update(new, old, kind.is_namespaced(), &spec.release);
    errors.extend(match part {
        WrittenPart::Object => kind.with_rules(strategy.validate_update(new, old), new, Some(old))?,
        WrittenPart::Status => kind.with_rules(strategy.validate_status_update(new, old), new, Some(old))?,
        WrittenPart::View(view) => view.validate_update(new, old),
    });
    if kind.is_converted() && matches!(part, WrittenPart::Object) {
        errors = (kind.spec().review)(new, Some(old), errors);
    }
    if spec.declares_rules {
        errors = findings::of_declared_rules(errors);
    }
    if !errors.is_empty() {
        return Err(Status::invalid(spec.gvk(), new.name(), &errors).into());
    }
    let warnings = match part {
        WrittenPart::Object => (spec.warnings)(new, Some(old), &spec.release),
        WrittenPart::Status => Vec::new(),
        WrittenPart::View(view) => view.warnings(new, old),
    };
    warnings.into_iter().for_each(|warning| request.warnings.add(warning));
    (spec.canonicalize)(new);
    Ok(())
}

/// Whether a terminating object has no finalizers and no grace period left. In Kubernetes: `ShouldDeleteDuringUpdate`.
fn goes_with_this_update(new: &Object, old: &Object) -> bool {
    new.finalizers().is_empty()
        && old.is_terminating()
        && old.number("metadata.deletionGracePeriodSeconds").unwrap_or(0) == 0
}
