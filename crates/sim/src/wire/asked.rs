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
    /// Of a create, the name or the `generateName` in its body, if a rule has turns and the body is JSON or protobuf.
    pub created: String,
    /// Whether a read requires the newest state, because it has no resource version.
    pub is_consistent: bool,
}

impl Asked {
    /// Reads the head of a request.
    pub(super) fn of(requester: &Requester, request: &Request<Body>) -> Self {
        let (verb, at) = match requested_resource(request.method(), request.uri()) {
            Some((verb, at)) => (verb, Some(at)),
            None => (request.method().as_str().to_ascii_lowercase(), None),
        };
        let agent = request.headers().get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or("");
        let mut parameters = request.uri().query().unwrap_or("").split('&').filter_map(|pair| pair.split_once('='));
        let has_version =
            |(name, value): (&str, &str)| matches!(name, "resourceVersion" | "continue") && !value.is_empty();
        Self {
            requester: requester.clone(),
            user: request.extensions().get::<User>().map(|user| user.name.clone()).unwrap_or_default(),
            agent: agent.split(['/', ' ']).next().unwrap_or("").to_owned(),
            is_consistent: matches!(verb.as_str(), "get" | "list") && !parameters.any(has_version),
            verb,
            at,
            created: String::new(),
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
