use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What to list. In Kubernetes: `metav1.ListOptions`.
///
/// ```
/// use coracle_client::ListParams;
///
/// let web = ListParams { limit: 500, ..ListParams::labels("app=web,tier!=test") };
/// assert_eq!((web.labels.as_str(), web.fields.as_str()), ("app=web,tier!=test", ""));
/// assert_eq!(ListParams::fields("spec.nodeName=node-1").limit, 0, "all at once");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListParams {
    /// The label selector, as for `kubectl -l`; empty for all.
    pub labels: String,
    /// The field selector: `metadata.name=web,spec.nodeName=node-1`; empty for all.
    pub fields: String,
    /// The maximum number of items per response; 0 for all at once.
    pub limit: u32,
    /// The token of the previous page.
    pub continue_token: String,
    /// The version to list; `None` for the latest, `0` for any.
    pub resource_version: Option<String>,
    /// How the version is matched.
    pub version_match: Option<VersionMatch>,
}

impl ListParams {
    /// Objects with these labels, as for `kubectl -l`.
    pub fn labels(selector: impl Into<String>) -> Self {
        Self { labels: selector.into(), ..Self::default() }
    }

    /// Objects with these fields.
    pub fn fields(selector: impl Into<String>) -> Self {
        Self { fields: selector.into(), ..Self::default() }
    }
}

/// How the `resourceVersion` of a list is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionMatch {
    /// Exactly that version.
    Exact,
    /// That version or a later one.
    NotOlderThan,
}

impl VersionMatch {
    /// The value in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "Exact",
            Self::NotOlderThan => "NotOlderThan",
        }
    }
}

/// What to watch. In Kubernetes: `metav1.ListOptions` with `watch`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchParams {
    /// The label selector; empty for all.
    pub labels: String,
    /// The field selector; empty for all.
    pub fields: String,
    /// The version after which the stream starts; `None` for the latest.
    pub resource_version: Option<String>,
    /// Whether to request bookmarks.
    pub bookmarks: bool,
    /// Whether the stream starts with all existing objects, followed by a bookmark (a streaming list).
    pub initial_events: bool,
    /// After how many seconds the server ends the stream; 0 for its default.
    pub timeout_seconds: u32,
}

/// Options of a write. The default is a plain write with the user agent as field manager.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WriteParams {
    /// Whether the write is a dry run.
    pub dry_run: bool,
    /// The field manager; empty for the user agent's name.
    pub field_manager: String,
    /// How unknown fields are handled: `Ignore`, `Warn`, `Strict`; empty for the server's default.
    pub field_validation: String,
}

/// Options of a delete. In Kubernetes: `metav1.DeleteOptions`.
///
/// ```
/// use coracle_client::{DeleteParams, Propagation};
///
/// let this_one_only = DeleteParams::propagating(Propagation::Foreground).with_uid("4711");
/// let body = serde_json::to_value(this_one_only).unwrap();
/// assert_eq!(body["propagationPolicy"], "Foreground");
/// assert_eq!(body["preconditions"]["uid"], "4711");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeleteParams {
    /// The grace period; `None` for the object's own, 0 for immediate deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<i64>,
    /// How dependents are handled; `None` for the kind's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propagation_policy: Option<Propagation>,
    /// Conditions for the deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preconditions: Option<Preconditions>,
    /// `["All"]` for a dry run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dry_run: Vec<String>,
}

impl DeleteParams {
    /// Immediate deletion, with a grace period of zero.
    pub fn now() -> Self {
        Self { grace_period_seconds: Some(0), ..Self::default() }
    }

    /// With this propagation policy.
    pub fn propagating(policy: Propagation) -> Self {
        Self { propagation_policy: Some(policy), ..Self::default() }
    }

    /// Only if the object has this uid.
    #[must_use]
    pub fn with_uid(mut self, uid: impl Into<String>) -> Self {
        self.preconditions.get_or_insert_default().uid = Some(uid.into());
        self
    }

    /// Only if the object has this version.
    #[must_use]
    pub fn with_resource_version(mut self, version: impl Into<String>) -> Self {
        self.preconditions.get_or_insert_default().resource_version = Some(version.into());
        self
    }
}

/// Conditions on an object for its deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preconditions {
    /// Its uid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
}

/// How the dependents of a deleted object are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Propagation {
    /// They become orphans.
    Orphan,
    /// The garbage collector deletes them afterwards.
    Background,
    /// The garbage collector deletes them first.
    Foreground,
}

/// A change to an object.
///
/// ```
/// # coracle::run_virtual(1, async |cluster| {
/// use coracle::api::core_v1::ConfigMap;
/// use coracle::meta::ObjectKey;
/// use coracle::runtime::{Api, Patch, WriteParams};
/// use serde_json::json;
///
/// let maps = Api::<ConfigMap>::of(&cluster.api_client());
/// let key = ObjectKey::new("default", "a");
/// let object = |value: &str| {
///     json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"n": value}})
/// };
/// let by = |manager: &str| WriteParams { field_manager: manager.to_owned(), ..WriteParams::default() };
/// let one = maps.clone().writing(by("one"));
/// one.patch(&key, &Patch::Apply { object: object("1"), force: false }).await.unwrap();
/// let other = maps.writing(by("other"));
/// assert!(other.patch(&key, &Patch::Apply { object: object("2"), force: false }).await.unwrap_err().is_conflict());
/// assert_eq!(other.patch(&key, &Patch::Apply { object: object("2"), force: true }).await.unwrap().data["n"], "2");
/// # }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Patch {
    /// RFC 6902: a list of operations.
    Json(Value),
    /// RFC 7386: the fields to set, null to remove one.
    Merge(Value),
    /// A strategic merge patch, which merges lists by key.
    Strategic(Value),
    /// Server-side apply: the state that the field manager wants.
    Apply {
        /// The fields that the manager owns, with `apiVersion` and `kind`.
        object: Value,
        /// Whether conflicts with other managers are overridden.
        force: bool,
    },
}

impl Patch {
    /// The media type of the body.
    pub fn content_type(&self) -> &'static str {
        match self {
            Self::Json(_) => "application/json-patch+json",
            Self::Merge(_) => "application/merge-patch+json",
            Self::Strategic(_) => "application/strategic-merge-patch+json",
            Self::Apply { .. } => "application/apply-patch+yaml",
        }
    }

    /// The body.
    pub fn body(&self) -> &Value {
        match self {
            Self::Json(body) | Self::Merge(body) | Self::Strategic(body) | Self::Apply { object: body, .. } => body,
        }
    }
}

/// Options of a pod's log. In Kubernetes: `corev1.PodLogOptions`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogParams {
    /// The container; empty if the pod has only one.
    pub container: String,
    /// Whether the stream continues with new output.
    pub follow: bool,
    /// Whether to read the container's previous instance.
    pub previous: bool,
    /// Only the last lines.
    pub tail_lines: Option<i64>,
    /// Whether each line starts with its time.
    pub timestamps: bool,
}
