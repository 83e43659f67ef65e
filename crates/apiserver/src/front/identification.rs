use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use coracle_meta::Status;
use coracle_registry::{Authenticator, Registry, User, Warnings};
use futures_util::FutureExt;
use http::Request;
use http::request::Parts;

use crate::front::anonymous::Anonymous;
use crate::front::authenticate::{authenticate, vouched_for};
use crate::front::request_headers::{FrontProxy, RequestHeaders};

/// Identifies the user of a request. In Kubernetes: `filters.WithAuthentication`.
///
/// A layer in front of the router that has to know the user calls [`identify`](Self::identify). The router then uses
/// its result, so that each request is authenticated once.
#[derive(Clone)]
pub struct Identification {
    /// The objects of the cluster, which authenticators read.
    pub registry: Registry,
    /// Authenticates requests.
    pub authenticator: Arc<dyn Authenticator>,
    /// The headers with which front proxies send the user, if there are front proxies.
    pub request_headers: Option<RequestHeaders>,
    /// Where requests without credentials are accepted.
    pub anonymous: Anonymous,
}

/// The result of an identification, in the extensions of the request.
#[derive(Clone)]
struct Identified {
    user: Result<Arc<User>, Status>,
    warnings: Vec<String>,
}

impl Identification {
    /// The request with its [`User`] in the extensions. If the credentials are not valid, there is no user, and the
    /// router refuses the request.
    pub async fn identify<B>(&self, request: Request<B>) -> Request<B> {
        let (mut parts, body) = request.into_parts();
        let warnings = Warnings::default();
        // After a panic, the router identifies the user again, and reports the panic.
        if let Ok(user) = AssertUnwindSafe(self.user(&parts, &warnings)).catch_unwind().await {
            if let Ok(user) = &user {
                parts.extensions.insert(User::clone(user));
            }
            parts.extensions.insert(Identified { user, warnings: warnings.texts() });
        }
        Request::from_parts(parts, body)
    }

    /// The user of a request: from the transport if it authenticates, otherwise from the credentials.
    pub(crate) async fn user(&self, parts: &Parts, warnings: &Warnings) -> Result<Arc<User>, Status> {
        if let Some(identified) = parts.extensions.get::<Identified>() {
            identified.warnings.iter().for_each(|warning| warnings.add(warning.as_str()));
            return identified.user.clone();
        }
        match (parts.extensions.get::<User>(), self.spoken_of(parts)?) {
            (Some(user), _) => Ok(vouched_for(user)),
            (None, Some(user)) => Ok(vouched_for(&user)),
            (None, None) => authenticate(&*self.authenticator, self.anonymous, &self.registry, parts, warnings).await,
        }
    }

    /// The user in the headers of a front proxy. The headers of other clients are ignored.
    fn spoken_of(&self, parts: &Parts) -> Result<Option<User>, Status> {
        match (&self.request_headers, parts.extensions.get::<FrontProxy>()) {
            (Some(headers), Some(proxy)) => headers.user(proxy, &parts.headers),
            _ => Ok(None),
        }
    }
}
