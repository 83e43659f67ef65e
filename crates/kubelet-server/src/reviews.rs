use std::time::Duration;

use coracle_api::authentication_v1::{TokenReview, TokenReviewSpec};
use coracle_api::authorization_v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use coracle_auth::Remembered;
use coracle_client::{Api, Client, Error};
use coracle_registry::User;

/// The lifetimes of cached responses. In Kubernetes: `authentication.webhook.cacheTTL` and its siblings of
/// `authorization`.
const TOKEN: Duration = Duration::from_secs(120);
const ALLOWED: Duration = Duration::from_secs(300);
const NOT_ALLOWED: Duration = Duration::from_secs(30);

/// The maximum number of cached responses of each type.
const MOST: usize = 1024;

/// What the API server says of users and of what they may do.
pub(crate) struct Reviews {
    tokens: Api<TokenReview>,
    accesses: Api<SubjectAccessReview>,
    known: Remembered<String, Option<User>>,
    allowed: Remembered<Question, bool>,
}

/// Name, groups and uid of a user, the verb, the node and the subresource.
type Question = (String, Vec<String>, String, &'static str, String, &'static str);

impl Reviews {
    pub(crate) fn new(client: &Client) -> Self {
        let (tokens, accesses) = (Api::of(client), Api::of(client));
        Self { tokens, accesses, known: Remembered::new(MOST), allowed: Remembered::new(MOST) }
    }

    /// The user of a token; `None` if the token is invalid or the API server does not respond.
    pub(crate) async fn whose(&self, token: &str) -> Option<User> {
        if let Some(known) = self.known.get(&token.to_owned()) {
            return known;
        }
        let spec = TokenReviewSpec { token: token.to_owned(), ..TokenReviewSpec::default() };
        let status = match self.tokens.create(&TokenReview { spec, ..TokenReview::default() }).await {
            Ok(review) => review.status,
            Err(error) => {
                tracing::warn!(%error, "the node cannot authenticate a token");
                return None;
            }
        };
        let user = status.authenticated.then(|| {
            let said = status.user;
            User { uid: said.uid, extra: said.extra, ..User::new(said.username, said.groups) }
        });
        self.known.put(token.to_owned(), user.clone(), TOKEN);
        user
    }

    /// Whether a user may do this to a node.
    ///
    /// # Errors
    /// If the API server does not answer, or does not let itself be asked.
    pub(crate) async fn allows(
        &self,
        user: &User,
        verb: &'static str,
        node: &str,
        subresource: &'static str,
    ) -> Result<bool, Error> {
        let (name, groups, uid) = (user.name.clone(), user.groups.clone(), user.uid.clone());
        let question = (name, groups, uid, verb, node.to_owned(), subresource);
        if let Some(known) = self.allowed.get(&question) {
            return Ok(known);
        }
        let about = ResourceAttributes {
            verb: verb.to_owned(),
            version: "v1".to_owned(),
            resource: "nodes".to_owned(),
            subresource: subresource.to_owned(),
            name: node.to_owned(),
            ..ResourceAttributes::default()
        };
        let spec = SubjectAccessReviewSpec {
            user: user.name.clone(),
            groups: user.groups.clone(),
            uid: user.uid.clone(),
            extra: user.extra.clone(),
            resource_attributes: Some(Box::new(about)),
            ..SubjectAccessReviewSpec::default()
        };
        let review = self.accesses.create(&SubjectAccessReview { spec, ..SubjectAccessReview::default() }).await?;
        let is_allowed = review.status.allowed;
        self.allowed.put(question, is_allowed, if is_allowed { ALLOWED } else { NOT_ALLOWED });
        Ok(is_allowed)
    }
}
