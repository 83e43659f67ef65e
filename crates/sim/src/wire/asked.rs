use std::fmt;
use std::sync::Arc;

use coracle_cluster::{Body, Requester, RequesterKind, User, requested_resource};
use coracle_meta::ResourcePath;
use http::Request;
use http::header::USER_AGENT;

/// A request as the wire sees it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The component or user that sends it, and which start of the component.
    pub requester: Requester,
    /// The user name; empty for other processes whose credentials are not valid.
    pub user: String,
    /// The first product of the user agent, without its version: `my-operator` of `my-operator/v0.1 (linux/amd64)`.
    pub agent: String,
    /// The verb for authorization; for a path outside the API's resources, the method in lower case.
    pub verb: String,
    /// The resource and the object; `None` for other paths. A create has its name in the body.
    pub at: Option<Arc<ResourcePath>>,
    /// Of a create, the name or the `generateName` in its body, if a rule has turns and the body is JSON, YAML or protobuf.
    pub created: String,
    /// Whether a write is carried out only at the resource version in its body. It is known for JSON, YAML and protobuf,
    /// if a rule lets writes conflict.
    pub is_conditional: bool,
    /// Whether a read requires the newest state, because it has no resource version.
    pub is_consistent: bool,
    /// The revision after which a watch begins; `None` if it begins with the objects that exist.
    pub since: Option<i64>,
}

impl Asked {
    /// Reads the head of a request.
    pub(super) fn of(requester: &Requester, request: &Request<Body>) -> Self {
        let (verb, at) = match requested_resource(request.method(), request.uri()) {
            Some((verb, at)) => (verb, Some(at)),
            None => (request.method().as_str().to_ascii_lowercase(), None),
        };
        let agent = request.headers().get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or("");
        let parameters = request.uri().query().unwrap_or("").split('&').filter_map(|pair| pair.split_once('='));
        let parameter =
            |wanted: &str| parameters.clone().find(|(name, _)| *name == wanted).map_or("", |(_, value)| value);
        let (version, next) = (parameter("resourceVersion"), parameter("continue"));
        let begins_with_all = parameter("sendInitialEvents") == "true";
        Self {
            requester: requester.clone(),
            user: request.extensions().get::<User>().map(|user| user.name.clone()).unwrap_or_default(),
            agent: agent.split(['/', ' ']).next().unwrap_or("").to_owned(),
            is_consistent: matches!(verb.as_str(), "get" | "list") && version.is_empty() && next.is_empty(),
            since: version.parse().ok().filter(|revision| *revision > 0 && verb == "watch" && !begins_with_all),
            verb,
            at,
            created: String::new(),
            is_conditional: false,
        }
    }

    /// The name of the object, as far as it is known.
    pub fn name(&self) -> &str {
        match self.at.as_deref() {
            Some(at) if !at.name.is_empty() => &at.name,
            _ => &self.created,
        }
    }

    /// Whether it opens a watch.
    pub fn is_watch(&self) -> bool {
        self.verb == "watch"
    }

    /// Whether it writes an object that exists.
    pub fn is_change(&self) -> bool {
        matches!(self.verb.as_str(), "update" | "patch" | "delete")
    }

    /// Whether it reads objects.
    pub fn is_read(&self) -> bool {
        self.at.is_some() && matches!(self.verb.as_str(), "get" | "list" | "watch")
    }
}

/// The request in one line: `create pods/binding default/web-1 by scheduler`. Of another process, the program and the
/// user: `by my-operator as kubernetes-admin`.
impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.verb)?;
        if let Some(at) = self.at.as_deref() {
            let slash = |text: &str| if text.is_empty() { String::new() } else { format!("/{text}") };
            write!(f, " {}{}", at.resource.resource, slash(&at.subresource))?;
            let object = [at.namespace.as_str(), self.name()].into_iter().filter(|part| !part.is_empty());
            let object = object.collect::<Vec<_>>().join("/");
            if !object.is_empty() {
                write!(f, " {object}")?;
            }
        }
        match (self.requester.kind, self.agent.as_str()) {
            (RequesterKind::Connections, "") => write!(f, " by {}", self.user),
            (RequesterKind::Connections, agent) => write!(f, " by {agent} as {}", self.user),
            (RequesterKind::Component | RequesterKind::User, _) => write!(f, " by {}", self.requester.name),
        }
    }
}
