//! Reads other objects as the API server, for several plug-ins.

use std::sync::Arc;

use coracle_meta::{GroupVersionResource, Object, PartialObject, Status};
use coracle_registry::{GetOptions, ListOptions, Request, Review, Stored, Verb};

/// Reads another object as the API server; `None` if it does not exist.
pub(crate) async fn get(
    review: &Review<'_>,
    resource: GroupVersionResource,
    namespace: &str,
    name: &str,
) -> Result<Option<Arc<Object>>, Status> {
    let stored = find(review, resource, namespace, name).await?;
    Ok(stored.map(|stored| review.registry.storage().object(&stored)))
}

/// Reads only the metadata of another object, which is cheaper; `None` if the object does not exist.
pub(crate) async fn get_metadata(
    review: &Review<'_>,
    resource: GroupVersionResource,
    namespace: &str,
    name: &str,
) -> Result<Option<Arc<PartialObject>>, Status> {
    let stored = find(review, resource, namespace, name).await?;
    stored.map(|stored| stored.metadata().map_err(Status::internal)).transpose()
}

async fn find(
    review: &Review<'_>,
    resource: GroupVersionResource,
    namespace: &str,
    name: &str,
) -> Result<Option<Stored>, Status> {
    let request = own(review.request.about(Verb::Get, resource, namespace, name));
    review.registry.find(&request, &GetOptions::default()).await
}

/// Lists all objects of a namespace, or of the cluster, as the API server.
pub(crate) async fn list(
    review: &Review<'_>,
    resource: GroupVersionResource,
    namespace: &str,
) -> Result<Vec<Arc<Object>>, Status> {
    let request = own(review.request.about(Verb::List, resource, namespace, ""));
    let list = review.registry.list(&request, &ListOptions::default()).await?;
    Ok(list.items.iter().map(|stored| review.registry.storage().object(stored)).collect())
}

/// The same request as the API server.
pub(crate) fn own(request: Request) -> Request {
    Request { user: Arc::new(coracle_registry::User::system()), ..request }
}

/// A resource of the core group.
pub(crate) fn core(plural: &str) -> GroupVersionResource {
    GroupVersionResource::new("", "v1", plural)
}
