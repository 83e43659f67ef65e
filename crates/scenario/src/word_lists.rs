/// The version of the format of files.
pub const API_VERSION: &str = "coracle.dev/v1alpha1";

/// The verbs of requests, as for authorization.
pub(crate) const REQUEST_VERBS: &[&str] =
    &["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

/// The verbs of requests that are counted.
pub(crate) const WRITE_VERBS: &[&str] = &["create", "update", "patch", "delete"];

/// The moments of a request.
pub(crate) const MOMENTS: [&str; 3] = ["sent", "landed", "answered"];

/// What may become of the dependents of a deleted object.
pub(crate) const PROPAGATION_POLICIES: &[&str] = &["Background", "Foreground", "Orphan"];
