use std::sync::Arc;

use coracle_meta::{GroupVersionResource, ResourcePath};
use coracle_registry::{Attributes, User};
use http::Method;

use crate::paths::{PREFIX, parts};

/// The group of the resources that stand for what a control endpoint does.
const GROUP: &str = "coracle.dev";
const VERSION: &str = "v1";

/// What a request for a path of the control endpoint is authorized as: a verb of a resource in the group `coracle.dev`,
/// which a ClusterRole can name. `POST /coracle/v1/reset` is `reset` of `clusters`, `GET /coracle/v1/faults/a` is `get`
/// of `faults` with the name `a`.
pub fn coracle_dev(user: &Arc<User>, method: &Method, path: &str) -> Attributes {
    let (first, name) = parts(path.strip_prefix(PREFIX).unwrap_or_default());
    let (resource, verb, name) = match first {
        "clock" if name == "advance" => ("clocks", "advance", ""),
        "clock" => ("clocks", "get", ""),
        "settle" | "reset" | "check" => ("clusters", first, ""),
        "events" | "why" | "report" => ("events", "get", ""),
        "snapshots" | "forks" | "faults" => (first, verb(method, name), name),
        _ => ("clusters", "get", ""),
    };
    let mut at = ResourcePath::new(GroupVersionResource::new(GROUP, VERSION, resource));
    name.clone_into(&mut at.name);
    Attributes::of_resource(user, verb, at)
}

fn verb(method: &Method, name: &str) -> &'static str {
    match *method {
        Method::POST | Method::PUT => "create",
        Method::DELETE if name.is_empty() => "deletecollection",
        Method::DELETE => "delete",
        _ if name.is_empty() => "list",
        _ => "get",
    }
}

#[cfg(test)]
mod tests {
    use coracle_registry::Target;

    use super::*;

    fn asked(method: &Method, path: &str) -> (String, String, String) {
        let attributes = coracle_dev(&Arc::default(), method, path);
        let Target::Resource(at) = &attributes.target else { panic!("{path} is a resource") };
        assert_eq!(at.resource.group, GROUP);
        (attributes.verb.clone(), at.resource.resource.clone(), at.name.clone())
    }

    #[test]
    fn each_path_is_a_verb_of_a_resource() {
        let of = |method, path| {
            let (verb, resource, name) = asked(&method, path);
            format!("{verb} {resource} {name}").trim_end().to_owned()
        };
        assert_eq!(of(Method::POST, "/coracle/v1/clock/advance"), "advance clocks");
        assert_eq!(of(Method::GET, "/coracle/v1/clock"), "get clocks");
        assert_eq!(of(Method::POST, "/coracle/v1/reset"), "reset clusters");
        assert_eq!(of(Method::PUT, "/coracle/v1/snapshots/a"), "create snapshots a");
        assert_eq!(of(Method::GET, "/coracle/v1/faults"), "list faults");
        assert_eq!(of(Method::DELETE, "/coracle/v1/faults"), "deletecollection faults");
        assert_eq!(of(Method::DELETE, "/coracle/v1/faults/slow"), "delete faults slow");
        assert_eq!(of(Method::GET, "/coracle/v1"), "get clusters");
        assert_eq!(of(Method::GET, "/coracle/v1/unknown"), "get clusters", "an unknown path needs a right, too");
    }
}
