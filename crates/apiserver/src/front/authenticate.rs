use std::sync::Arc;

use coracle_meta::Status;
use coracle_registry::{Authenticator, Credentials, Registry, User, Warnings};

use super::anonymous::Anonymous;
use super::token::Token;

/// The group of all authenticated users.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The group of all other users.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The user of requests without credentials.
pub(crate) const ANONYMOUS: &str = "system:anonymous";

/// The client's certificates in DER, its own first, verified against the client authority. The TLS listener puts it into
/// the extensions of each request.
#[derive(Clone, Debug)]
pub struct PeerCertificates(pub Vec<Vec<u8>>);

/// The user of a request's credentials: the anonymous user without credentials, an error for invalid ones. Warnings
/// about the credentials are added to `warnings`.
pub(crate) async fn authenticate(
    authenticator: &dyn Authenticator,
    anonymous: Anonymous,
    registry: &Registry,
    parts: &http::request::Parts,
    warnings: &Warnings,
) -> Result<Arc<User>, Status> {
    let (bearer_token, is_unreadable) = match Token::of(&parts.headers) {
        Token::None => (None, false),
        Token::Shown(token) => (Some(token), false),
        Token::Unreadable => (None, true),
    };
    let credentials = Credentials {
        bearer_token,
        certificates: parts.extensions.get::<PeerCertificates>().map(|peer| peer.0.clone()).unwrap_or_default(),
        audiences: Vec::new(),
    };
    let without_credentials = || {
        if anonymous.lets_in(parts.uri.path()) {
            Ok(Arc::new(User::new(ANONYMOUS, [UNAUTHENTICATED])))
        } else {
            Err(Status::unauthorized())
        }
    };
    let nothing_shown = credentials == Credentials::default();
    if nothing_shown && !is_unreadable {
        return without_credentials();
    }
    match authenticator.authenticate(registry, &credentials).await {
        Ok(Some(authenticated)) => {
            authenticated.warnings.into_iter().for_each(|warning| warnings.add(warning));
            Ok(vouched_for(&authenticated.user))
        }
        Ok(None) if credentials.bearer_token.is_none() && !is_unreadable => without_credentials(),
        Ok(None) => Err(Status::unauthorized()),
        Err(status) if status.code == 401 => Err(Status::unauthorized()),
        Err(status) => Err(status),
    }
}

/// A user that the transport has authenticated.
pub(crate) fn vouched_for(user: &User) -> Arc<User> {
    let mut user = user.clone();
    add_group(&mut user, AUTHENTICATED);
    Arc::new(user)
}

/// Adds the group of authenticated or unauthenticated users, unless the user has one of them.
pub(crate) fn add_group(user: &mut User, group: &str) {
    let known = [AUTHENTICATED, UNAUTHENTICATED].iter().any(|group| user.is_in(group));
    if !known {
        user.groups.push(group.to_owned());
    }
}
