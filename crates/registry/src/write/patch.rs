use coracle_meta::{Object, Status, Verbatim};
use coracle_schema::apply::managed_fields;
use coracle_schema::decode::from_unstructured;
use coracle_schema::patch::{
    Divided, JsonPatch, Touched, document_text, go_text, merge_patch, put_back, strategic_merge_patch,
};
use coracle_schema::{KindSchema, TypeRef, apply::TablePlace};
use serde_json::{Map, Value};

use crate::decode::{self, MadeBy, Objections, Patched};
use crate::versions::KindVersions;
use crate::{Kind, MemoryForm, Patch, PatchKind, Planned, Registry, Request, Written, object_meta};

use super::ownership::{book_write, booking};
use super::update::{Addressee, UpdatedObject};

/// The parsed patch of a PATCH, which is applied to the object of each attempt.
pub(super) enum ParsedPatch {
    Json(JsonPatch),
    Merge(Value),
    Strategic(Value),
    Apply { config: Value, force: bool },
}

/// A parsed patch or its error. The error is returned only if there is an object to patch.
///
/// In Kubernetes: patches are decoded inside the update.
pub(super) struct ReadPatch(Result<(ParsedPatch, Objections), Status>);

impl ReadPatch {
    /// Reads a patch.
    pub(super) fn of(patch: &Patch) -> Self {
        Self(ParsedPatch::parse(patch))
    }

    /// The patch, and the errors of strict decoding.
    pub(super) fn get(&self) -> Result<(&ParsedPatch, &Objections), Status> {
        match &self.0 {
            Ok((change, objections)) => Ok((change, objections)),
            Err(status) => Err(status.clone()),
        }
    }
}

impl ParsedPatch {
    fn parse(patch: &Patch) -> Result<(Self, Objections), Status> {
        let (value, mut objections) = match patch.kind {
            PatchKind::Apply { .. } => decode::yaml(&patch.body)?,
            kind => decode::patch_json(&patch.body, kind)?,
        };
        let change = match patch.kind {
            PatchKind::Json => {
                let (patch, unknown) = JsonPatch::parse(value)?;
                objections.extend(unknown);
                Self::Json(patch)
            }
            PatchKind::Merge => Self::Merge(value),
            PatchKind::Strategic => Self::Strategic(value),
            PatchKind::Apply { force } => Self::Apply { config: value, force },
        };
        Ok((change, objections))
    }

    /// The patched document before decoding. Not for an apply.
    pub(super) fn patched(&self, document: Value, schema: &KindSchema) -> Result<Value, Status> {
        Ok(match self {
            Self::Json(patch) => patch.apply(document)?,
            Self::Merge(patch) => merge_patch(document, patch.clone())?,
            Self::Strategic(patch) => {
                let merged = strategic_merge_patch(document, patch.clone(), TablePlace::root(schema))?;
                from_unstructured(merged, schema).map_err(|why| decode::invalid_patch(&go_text(patch), &why))?
            }
            Self::Apply { .. } => document,
        })
    }

    /// The patch, if it merges its fields into the document.
    fn merges(&self) -> Option<&Value> {
        match self {
            Self::Merge(patch) | Self::Strategic(patch) => Some(patch),
            Self::Json(_) | Self::Apply { .. } => None,
        }
    }

    /// The document to patch, without what the patch cannot change if that needs no decoding: the object is checked, so
    /// it is as it would be decoded.
    fn divided(&self, live: &Object, kind: &Kind) -> Divided {
        let is_known = live.is_checked() && kind.offers().form == MemoryForm::Structs;
        match self.merges().filter(|_| is_known) {
            Some(patch) => Divided::of(live.tree(), patch),
            None => Divided { document: live.to_value(), untouched: Map::new() },
        }
    }

    /// How the foreign objects of a patched document are encoded: a JSON or merge patch works on the encoding of Go
    /// structs, the others on maps.
    fn foreign(&self, live: &Object) -> Verbatim {
        match self {
            Self::Json(_) | Self::Merge(_) => live.verbatim().encoded(),
            Self::Strategic(_) | Self::Apply { .. } => Verbatim::default(),
        }
    }

    /// The decoder for a document that the patch has made.
    pub(super) fn made_by(&self) -> MadeBy {
        match self {
            Self::Strategic(_) => MadeBy::Merge,
            _ => MadeBy::Patch,
        }
    }

    /// The patched `live` document, as messages quote it; for a strategic patch they quote the patch itself.
    pub(super) fn quoted(&self, live: &Object, schema: &KindSchema, root: Option<TypeRef<'_>>) -> String {
        let patched = || self.patched(live.to_value(), schema).unwrap_or_default();
        match self {
            Self::Json(patch) => document_text(root, &patched(), &patch.touched()),
            Self::Merge(patch) => document_text(root, &patched(), &Touched::by_merge(&live.to_value(), patch)),
            Self::Strategic(patch) => go_text(patch),
            Self::Apply { .. } => live.as_value().to_string(),
        }
    }
}

/// A PATCH of an object, or of a part with the object's own kind.
struct Patching<'a> {
    request: &'a Request,
    kind: &'a Kind,
    versions: KindVersions,
    patch: ReadPatch,
    creates: bool,
}

impl UpdatedObject for Patching<'_> {
    fn make(&self, _registry: &Registry, live: &Object) -> Planned<Object> {
        let (request, kind) = (self.request, self.kind);
        // A PUT can create an object of some kinds, but a patch needs an existing object.
        if !self.creates && live.uid().is_empty() {
            return Err(Status::not_found(&request.group_resource(), &request.at.name).into());
        }
        let (change, objections) = self.patch.get()?;
        let mut object = match change {
            ParsedPatch::Apply { config, force } => {
                let applied = self.apply(live, config, *force)?;
                // Errors of the apply are returned before errors of strict decoding.
                objections.clone().report_apply(request)?;
                applied
            }
            change => {
                let Divided { document, untouched } = change.divided(live, kind);
                let value = change.patched(document, kind.schema())?;
                let root = (kind.offers().form == MemoryForm::Structs).then(|| kind.schema().root());
                let quote = || change.quoted(live, kind.schema(), root);
                let patched = Patched { value, quote: &quote, made_by: change.made_by() };
                let mut object = decode::patched(kind, patched, objections.clone(), request)?;
                if let Some(patch) = change.merges().filter(|_| !untouched.is_empty()) {
                    object.edit(|tree| put_back(tree, untouched, patch));
                }
                let mut object = object.with_verbatim(change.foreign(live));
                kind.strategy().drop_nulls(&mut object);
                kind.strategy().set_defaults_at(&mut object, request.now);
                book_write(request, &kind.gvk().api_version(), live, object, &self.versions)?
            }
        };
        if live.uid().is_empty() && !object.uid().is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {}, and no existing object was found",
                object.uid()
            );
            return Err(Status::conflict(&request.group_resource(), &request.at.name, &why).into());
        }
        object_meta::ensure_namespace(&mut object, &request.at.namespace, kind.is_namespaced())?;
        object_meta::check_name(&object, &request.at.name)?;
        Ok(object)
    }

    fn creates(&self) -> bool {
        self.creates
    }
}

impl Patching<'_> {
    fn apply(&self, live: &Object, config: &Value, force: bool) -> Planned<Object> {
        let (request, kind) = (self.request, self.kind);
        let api_version = kind.gvk().api_version();
        let mut empty = Object::default();
        let live = if live.tree().is_empty() {
            empty.set_kind(kind.gvk());
            &empty
        } else {
            live
        };
        let booking = booking(request, &api_version, &self.versions);
        let applied = managed_fields::apply(&booking, live.as_value(), config, force).map_err(Status::from);
        let applied = self.versions.settled(applied)?;
        let mut object = decode::applied(kind, applied)?;
        kind.strategy().set_defaults_at(&mut object, request.now);
        Ok(object)
    }
}

impl Registry {
    /// Patches or applies.
    ///
    /// In Kubernetes: `PatchResource`.
    pub async fn patch(&self, request: &Request, patch: &Patch) -> Result<Written, Status> {
        let kind = self.kind_of(request)?;
        let part = match kind.addressee(request)? {
            Addressee::Part(part) => part,
            Addressee::Projection(projection) => {
                return self.patch_projection(request, &kind, &*projection, patch).await;
            }
        };
        let versions = part.versions(self, &kind);
        let creates = matches!(patch.kind, PatchKind::Apply { .. });
        let intent = Patching { request, kind: &kind, versions, patch: ReadPatch::of(patch), creates };
        self.write(request, &kind, &part, &intent).await
    }
}
