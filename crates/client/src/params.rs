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
    /// Which labels, as `kubectl -l` takes it; empty for all.
    pub labels: String,
    /// Which fields: `metadata.name=web,spec.nodeName=node-1`; empty for all.
    pub fields: String,
    /// At most this many items an answer; 0 for all at once.
    pub limit: u32,
    /// Where the answer before stopped.
    pub continue_token: String,
    /// Which version to list; none for the latest, `0` for any.
    pub resource_version: Option<String>,
    /// What the version means.
    pub version_match: Option<VersionMatch>,
}

impl ListParams {
    /// Objects with these labels, as `kubectl -l` takes it.
    pub fn labels(selector: impl Into<String>) -> Self {
        Self { labels: selector.into(), ..Self::default() }
    }

    /// Objects with these fields.
    pub fn fields(selector: impl Into<String>) -> Self {
        Self { fields: selector.into(), ..Self::default() }
    }
}

/// What the `resourceVersion` of a list means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionMatch {
    /// That one.
    Exact,
    /// That one or a later one.
    NotOlderThan,
}

impl VersionMatch {
    /// The word on the wire.
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
    /// Which labels; empty for all.
    pub labels: String,
    /// Which fields; empty for all.
    pub fields: String,
    /// After which version to begin; none for the latest.
    pub resource_version: Option<String>,
    /// Whether to ask for bookmarks.
    pub bookmarks: bool,
    /// Whether the stream begins with what is there, closed by a bookmark (a streaming list).
    pub initial_events: bool,
    /// After how many seconds the server ends the stream; 0 for its own default.
    pub timeout_seconds: u32,
}

/// How to write. The default is a plain write under the name of the user agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WriteParams {
    /// Whether the server only says what would happen.
    pub dry_run: bool,
    /// Under which name the written fields are kept; empty for the user agent's.
    pub field_manager: String,
    /// What to do about unknown fields: `Ignore`, `Warn`, `Strict`; empty for the server's default.
    pub field_validation: String,
}

/// How to delete. In Kubernetes: `metav1.DeleteOptions`.
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
    /// How long the object may take to stop; none for its own default, 0 for at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<i64>,
    /// What becomes of its dependents; none for the kind's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propagation_policy: Option<Propagation>,
    /// What has to hold for the object to be deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preconditions: Option<Preconditions>,
    /// `["All"]` for a deletion that only says what would happen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dry_run: Vec<String>,
}

impl DeleteParams {
    /// At once, without grace.
    pub fn now() -> Self {
        Self { grace_period_seconds: Some(0), ..Self::default() }
    }

    /// With this treatment of dependents.
    pub fn propagating(policy: Propagation) -> Self {
        Self { propagation_policy: Some(policy), ..Self::default() }
    }

    /// Only if the object is still the one with this uid.
    #[must_use]
    pub fn with_uid(mut self, uid: impl Into<String>) -> Self {
        self.preconditions.get_or_insert_default().uid = Some(uid.into());
        self
    }

    /// Only if the object is still at this version.
    #[must_use]
    pub fn with_resource_version(mut self, version: impl Into<String>) -> Self {
        self.preconditions.get_or_insert_default().resource_version = Some(version.into());
        self
    }
}

/// What has to hold of an object for it to be deleted.
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

/// What becomes of the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Propagation {
    /// They stay.
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
    /// A merge that knows the keys of lists.
    Strategic(Value),
    /// Server-side apply: what the field manager wants the object to be.
    Apply {
        /// The fields it has an opinion on, with `apiVersion` and `kind`.
        object: Value,
        /// Whether fields of other managers are taken over.
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

/// Which log lines of a pod. In Kubernetes: `corev1.PodLogOptions`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogParams {
    /// The container; empty if the pod has only one.
    pub container: String,
    /// Whether the stream goes on with what the container says from here on.
    pub follow: bool,
    /// Whether the container's previous run is meant.
    pub previous: bool,
    /// Only the last lines.
    pub tail_lines: Option<i64>,
    /// Whether each line begins with its time.
    pub timestamps: bool,
}
