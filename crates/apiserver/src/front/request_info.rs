use std::sync::Arc;

use coracle_meta::{GroupVersionResource, ResourcePath};

use crate::query::{Plus, Query, percent_decode};

/// The meaning of a request, from only its method and path.
///
/// In Kubernetes: `apiserver/pkg/endpoints/request.RequestInfo`. The resource need not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestInfo {
    /// The requested path, decoded.
    pub(crate) path: String,
    /// The verb for authorization: `get`, `list`, `watch`, `create`, …; for a non-resource path the lower-case method.
    pub(crate) verb: String,
    /// The resource, if the path names one.
    pub(crate) resource: Option<ResourceRequest>,
}

/// A request for a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourceRequest {
    /// The path. For authorization, a list that selects one name has this name, and a Namespace is in itself.
    pub(crate) at: Arc<ResourcePath>,
    /// The steps after the subresource.
    pub(crate) rest: Vec<String>,
    /// Whether the verb was part of the path (`/api/v1/watch/pods`): the legacy form of a watch.
    pub(crate) watch_in_path: bool,
    /// Whether the path itself has a name, rather than the field selector.
    pub(crate) is_item: bool,
}

/// Why a path that looks like a resource path is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unable to determine kind and namespace from url, {0}")]
pub(crate) struct BadPath(String);

/// The subresources of Namespaces, which look like resources in a namespace.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

/// The verb and the path of a request for a resource, from its method and URI; `None` for other paths.
pub fn requested_resource(method: &http::Method, uri: &http::Uri) -> Option<(String, Arc<ResourcePath>)> {
    let path = percent_decode(uri.path(), Plus::IsItself);
    let info = RequestInfo::parse(method, &path, &Query::parse(uri.query().unwrap_or(""))).ok()?;
    Some((info.verb, info.resource?.at))
}

impl RequestInfo {
    /// Reads a request line. A path outside the API is not an error: it has no resource.
    pub(crate) fn parse(method: &http::Method, path: &str, query: &Query) -> Result<Self, BadPath> {
        let mut info = Self { path: path.to_owned(), verb: method.as_str().to_ascii_lowercase(), resource: None };
        let steps: Vec<&str> = match path.trim_matches('/') {
            "" => Vec::new(),
            trimmed => trimmed.split('/').collect(),
        };
        let (group, version, mut steps) = match steps.as_slice() {
            ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
            ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
            _ => return Ok(info),
        };
        let mut watch_in_path = false;
        if let ["watch" | "proxy", rest @ ..] = steps {
            if rest.is_empty() {
                return Err(BadPath(path.to_owned()));
            }
            info.verb = steps[0].to_owned();
            watch_in_path = steps[0] == "watch";
            steps = rest;
        } else {
            info.verb = verb_of(method).to_owned();
        }

        let mut at = ResourcePath::default();
        if let ["namespaces", namespace, rest @ ..] = steps {
            at.namespace = (*namespace).to_owned();
            match rest {
                [first, ..] if !NAMESPACE_SUBRESOURCES.contains(first) => steps = rest,
                _ => {}
            }
        }
        let step = |place: usize| steps.get(place).copied().unwrap_or_default();
        at.resource = GroupVersionResource::new(group, version, step(0));
        at.name = step(1).to_owned();
        if info.verb != "proxy" {
            at.subresource = step(2).to_owned();
        }
        let rest = steps.iter().skip(3).map(|step| (*step).to_owned()).collect();

        let is_item = !at.name.is_empty();
        if !is_item && info.verb == "get" {
            info.verb = if query.is_watch() { "watch" } else { "list" }.to_owned();
            at.name = query.selected_name().unwrap_or_default();
        }
        if !is_item && info.verb == "delete" {
            info.verb = "deletecollection".to_owned();
        }
        info.resource = Some(ResourceRequest { at: Arc::new(at), rest, watch_in_path, is_item });
        Ok(info)
    }
}

fn verb_of(method: &http::Method) -> &'static str {
    match method.as_str() {
        "POST" => "create",
        "GET" | "HEAD" => "get",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;
    use proptest::prelude::*;

    fn parse(method: Method, target: &str) -> RequestInfo {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        RequestInfo::parse(&method, path, &Query::parse(query)).unwrap()
    }

    fn line(method: Method, target: &str) -> String {
        let info = parse(method, target);
        match info.resource {
            None => info.verb,
            Some(ResourceRequest { at, .. }) => {
                let GroupVersionResource { group, version, resource } = &at.resource;
                let parts = [&info.verb, group, version, &at.namespace, resource, &at.subresource, &at.name];
                parts.map(String::as_str).join("|")
            }
        }
    }

    #[test]
    fn paths_are_read_as_kubernetes_reads_them() {
        for (method, target, expected) in [
            (Method::GET, "/api/v1/namespaces", "list||v1||namespaces||"),
            (Method::GET, "/api/v1/namespaces/other", "get||v1|other|namespaces||other"),
            (Method::PUT, "/api/v1/namespaces/other/finalize", "update||v1|other|namespaces|finalize|other"),
            (Method::GET, "/api/v1/namespaces/other/pods", "list||v1|other|pods||"),
            (Method::HEAD, "/api/v1/namespaces/other/pods/foo", "get||v1|other|pods||foo"),
            (Method::GET, "/api/v1/pods", "list||v1||pods||"),
            (Method::GET, "/api/v1/namespaces/other/pods/foo/status", "get||v1|other|pods|status|foo"),
            (Method::GET, "/api/v1/watch/namespaces/other/pods", "watch||v1|other|pods||"),
            (Method::GET, "/api/v1/watch/pods", "watch||v1||pods||"),
            (Method::GET, "/api/v1/pods?watch=1", "watch||v1||pods||"),
            (Method::GET, "/api/v1/pods?watch=false", "list||v1||pods||"),
            (Method::GET, "/api/v1/pods?watch=yes-please", "watch||v1||pods||"),
            (Method::GET, "/api/v1/pods?fieldSelector=metadata.name%3Dx", "list||v1||pods||x"),
            (Method::DELETE, "/apis/apps/v1/namespaces/a/deployments", "deletecollection|apps|v1|a|deployments||"),
            (Method::POST, "/apis/apps/v1/namespaces/a/deployments", "create|apps|v1|a|deployments||"),
            (Method::GET, "/apis/apps/v1", "get"),
            (Method::GET, "/apis/apps", "get"),
            (Method::POST, "/healthz", "post"),
            (Method::GET, "/", "get"),
        ] {
            assert_eq!(line(method, target), expected, "{target}");
        }
    }

    #[test]
    fn a_verb_without_a_resource_is_refused() {
        let query = Query::default();
        assert!(RequestInfo::parse(&Method::GET, "/api/v1/watch", &query).is_err());
        assert_eq!(parse(Method::GET, "/api/v1/watch/pods").resource.unwrap().at.resource.resource, "pods");
    }

    proptest! {
        #[test]
        fn no_path_panics(path in "(/(api|apis|watch|namespaces|v1|[a-z%./]{0,4})){0,8}", query in ".{0,30}") {
            let _ = RequestInfo::parse(&Method::GET, &path, &Query::parse(&query));
        }
    }
}
