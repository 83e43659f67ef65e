use std::collections::BTreeMap;

/// A user. In Kubernetes: `user.Info` in apiserver `pkg/authentication/user`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name: `admin`, `system:serviceaccount:default:default`, `system:node:node-1`.
    pub name: String,
    /// The unique id; empty if the authenticator has none.
    pub uid: String,
    /// The groups.
    pub groups: Vec<String>,
    /// Extra attributes from the authenticator.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user by name, in these groups.
    pub fn new<S: Into<String>>(name: impl Into<String>, groups: impl IntoIterator<Item = S>) -> Self {
        Self { name: name.into(), groups: groups.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// The API server itself: a member of `system:masters`, which may do everything.
    pub fn system() -> Self {
        Self::new("system:apiserver", ["system:masters"])
    }

    /// Whether the user is in `group`.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }
}
