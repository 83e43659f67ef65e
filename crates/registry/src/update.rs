use std::sync::Arc;

use coracle_meta::{FieldError, GroupVersionKind, Object, ObjectKey, ResourcePath, Status};
use coracle_schema::apply::managed_fields;
use coracle_storage::{Attempt, Draft, Freshness, Stored};

use crate::create::{check_kind, count_generation, with_name, without_owners};
use crate::versions::{KindVersions, all_but};
use crate::{Attributes, Decision, Kind, Operation, Registry, Request, Subresource, View, object_meta};

/// What an update or a patch made.
#[derive(Clone, Debug)]
pub struct Written {
    /// The object now.
    pub object: Stored,
    /// Whether it was not there before (201 instead of 200).
    pub created: bool,
}

/// Which part of an object is written, and so which rules hold.
pub(crate) enum Part {
    Object,
    Status,
    View(Arc<dyn View>),
}

/// How the object is to change. Asked anew for each attempt, with the object as it is then, in the version of the request.
pub(crate) trait Intent: Send + Sync {
    /// The object as wanted, its owners booked. `live` is an object without fields if there is none.
    fn make(&self, registry: &Registry, live: &Object) -> Result<Object, Status>;

    /// The uid that the stored object has to have.
    fn uid(&self) -> Option<&str> {
        None
    }

    /// Whether this creates what is not there, whatever the kind says.
    fn creates(&self) -> bool {
        false
    }
}

/// A PUT.
struct Replace<'a> {
    request: &'a Request,
    kind: &'a Kind,
    versions: KindVersions,
    body: Object,
}

impl Intent for Replace<'_> {
    fn make(&self, registry: &Registry, live: &Object) -> Result<Object, Status> {
        Ok(registry.book(self.request, self.kind, live, self.body.clone(), &self.versions))
    }

    fn uid(&self) -> Option<&str> {
        Some(self.body.uid()).filter(|uid| !uid.is_empty())
    }
}

impl Registry {
    /// Replaces an object, or its part that `request.at.subresource` names.
    ///
    /// In Kubernetes: `UpdateResource` and `Store.Update`.
    pub async fn update(&self, request: &Request, object: Object) -> Result<Written, Status> {
        let kind = self.kind_of(request)?;
        let part = match self.part(request, &kind)? {
            Ok(part) => part,
            Err(projection) => return self.update_projection(request, &kind, &*projection, object).await,
        };
        let mut body = object;
        check_kind(&body, kind.gvk())?;
        object_meta::ensure_namespace(&mut body, &request.at.namespace, kind.is_namespaced())?;
        object_meta::check_name(&body, &request.at.name)?;
        object_meta::deduplicate_owners(&mut body, request, false);
        kind.strategy().set_defaults(&mut body);
        let versions = part.versions(self, &kind);
        let intent = Replace { request, kind: &kind, versions, body };
        self.write(request, &kind, &part, &intent).await
    }

    /// The part that a request names; the inner error is a part with a kind of its own.
    pub(crate) fn part(
        &self,
        request: &Request,
        kind: &Kind,
    ) -> Result<Result<Part, Arc<dyn crate::Projection>>, Status> {
        match request.at.subresource.as_str() {
            "" => Ok(Ok(Part::Object)),
            "status" if kind.has_status() => Ok(Ok(Part::Status)),
            name => match kind.subresource(name) {
                Some(Subresource::View(view)) => Ok(Ok(Part::View(Arc::clone(view)))),
                Some(Subresource::Projection(projection)) => Ok(Err(Arc::clone(projection))),
                _ => Err(crate::registry::not_served()),
            },
        }
    }

    /// Writes until nobody else came between. In Kubernetes: `GuaranteedUpdate` with the function of `Store.Update`.
    pub(crate) async fn write(
        &self,
        request: &Request,
        kind: &Kind,
        part: &Part,
        intent: &dyn Intent,
    ) -> Result<Written, Status> {
        let key =
            ObjectKey::new(if kind.is_namespaced() { &*request.at.namespace } else { "" }, request.at.name.as_str());
        let mut current = self.inner.storage.get(&kind.store, &key, Freshness::Newest).await?;
        loop {
            let attempt = match &current {
                None => self.create_instead(request, kind, part, intent).await,
                Some(stored) => self.attempt(request, kind, part, intent, &key, stored).await,
            };
            match attempt? {
                Outcome::Written(written) => return Ok(written),
                Outcome::Stale(now) => current = now,
            }
        }
    }

    /// One attempt to change what is there.
    async fn attempt(
        &self,
        request: &Request,
        kind: &Kind,
        part: &Part,
        intent: &dyn Intent,
        key: &ObjectKey,
        current: &Stored,
    ) -> Result<Outcome, Status> {
        let existing = current.object();
        check_uid(request, kind, key, intent.uid(), &existing)?;
        let live = served(kind, &existing)?;
        let wanted = intent.make(self, &live)?;
        let mut wanted = self.mutate(request, kind, Operation::Update, wanted, Some(&live)).await?;
        object_meta::deduplicate_owners(&mut wanted, request, true);
        kind.strategy().set_defaults(&mut wanted);
        let mut new = kind.to_hub(wanted)?;
        lock(request, kind, &mut new, &existing)?;
        let strategy = kind.hub();
        let reservation = match part {
            Part::Object => strategy.begin_update(self, request, &mut new, &existing).await?,
            _ => None,
        };
        let outcome = self.attempt_reserved(request, kind, part, key, current, new).await;
        if let Some(reservation) = reservation {
            match &outcome {
                Ok(Outcome::Written(_)) if !request.dry_run => reservation.commit().await,
                _ => reservation.release().await,
            }
        }
        let outcome = outcome?;
        if let Outcome::Written(written) = &outcome
            && !request.dry_run
            && written.object.revision() != current.revision()
        {
            strategy.after(self, request, Some(&written.object.object()), Some(&existing)).await?;
        }
        match outcome {
            Outcome::Written(written) => {
                Ok(Outcome::Written(Written { object: kind.answer(written.object)?, ..written }))
            }
            stale => Ok(stale),
        }
    }

    async fn attempt_reserved(
        &self,
        request: &Request,
        kind: &Kind,
        part: &Part,
        key: &ObjectKey,
        current: &Stored,
        mut new: Object,
    ) -> Result<Outcome, Status> {
        let existing = current.object();
        prepare(request, kind, part, &mut new, &existing)?;
        let mut new = kind.normalize(new)?;
        if same_content(&new, &existing) && managed_fields::differ_in_times_only(existing.as_value(), new.as_value()) {
            new = Object::clone(&existing);
        }
        let before = served(kind, &existing)?;
        let new = Arc::new(self.admit_stored(request, kind, Operation::Update, new, Some(&before)).await?);
        if goes_with_this_update(&new, &existing) && !kind.hub().is_held(&new) {
            return self.delete_by_update(request, kind, key, current, new).await;
        }
        self.store_changed(request, kind, key, current, new).await
    }

    async fn store_changed(
        &self,
        request: &Request,
        kind: &Kind,
        key: &ObjectKey,
        current: &Stored,
        new: Arc<Object>,
    ) -> Result<Outcome, Status> {
        let mut draft = Draft::new(new);
        if request.dry_run || draft.value() == current.value() {
            return Ok(Outcome::written(draft.as_of(current.revision())));
        }
        let storage = &self.inner.storage;
        let ttl = kind.hub().time_to_live(draft.object());
        let expected = current.revision();
        let mut attempt = storage.put(&kind.store, key, expected, &draft, ttl, request.cause).await;
        if let Some(smaller) = attempt.as_ref().err().and_then(|status| without_owners(status, &draft)) {
            draft = smaller;
            attempt = storage.put(&kind.store, key, expected, &draft, ttl, request.cause).await;
        }
        Ok(match attempt? {
            Attempt::Done(stored) => {
                storage.keep(&stored, draft);
                Outcome::written(stored)
            }
            Attempt::Stale(now) => Outcome::Stale(now),
        })
    }

    /// The last finalizer went: so does the object, and the client gets it as it would have been.
    async fn delete_by_update(
        &self,
        request: &Request,
        kind: &Kind,
        key: &ObjectKey,
        current: &Stored,
        new: Arc<Object>,
    ) -> Result<Outcome, Status> {
        let answer = Stored::from_object(&new, current.revision());
        if request.dry_run {
            return Ok(Outcome::written(answer));
        }
        match self.inner.storage.delete(&kind.store, key, current, request.cause).await? {
            Attempt::Done(_) | Attempt::Stale(None) => {
                kind.hub().after(self, request, None, Some(&current.object())).await?;
                Ok(Outcome::written(answer))
            }
            Attempt::Stale(now) => Ok(Outcome::Stale(now)),
        }
    }

    /// Creates what an update or an apply did not find.
    async fn create_instead(
        &self,
        request: &Request,
        kind: &Kind,
        part: &Part,
        intent: &dyn Intent,
    ) -> Result<Outcome, Status> {
        let by_kind = kind.row().has(coracle_schema::Trait::CreateOnUpdate);
        if !matches!(part, Part::Object) || !(by_kind || intent.creates()) {
            return Err(Status::not_found(&request.group_resource(), &request.at.name));
        }
        if let Some(uid) = intent.uid() {
            let found = precondition_failed(kind, &ObjectKey::new(&*request.at.namespace, &*request.at.name), uid, "");
            return Err(Status::conflict(&request.group_resource(), &request.at.name, &found));
        }
        let request = &with_name(request, &request.at.name);
        let wanted = intent.make(self, &Object::default())?;
        let mut wanted = self.mutate(request, kind, Operation::Create, wanted, None).await?;
        object_meta::deduplicate_owners(&mut wanted, request, true);
        kind.strategy().set_defaults(&mut wanted);
        self.authorize_create(request).await?;
        match self.insert(request, kind, kind.to_hub(wanted)?).await {
            Ok(stored) => Ok(Outcome::Written(Written { object: kind.answer(stored)?, created: true })),
            Err(status) if status.is_already_exists() && !request.dry_run => {
                let key = ObjectKey::new(request.at.namespace.as_str(), request.at.name.as_str());
                let now = self.inner.storage.get(&kind.store, &key, Freshness::Newest).await?;
                Ok(Outcome::Stale(now))
            }
            Err(status) => Err(status),
        }
    }

    /// Who may update may not therefore create.
    async fn authorize_create(&self, request: &Request) -> Result<(), Status> {
        let at = ResourcePath { subresource: String::new(), ..ResourcePath::clone(&request.at) };
        let attributes = Attributes::of_resource(&request.user, "create", at);
        match self.authorize(&attributes).await? {
            Decision::Allow(_) => Ok(()),
            Decision::Deny(why) | Decision::NoOpinion(why) => Err(crate::authorizer::forbidden(&attributes, &why)),
        }
    }
}

pub(crate) enum Outcome {
    Written(Written),
    Stale(Option<Stored>),
}

impl Outcome {
    fn written(object: Stored) -> Self {
        Self::Written(Written { object, created: false })
    }
}

impl Part {
    /// The versions of the kind for the book-keeping of a write through this part.
    pub(crate) fn versions(&self, registry: &Registry, kind: &Kind) -> KindVersions {
        let filter = match self {
            Self::Object => all_but(&kind.strategy().reset_fields()),
            Self::Status => all_but(&kind.strategy().reset_status_fields()),
            Self::View(view) => match view.only_fields() {
                Some(only) => coracle_schema::apply::Filter::Only(only),
                None => all_but(&view.reset_fields()),
            },
        };
        KindVersions::of(&registry.kinds(), kind, filter)
    }
}

/// An object of the stored form as clients of the served version see it.
fn served(kind: &Kind, object: &Arc<Object>) -> Result<Arc<Object>, Status> {
    if kind.is_converted() { kind.from_hub(Object::clone(object)).map(Arc::new) } else { Ok(Arc::clone(object)) }
}

/// Whether two versions of an object differ in their metadata at the most.
fn same_content(new: &Object, old: &Object) -> bool {
    let same_bytes = new.verbatim() == old.verbatim();
    let (new, old) = (new.tree(), old.tree());
    same_bytes
        && new.len() == old.len()
        && new.iter().all(|(name, value)| name == "metadata" || old.get(name) == Some(value))
}

/// Compares the resource version that the client saw with what is there. In Kubernetes: the head of `Store.Update`.
fn lock(request: &Request, kind: &Kind, new: &mut Object, existing: &Object) -> Result<(), Status> {
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
        return Err(Status::modified(&request.group_resource(), &request.at.name));
    }
    Ok(())
}

/// Prepares and validates a change. In Kubernetes: `BeforeUpdate`.
fn prepare(request: &Request, kind: &Kind, part: &Part, new: &mut Object, old: &Object) -> Result<(), Status> {
    let strategy = kind.hub();
    object_meta::ensure_namespace(new, &request.at.namespace, kind.is_namespaced())?;
    keep(new, old, "generation");
    match part {
        Part::Object => {
            if kind.has_status() {
                match old.tree().get("status") {
                    Some(status) => new.set(&["status"], status.clone()),
                    None => drop(new.remove(&["status"])),
                }
            }
            strategy.prepare_update(new, old, request);
        }
        Part::Status => strategy.prepare_status_update(new, old, request),
        Part::View(view) => view.prepare_update(new, old, request),
    }
    // Who reports a status has asked for nothing new, even where the kind counts its annotations.
    if !matches!(part, Part::Status) {
        count_generation(strategy.generation(), new, old);
    }
    if new.uid().is_empty() {
        keep(new, old, "uid");
    }
    keep(new, old, "creationTimestamp");
    new.remove(&["metadata", "selfLink"]);
    if old.is_terminating() {
        keep(new, old, "deletionTimestamp");
    }
    if new.field(&["metadata", "deletionGracePeriodSeconds"]).is_none() {
        keep(new, old, "deletionGracePeriodSeconds");
    }
    let mut errors = object_meta::validate_update(new, old, kind.is_namespaced());
    errors.extend(match part {
        Part::Object => strategy.validate_update(new, old),
        Part::Status => strategy.validate_status_update(new, old),
        Part::View(view) => view.validate_update(new, old),
    });
    if !errors.is_empty() {
        return Err(Status::invalid(&strategy.row().kind, new.name(), &errors));
    }
    let warnings = match part {
        Part::Object => strategy.warnings(new, Some(old)),
        Part::Status => Vec::new(),
        Part::View(view) => view.warnings(new, old),
    };
    warnings.into_iter().for_each(|warning| request.warnings.add(warning));
    strategy.canonicalize(new);
    Ok(())
}

/// Restores a field of the metadata.
fn keep(new: &mut Object, old: &Object, field: &str) {
    match old.field(&["metadata", field]) {
        Some(value) => new.set(&["metadata", field], value.clone()),
        None => drop(new.remove(&["metadata", field])),
    }
}

/// Whether an object whose deletion has begun has nothing left to wait for. In Kubernetes: `ShouldDeleteDuringUpdate`.
fn goes_with_this_update(new: &Object, old: &Object) -> bool {
    new.finalizers().is_empty()
        && old.is_terminating()
        && old.number(&["metadata", "deletionGracePeriodSeconds"]).unwrap_or(0) == 0
}

fn check_uid(
    request: &Request,
    kind: &Kind,
    key: &ObjectKey,
    wanted: Option<&str>,
    existing: &Object,
) -> Result<(), Status> {
    match wanted {
        Some(uid) if uid != existing.uid() => {
            let why = precondition_failed(kind, key, uid, existing.uid());
            Err(Status::conflict(&request.group_resource(), &key.name, &why))
        }
        _ => Ok(()),
    }
}

/// In Kubernetes: `storage.NewInvalidObjError`.
fn precondition_failed(kind: &Kind, key: &ObjectKey, wanted: &str, found: &str) -> String {
    let key = String::from_utf8_lossy(&kind.store.key(key)).into_owned();
    format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    )
}

impl Registry {
    /// Reads an object, lets `change` change it, and writes it, again and again until nobody else came between: what
    /// hooks and actions of one kind do to objects of another. No rules of the kind and no admission are asked.
    pub async fn modify(
        &self,
        request: &Request,
        change: impl Fn(&mut Object) -> Result<(), Status> + Send + Sync,
    ) -> Result<Stored, Status> {
        let kind = self.kind_of(request)?;
        let key =
            ObjectKey::new(if kind.is_namespaced() { &*request.at.namespace } else { "" }, request.at.name.as_str());
        let mut current = self.inner.storage.get(&kind.store, &key, Freshness::Newest).await?;
        loop {
            let Some(stored) = current else {
                return Err(Status::not_found(&request.group_resource(), &request.at.name));
            };
            let existing = stored.object();
            let mut new = Object::clone(&existing);
            change(&mut new)?;
            match self.store_changed(request, &kind, &key, &stored, Arc::new(new)).await? {
                Outcome::Written(written) => return kind.answer(written.object),
                Outcome::Stale(now) => current = now,
            }
        }
    }
}
