use std::sync::Arc;

use coracle_meta::{ResourcePath, Status, StatusDetails, reason};
use coracle_registry::{Kind, Kinds, Refusals, Subresource, Verb};
use http::Method;

use crate::answer::respond;
use crate::front::request_info::ResourceRequest;

/// The endpoint of an API path.
pub(crate) struct Endpoint {
    pub(crate) kind: Arc<Kind>,
    pub(crate) action: Action,
}

/// The action of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A verb of the registry.
    Verb(Verb),
    /// A connection to a node or pod.
    Connect,
}

impl Endpoint {
    /// Finds the kind and the action of a request.
    ///
    /// # Errors
    /// The page of an unknown path, 404 for an unknown resource, 405 for an unsupported method.
    pub(crate) fn find(kinds: &Kinds, asked: &ResourceRequest, method: &Method, watch: bool) -> Result<Self, Status> {
        let resource = &asked.at.resource;
        let Some(kind) = kinds.resource(resource) else { return Err(nothing_at(kinds, &resource.group)) };
        let verb = verb_of(method, asked, watch);
        let action = match (kind.offers().refusals, asked.at.subresource.is_empty()) {
            (Refusals::Handler, _) => on_any_path(kind, asked, verb)?,
            (Refusals::Routes, true) => on_objects(kind, asked, verb)?,
            (Refusals::Routes, false) => on_subresource(kind, asked, verb)?,
        };
        Ok(Self { kind: Arc::clone(kind), action })
    }
}

/// The verb of a method on a collection or on an object.
fn verb_of(method: &Method, asked: &ResourceRequest, watch: bool) -> Option<Verb> {
    match (method.as_str(), asked.is_item) {
        ("GET" | "HEAD", _) if asked.watch_in_path => Some(Verb::Watch),
        ("GET" | "HEAD", false) if watch => Some(Verb::Watch),
        ("GET" | "HEAD", false) => Some(Verb::List),
        ("GET" | "HEAD", true) => Some(Verb::Get),
        ("POST", _) => Some(Verb::Create),
        ("PUT", true) => Some(Verb::Update),
        ("PATCH", true) => Some(Verb::Patch),
        ("DELETE", true) => Some(Verb::Delete),
        ("DELETE", false) => Some(Verb::DeleteCollection),
        _ => None,
    }
}

fn on_objects(kind: &Kind, asked: &ResourceRequest, verb: Option<Verb>) -> Result<Action, Status> {
    match (kind.is_namespaced(), is_in_namespace(&asked.at)) {
        (false, true) => return Err(no_such_resource()),
        (true, false) if asked.is_item => return Err(no_such_resource()),
        (true, false) if !matches!(verb, Some(Verb::List | Verb::Watch)) && !is_computed(kind) => {
            return Err(method_not_allowed());
        }
        _ => {}
    }
    match verb {
        Some(Verb::Create) if asked.is_item => Err(method_not_allowed()),
        Some(Verb::Watch) if kind.serves(Verb::List) && !kind.serves(Verb::Watch) => {
            Err(Status::method_not_supported(&kind.gvr().group_resource(), "watch"))
        }
        Some(verb) if kind.serves(verb) => Ok(Action::Verb(verb)),
        _ => Err(method_not_allowed()),
    }
}

/// Whether the path is in a namespace. The path of a Namespace itself is not, although its name is at the same place.
fn is_in_namespace(at: &ResourcePath) -> bool {
    let names_itself = at.resource.resource == "namespaces" && at.name == at.namespace;
    !at.namespace.is_empty() && !names_itself
}

/// Kinds without lists (reviews) are created at one path, in a namespace or not.
fn is_computed(kind: &Kind) -> bool {
    !kind.serves(Verb::List)
}

fn on_subresource(kind: &Kind, asked: &ResourceRequest, verb: Option<Verb>) -> Result<Action, Status> {
    if kind.is_namespaced() != is_in_namespace(&asked.at) {
        return Err(no_such_resource());
    }
    let row = kind.row().subresource(&asked.at.subresource);
    if let Some(Subresource::Connect(connect)) = kind.subresource(&asked.at.subresource) {
        let serves = connect.verbs().is_empty() || verb.is_none_or(|verb| connect.verbs().contains(&verb));
        return if serves { Ok(Action::Connect) } else { Err(method_not_allowed()) };
    }
    let Some(row) = row.filter(|_| asked.rest.is_empty()) else { return Err(no_such_resource()) };
    match verb {
        Some(verb) if row.verbs.iter().any(|own| own == verb.as_str()) => Ok(Action::Verb(verb)),
        _ => Err(method_not_allowed()),
    }
}

/// The action for a kind that one handler serves at all paths. In Kubernetes: `crdHandler.ServeHTTP`, whose refusals
/// differ from those of routes.
fn on_any_path(kind: &Kind, asked: &ResourceRequest, verb: Option<Verb>) -> Result<Action, Status> {
    let is_across = matches!(verb, Some(Verb::List | Verb::Watch));
    match (kind.is_namespaced(), is_in_namespace(&asked.at)) {
        (false, true) => return Err(respond::no_such_page()),
        (true, false) if !is_across => return Err(respond::no_such_page()),
        _ => {}
    }
    let resource = kind.gvr().group_resource();
    let unsupported = || Status::method_not_supported(&resource, verb.map_or("", Verb::as_str));
    if asked.at.subresource.is_empty() {
        return match verb {
            Some(Verb::Create) if asked.is_item => Err(method_not_allowed()),
            Some(verb) if kind.serves(verb) => Ok(Action::Verb(verb)),
            _ => Err(unsupported()),
        };
    }
    let row = kind.row().subresource(&asked.at.subresource).filter(|_| asked.rest.is_empty());
    match (row, verb) {
        (None, _) => Err(Status::not_found(&resource, &asked.at.name)),
        (Some(row), Some(verb)) if row.verbs.iter().any(|own| own == verb.as_str()) => Ok(Action::Verb(verb)),
        _ => Err(unsupported()),
    }
}

/// 404 of a path below a group. In Kubernetes: a built-in group has routes for every version, which return a Status;
/// other groups have no routes.
pub(crate) fn nothing_at(kinds: &Kinds, group: &str) -> Status {
    let has_routes = |kind: &Arc<Kind>| kind.offers().refusals == Refusals::Routes && kind.gvk().group == group;
    if kinds.iter().any(has_routes) { no_such_resource() } else { respond::no_such_page() }
}

/// 404 for an unknown resource of a group version.
pub(crate) fn no_such_resource() -> Status {
    let message = "the server could not find the requested resource";
    Status::failure(404, reason::NOT_FOUND, message).with_details(StatusDetails::default())
}

/// 405 for an unsupported method of a resource.
pub(crate) fn method_not_allowed() -> Status {
    let message = "the server does not allow this method on the requested resource";
    Status::failure(405, reason::METHOD_NOT_ALLOWED, message).with_details(StatusDetails::default())
}
