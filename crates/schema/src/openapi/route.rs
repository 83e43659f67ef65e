use std::collections::BTreeMap;

use coracle_meta::{GroupVersion, GroupVersionKind};
use serde_json::{Map, Value, json};

use super::operation_id;
use super::parameters::Parameter;

pub(super) const ANY: &[&str] = &["*/*"];
pub(super) const OBJECT: &[&str] = &["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
pub(super) const STREAM: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];
pub(super) const LOG: &[&str] =
    &["text/plain", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
pub(super) const CUSTOM: &[&str] = &["application/json", "application/yaml"];
pub(super) const PATCHES: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];
pub(super) const CUSTOM_PATCHES: &[&str] =
    &["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];
pub(super) const JSON: &[&str] = &["application/json"];
pub(super) const KEYS: &[&str] = &["application/jwk-set+json"];

/// The content of a body or a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Model {
    /// Text.
    Text,
    /// A value of the type with this name.
    Named(String),
}

/// The body of a request.
#[derive(Clone, Debug)]
pub(super) struct RequestBody {
    pub model: Model,
    pub required: bool,
}

/// One method of one path.
///
/// In Kubernetes: a `restful.Route`, from which both versions of the document are built.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub path: String,
    pub method: &'static str,
    pub id: String,
    pub tag: String,
    pub description: String,
    /// The verb and the kind, if the path is that of a resource.
    pub about: Option<(&'static str, GroupVersionKind)>,
    pub consumes: &'static [&'static str],
    pub produces: &'static [&'static str],
    /// The parameters, including those in the path.
    pub parameters: Vec<Parameter>,
    pub body: Option<RequestBody>,
    /// The codes of the response.
    pub codes: &'static [u16],
    pub answer: Model,
}

impl Route {
    /// A path that is not a resource.
    pub(super) fn single(path: &str, word: &str, answer: Model) -> Self {
        let (consumes, produces): (&[&str], &[&str]) = match path {
            "/openid/v1/jwks/" => (&[], KEYS),
            "/.well-known/openid-configuration/" => (&[], JSON),
            "/version/" => (JSON, JSON),
            _ => (OBJECT, OBJECT),
        };
        let named = operation_id::of_path(path, word);
        Self {
            path: path.to_owned(),
            method: "get",
            id: named.id,
            tag: named.tag,
            description: purpose(path).to_owned(),
            about: None,
            consumes,
            produces,
            parameters: Vec::new(),
            body: None,
            codes: &[200],
            answer,
        }
    }

    /// The responses by code: each has the fields of `content` in addition to the description of the code, except 401.
    pub(super) fn responses(&self, content: &Value) -> Value {
        let answers = self.codes.iter().map(|code| {
            let mut answer = content.clone();
            answer["description"] = meaning(*code).into();
            (code.to_string(), answer)
        });
        let refused = ("401".to_owned(), json!({"description": meaning(401)}));
        answers.chain([refused]).collect()
    }

    /// The extensions with the action and the kind of the operation.
    pub(super) fn extensions(&self) -> Map<String, Value> {
        let Some((action, kind)) = &self.about else { return Map::new() };
        let kind = json!({"group": kind.group, "version": kind.version, "kind": kind.kind});
        Map::from_iter([
            ("x-kubernetes-action".to_owned(), (*action).into()),
            ("x-kubernetes-group-version-kind".to_owned(), kind),
        ])
    }
}

/// The description of a path that is not a resource.
fn purpose(path: &str) -> &'static str {
    match path {
        "/openid/v1/jwks/" => {
            "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)"
        }
        "/.well-known/openid-configuration/" => {
            "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'"
        }
        "/version/" => "get the version information for this server",
        "/api/" | "/apis/" => "get available API versions",
        path if path.starts_with("/apis/") && path.matches('/').count() == 3 => "get information of a group",
        _ => "get available resources",
    }
}

/// The description of the code of a response.
fn meaning(code: u16) -> &'static str {
    match code {
        200 => "OK",
        201 => "Created",
        401 => "Unauthorized",
        _ => "Accepted",
    }
}

/// The routes of one path, and their common parameters, which are listed at the path.
pub(super) struct PathRoutes {
    pub shared: Vec<Parameter>,
    pub routes: Vec<Route>,
}

/// Groups routes by path. In Kubernetes: `groupRoutesByPath`, `findCommonParameters`.
pub(super) fn by_path(routes: Vec<Route>) -> BTreeMap<String, PathRoutes> {
    let mut grouped: BTreeMap<String, Vec<Route>> = BTreeMap::new();
    for route in routes {
        grouped.entry(route.path.clone()).or_default().push(route);
    }
    grouped.into_iter().map(|(path, routes)| (path, with_shared(routes))).collect()
}

fn with_shared(mut routes: Vec<Route>) -> PathRoutes {
    let in_all = |parameter: &&Parameter| routes.iter().all(|route| route.parameters.contains(parameter));
    let first = routes.first().into_iter().flat_map(|route| &route.parameters);
    let mut shared: Vec<_> = first.filter(in_all).cloned().collect();
    shared.sort();
    for route in &mut routes {
        route.parameters.retain(|parameter| !shared.contains(parameter));
        route.parameters.sort();
    }
    PathRoutes { shared, routes }
}

/// `/api/v1/`, `/apis/apps/v1/`
pub(super) fn root_of(version: &GroupVersion) -> String {
    match version.group.as_str() {
        "" => format!("/api/{}/", version.version),
        group => format!("/apis/{group}/{}/", version.version),
    }
}
