use std::sync::Arc;

use coracle_meta::Status;
use coracle_registry::{Attributes, Decision, Registry, Target, User, forbidden};

use crate::front::request_info::RequestInfo;

/// What `user` asks for.
pub(crate) fn attributes(user: &Arc<User>, info: &RequestInfo) -> Attributes {
    let target = match &info.resource {
        None => Target::Path(info.path.clone()),
        Some(asked) => Target::Resource(Arc::clone(&asked.at)),
    };
    Attributes::new(user, &info.verb, target)
}

/// Refuses what is not allowed. In Kubernetes: `WithAuthorization`.
pub(crate) async fn decide(registry: &Registry, attributes: &Attributes) -> Result<(), Status> {
    match registry.authorize(attributes).await? {
        Decision::Allow(_) => Ok(()),
        Decision::Deny(why) | Decision::NoOpinion(why) => Err(forbidden(attributes, &why)),
    }
}
