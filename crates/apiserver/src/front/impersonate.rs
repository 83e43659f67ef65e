use std::sync::Arc;

use coracle_meta::Status;
use coracle_registry::{Attributes, Registry, User};
use http::HeaderMap;

use crate::front::access;
use crate::front::constrained_impersonation::ConstrainedImpersonation;
use crate::front::impersonation_headers::Wanted;

/// The impersonated user, if the request has one and its user may impersonate it. `asked` is the request as its own user
/// makes it. In Kubernetes: `WithImpersonation`, `WithConstrainedImpersonation`.
pub(crate) async fn impersonate(
    registry: &Registry,
    constrained: &ConstrainedImpersonation,
    asked: &Attributes,
    headers: &HeaderMap,
) -> Result<Arc<User>, Status> {
    let user = &asked.user;
    let Some(wanted) = Wanted::read(headers, registry.release())? else { return Ok(Arc::clone(user)) };
    if registry.release().enabled("ConstrainedImpersonation") {
        return constrained.user(registry, asked, &wanted).await.map(Arc::new);
    }
    for target in wanted.targets() {
        access::decide(registry, &Attributes::of_resource(user, "impersonate", target)).await?;
    }
    Ok(Arc::new(wanted.into_user()))
}
