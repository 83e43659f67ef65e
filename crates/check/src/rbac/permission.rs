use std::fmt;

use coracle_cluster::requested_resource;
use http::{Method, Uri};

/// What a request needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Permission {
    /// The API group; empty for the core group.
    pub(crate) group: String,
    /// The plural of the resource, with `/SUBRESOURCE` if it has one.
    pub(crate) resource: String,
    /// The verb.
    pub(crate) verb: String,
    /// The namespace; empty for all namespaces, and for objects without one.
    pub(crate) namespace: String,
}

impl Permission {
    /// What a request needs; `None` if it is not about a resource.
    pub(crate) fn of(method: &Method, uri: &Uri) -> Option<Self> {
        let (verb, at) = requested_resource(method, uri)?;
        let resource = match at.subresource.as_str() {
            "" => at.resource.resource.clone(),
            subresource => format!("{}/{subresource}", at.resource.resource),
        };
        Some(Self { group: at.resource.group.clone(), resource, verb, namespace: at.namespace.clone() })
    }
}

/// `list configmaps`, or `update foos.example.com/status`.
impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, qualified(&self.group, &self.resource))
    }
}

/// A resource with its group, as kubectl names it: `foos.example.com/status`.
pub(super) fn qualified(group: &str, resource: &str) -> String {
    if group.is_empty() {
        return resource.to_owned();
    }
    match resource.split_once('/') {
        Some((plural, subresource)) => format!("{plural}.{group}/{subresource}"),
        None => format!("{resource}.{group}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(method: Method, uri: &str) -> Option<String> {
        Permission::of(&method, &uri.parse().unwrap()).map(|permission| permission.to_string())
    }

    #[test]
    fn a_request_needs_a_verb_on_a_resource() {
        assert_eq!(of(Method::GET, "/api/v1/namespaces/a/pods?watch=true").as_deref(), Some("watch pods"));
        let status = of(Method::PUT, "/apis/example.com/v1/namespaces/a/foos/b/status");
        assert_eq!(status.as_deref(), Some("update foos.example.com/status"));
        assert_eq!(of(Method::GET, "/apis"), None);
    }
}
