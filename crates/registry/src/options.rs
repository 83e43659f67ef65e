use bytes::Bytes;
use coracle_meta::{FieldError, FieldSelector, GroupVersionKind, LabelSelector, Object, Status};

use crate::BodyKind;

/// The query of a get. In Kubernetes: `metav1.GetOptions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetOptions {
    /// `?resourceVersion=`, unparsed; empty for the newest.
    pub resource_version: String,
}

/// The query of a list, a watch or a deletion of a collection. In Kubernetes: `metav1.ListOptions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// The label selector.
    pub label_selector: LabelSelector,
    /// The field selector, with the names of the served version.
    pub field_selector: FieldSelector,
    /// `?resourceVersion=`, unparsed.
    pub resource_version: String,
    /// `?resourceVersionMatch=`, unparsed; empty if absent.
    pub resource_version_match: String,
    /// `?limit=`; 0 for no limit.
    pub limit: i64,
    /// `?continue=`
    pub continue_token: String,
    /// `?allowWatchBookmarks=`
    pub allow_watch_bookmarks: bool,
    /// `?sendInitialEvents=`; `None` if absent.
    pub send_initial_events: Option<bool>,
    /// `?timeoutSeconds=`; the caller ends the watch, the registry sends a bookmark shortly before.
    pub timeout_seconds: Option<u64>,
}

/// What happens to the dependents of a deleted object. In Kubernetes: `metav1.DeletionPropagation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// The garbage collector deletes them afterwards.
    Background,
    /// The object stays until its blocking dependents are deleted.
    Foreground,
    /// The dependents stay.
    Orphan,
}

impl Propagation {
    /// The value in options.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}

/// The preconditions of a write on the stored object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// The required uid.
    pub uid: Option<String>,
    /// The required resource version.
    pub resource_version: Option<String>,
}

impl Preconditions {
    /// Checks the preconditions against `object`. In Kubernetes: `Preconditions.Check`.
    pub fn check(&self, object: &Object) -> Result<(), String> {
        if let Some(uid) = self.uid.as_ref().filter(|uid| *uid != object.uid()) {
            return Err(format!(
                "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
                object.uid()
            ));
        }
        if let Some(version) = self.resource_version.as_ref().filter(|version| *version != object.resource_version()) {
            return Err(format!(
                "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). The object might have been modified",
                object.resource_version()
            ));
        }
        Ok(())
    }
}

impl Preconditions {
    /// The preconditions as text.
    pub(crate) fn sentence(&self) -> String {
        let uid = self.uid.iter().map(|uid| format!("uid {uid}"));
        let version = self.resource_version.iter().map(|version| format!("resourceVersion {version}"));
        uid.chain(version).collect::<Vec<_>>().join(", ")
    }

    /// Checks the preconditions against the object stored under `key`; the error has the words of the storage.
    ///
    /// In Kubernetes: `storage.Preconditions.Check`.
    pub fn check_stored(&self, key: &str, object: &Object) -> Result<(), String> {
        let fields =
            [("UID", &self.uid, object.uid()), ("ResourceVersion", &self.resource_version, object.resource_version())];
        for (name, wanted, found) in fields {
            if let Some(wanted) = wanted.as_ref().filter(|wanted| *wanted != found) {
                return Err(format!(
                    "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {name} in precondition: {wanted}, {name} in object meta: {found}"
                ));
            }
        }
        Ok(())
    }
}

/// The options of a deletion. In Kubernetes: `metav1.DeleteOptions` (dry run is in the [`Request`](crate::Request)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// The grace period in seconds.
    pub grace_period_seconds: Option<i64>,
    /// What has to hold.
    pub preconditions: Preconditions,
    /// What happens to dependents.
    pub propagation: Option<Propagation>,
    /// The older form of `propagation`; both at once are refused.
    pub orphan_dependents: Option<bool>,
    /// Delete an object that cannot be read any more.
    pub ignore_store_read_error: bool,
}

impl DeleteOptions {
    /// The kind of the document in which clients send them.
    pub fn body() -> BodyKind {
        BodyKind::built_in("", "v1", "DeleteOptions")
    }
}

/// In which language a patch is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// Kubernetes' own, with merge keys and directives.
    Strategic,
    /// A configuration to be applied, and its fields owned (`application/apply-patch+yaml`).
    Apply {
        /// Take fields away from other managers.
        force: bool,
    },
}

impl PatchKind {
    /// The media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Apply { .. } => "application/apply-patch+yaml",
        }
    }
}

/// A patch: its language and its body as it came (an apply's may be YAML).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The language.
    pub kind: PatchKind,
    /// The body.
    pub body: Bytes,
}

/// 422 for options of a verb instead of an object.
pub(crate) fn invalid_options(kind: &str, errors: &[FieldError]) -> Status {
    Status::invalid(&GroupVersionKind::new("meta.k8s.io", "v1", kind), "", errors)
}
