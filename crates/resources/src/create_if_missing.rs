//! Creates the objects that an API server starts with. In Kubernetes: the post-start hooks of kube-apiserver.

use std::time::Duration;

use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Object, Status};
use coracle_registry::{GetOptions, Registry, Request, Verb};
use tokio::time::{Instant, sleep};

/// The field manager of an API server's own writes.
pub const API_SERVER_MANAGER: &str = "kube-apiserver";

/// How long a start waits for another server that writes at the same moment, or for what it left behind: a claim for an
/// object that was never written is released after a minute.
const PATIENCE: Duration = Duration::from_secs(75);
const PAUSE: Duration = Duration::from_millis(100);

/// Creates an object if no object has its name. Several servers may do so at the same moment.
///
/// # Errors
/// If the API server refuses the object for another reason, for 75 seconds if the reason may pass.
pub async fn create_if_missing(registry: &Registry, object: Object) -> Result<(), Status> {
    let ends = Instant::now() + PATIENCE;
    loop {
        let refused = match created_if_missing(registry, object.clone()).await {
            Ok(()) => return Ok(()),
            Err(status) => status,
        };
        if Instant::now() > ends || !may_pass(registry, &object, &refused).await {
            return Err(refused);
        }
        sleep(PAUSE).await;
    }
}

/// Whether another server that writes at the same moment, or a store that is unreachable for a while, caused a refusal.
async fn may_pass(registry: &Registry, object: &Object, refused: &Status) -> bool {
    let is_claimed = refused.message.contains("already allocated");
    refused.is_conflict() || refused.code == 503 || (is_claimed && is_claimed_for(registry, object).await)
}

/// Whether another server has claimed the address of a service for this service.
async fn is_claimed_for(registry: &Registry, service: &Object) -> bool {
    let address = service.text("spec.clusterIP");
    if address.is_empty() {
        return false;
    }
    let claims = GroupVersionResource::new("networking.k8s.io", "v1", "ipaddresses");
    let about = Request::new(Verb::Get, claims, registry.ambient().clock.now()).object("", address);
    match registry.get(&about, &GetOptions::default()).await {
        Ok(claim) => {
            let claim = claim.object();
            let parent = claim.at("spec.parentRef");
            parent.text("namespace") == service.namespace() && parent.text("name") == service.name()
        }
        // The claim was released since.
        Err(status) => status.is_not_found(),
    }
}

async fn created_if_missing(registry: &Registry, object: Object) -> Result<(), Status> {
    let kind = object.group_version_kind().unwrap_or_default();
    let kinds = registry.kinds();
    let known = kinds.kind(&kind).ok_or_else(|| Status::internal(format!("no kind {kind}")))?;
    let now = registry.ambient().clock.now();
    // Read first: a create may fail before it finds that the name exists, for example at the address that the object has.
    let read = Request::new(Verb::Get, known.gvr(), now).object(object.namespace(), object.name());
    match registry.get(&read, &GetOptions::default()).await {
        Err(status) if status.is_not_found() => {}
        other => return other.map(|_| ()),
    }
    create(registry, object).await
}

/// Creates an object. If another client created one of its name first, that is a success.
///
/// # Errors
/// If the API server refuses the object for another reason.
pub async fn create(registry: &Registry, object: Object) -> Result<(), Status> {
    let kind = object.group_version_kind().unwrap_or_default();
    let kinds = registry.kinds();
    let known = kinds.kind(&kind).ok_or_else(|| Status::internal(format!("no kind {kind}")))?;
    let now = registry.ambient().clock.now();
    let request =
        Request { field_manager: API_SERVER_MANAGER.to_owned(), ..Request::new(Verb::Create, known.gvr(), now) };
    match registry.create(&request.object(object.namespace(), ""), object).await {
        Err(status) if status.is_already_exists() => Ok(()),
        other => other.map(|_| ()),
    }
}
