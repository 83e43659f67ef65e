use std::sync::Arc;

use coracle_handover::Offer;
use coracle_meta::{
    AnyObject, GroupVersionResource, ObjectKey, ObjectType, PartialObject, Status, parse_resource_version,
};
use serde::Deserialize;
use serde_json::Value;

use crate::client::{malformed, whole};
use crate::origin::Gone;
use crate::request::{Projection, Request, ResourceUrl};
use crate::watch::AnyWatch;
use crate::{Client, DeleteParams, Deletion, List, ListParams, Patch, Result, WatchParams, WriteParams};

/// The page size of [`AnyApi::list_all`]. In Kubernetes: `pager.defaultPageSize`.
const PAGE_SIZE: u32 = 500;

/// The verbs of one resource, over objects without their Rust type: the code that is the same for all kinds, compiled
/// once.
///
/// Most callers use the typed [`Api`](crate::Api), where the verbs are described.
#[derive(Clone, Debug)]
pub struct AnyApi {
    pub(crate) client: Client,
    pub(crate) resource: GroupVersionResource,
    pub(crate) namespace: String,
    pub(crate) write: WriteParams,
    projection: Projection,
    form: ObjectType,
}

impl AnyApi {
    pub(crate) fn new(
        client: &Client,
        resource: GroupVersionResource,
        projection: Projection,
        form: ObjectType,
    ) -> Self {
        let write = WriteParams::default();
        Self { client: client.clone(), resource, namespace: String::new(), write, projection, form }
    }

    /// The resource.
    pub fn resource(&self) -> &GroupVersionResource {
        &self.resource
    }

    /// The same, decoding objects without `metadata.managedFields`.
    #[must_use]
    pub fn without_managed_fields(self) -> Self {
        Self { form: self.form.without_managed_fields(), ..self }
    }

    /// The same, but lists and watches are limited to this namespace.
    #[must_use]
    pub fn within(self, namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), ..self }
    }

    /// The same, with these write parameters.
    #[must_use]
    pub fn writing(self, write: WriteParams) -> Self {
        Self { write, ..self }
    }

    /// The same, with another client.
    #[must_use]
    pub fn through(&self, client: &Client) -> Self {
        Self { client: client.clone(), ..self.clone() }
    }

    pub(crate) fn all(&self) -> ResourceUrl<'_> {
        ResourceUrl { resource: &self.resource, namespace: &self.namespace, name: "", subresource: "" }
    }

    pub(crate) fn one<'a>(&'a self, key: &'a ObjectKey, subresource: &'a str) -> ResourceUrl<'a> {
        ResourceUrl { resource: &self.resource, namespace: &key.namespace, name: &key.name, subresource }
    }

    pub(crate) async fn get(&self, key: &ObjectKey) -> Result<Arc<dyn AnyObject>> {
        self.client.call_object(&self.one(key, "").get(self.projection)?, self.form).await
    }

    pub(crate) async fn list(&self, params: &ListParams) -> Result<List<Arc<dyn AnyObject>>> {
        let request = self.all().list(params, self.projection)?;
        let answer = self.client.fetch(&request).await?;
        List::read_json(&answer, self.form).map_err(|source| malformed(&request, source))
    }

    /// The whole list, read in pages at one version.
    pub async fn list_all(&self, params: &ListParams) -> Result<List<Arc<dyn AnyObject>>> {
        let mut params = params.clone();
        // A list that accepts an older version can be answered from a cache, which has no pages.
        if params.limit == 0 && params.resource_version.is_none() {
            params.limit = PAGE_SIZE;
        }
        let whole = ListParams { limit: 0, continue_token: String::new(), ..params.clone() };
        let mut list = self.list(&params).await?;
        while !list.metadata.continue_token.is_empty() {
            params.continue_token = std::mem::take(&mut list.metadata.continue_token);
            // A later page has the version of the first, which the token contains.
            params.resource_version = None;
            params.version_match = None;
            match self.list(&params).await {
                Ok(page) => {
                    list.metadata = page.metadata;
                    list.items.extend(page.items);
                }
                Err(error) if error.is_expired() => return self.list(&whole).await,
                Err(error) => return Err(error),
            }
        }
        Ok(list)
    }

    /// Opens a stream of the changes after a version.
    pub async fn watch(&self, params: &WatchParams) -> Result<AnyWatch> {
        let request = self.all().watch(params, self.projection)?;
        let answer = self.client.send(&request).await?;
        Ok(AnyWatch::new(request.uri, answer, self.form))
    }

    /// `json` is the object with this key.
    pub(crate) async fn create(&self, key: &ObjectKey, json: Vec<u8>) -> Result<Arc<dyn AnyObject>> {
        self.send(&self.creation(key, json)?).await
    }

    fn creation(&self, key: &ObjectKey, json: Vec<u8>) -> Result<Request> {
        let namespace = if key.namespace.is_empty() { &self.namespace } else { &key.namespace };
        ResourceUrl { namespace, ..self.all() }.create(json, &key.name, &self.write)
    }

    /// `json` is the new object with this key; it replaces the one at `version`, or any if that is empty.
    pub(crate) async fn update(
        &self,
        key: &ObjectKey,
        subresource: &str,
        json: Vec<u8>,
        version: &str,
    ) -> Result<Arc<dyn AnyObject>> {
        self.send(&self.one(key, subresource).update(json, version, &self.write)?).await
    }

    pub(crate) async fn patch(&self, key: &ObjectKey, subresource: &str, patch: &Patch) -> Result<Arc<dyn AnyObject>> {
        self.send(&self.one(key, subresource).patch(patch, &self.write, self.projection)?).await
    }

    pub(crate) async fn create_unread(&self, key: &ObjectKey, json: Vec<u8>) -> Result<()> {
        self.send_unread(&self.creation(key, json)?).await
    }

    pub(crate) async fn patch_unread(&self, key: &ObjectKey, subresource: &str, patch: &Patch) -> Result<()> {
        self.send_unread(&self.one(key, subresource).patch(patch, &self.write, self.projection)?).await
    }

    pub(crate) async fn delete(&self, key: &ObjectKey, params: &DeleteParams) -> Result<Deletion<Arc<dyn AnyObject>>> {
        let request = self.one(key, "").delete(params)?;
        let mut body = self.client.open(&request).await?;
        let read = |source| malformed(&request, source);
        // The offer contains an object, and never a `Status`.
        if let Some(Offer::Object(object)) = body.take_offer() {
            let object = object.decode(self.form).map_err(read)?;
            self.note(object.as_ref());
            return Ok(Deletion::Object(Box::new(object)));
        }
        let answer = whole(&request, body).await?;
        let OfKind { kind } = coracle_meta::json::from_slice(&answer).map_err(read)?;
        if kind == "Status" {
            let status: Status = coracle_meta::json::from_slice(&answer).map_err(read)?;
            self.note_end(key, &status);
            return Ok(Deletion::Done(Box::new(status)));
        }
        let object = self.form.read(&answer, None).map_err(read)?;
        self.note(object.as_ref());
        Ok(Deletion::Object(Box::new(object)))
    }

    pub(crate) async fn delete_collection(&self, params: &DeleteParams, list: &ListParams) -> Result<()> {
        let _: Value = self.client.call(&self.all().delete_collection(params, list)?).await?;
        Ok(())
    }

    /// Sends a write whose response is the object.
    async fn send(&self, request: &Request) -> Result<Arc<dyn AnyObject>> {
        let object = self.client.call_object(request, self.form).await?;
        self.note(object.as_ref());
        Ok(object)
    }

    /// Sends a write whose response the caller does not read: in the same process nothing decodes the object.
    async fn send_unread(&self, request: &Request) -> Result<()> {
        let mut body = self.client.open(request).await?;
        let Some(Offer::Object(object)) = body.take_offer() else {
            let answer = whole(request, body).await?;
            let read = ObjectType::of::<PartialObject>().without_managed_fields().read(&answer, None);
            self.note(read.map_err(|source| malformed(request, source))?.as_ref());
            return Ok(());
        };
        self.note_revision(Some(object.revision()).filter(|revision| *revision > 0));
        Ok(())
    }

    /// Records for the origin that caches must lose this object.
    fn note_end(&self, key: &ObjectKey, status: &Status) {
        let uid = status.details.as_ref().map(|details| details.uid.as_str()).unwrap_or_default();
        if let Some(origin) = self.client.origin()
            && !uid.is_empty()
        {
            origin.ended(Gone { resource: self.resource.clone(), key: key.clone(), uid: uid.to_owned() });
        }
    }

    /// Records for the origin the revision that caches must reach to show this write.
    fn note(&self, object: &dyn AnyObject) {
        self.note_revision(parse_resource_version(object.resource_version()));
    }

    fn note_revision(&self, revision: Option<i64>) {
        if let Some((origin, revision)) = self.client.origin().zip(revision) {
            origin.wrote(&self.resource, revision);
        }
    }
}

/// The kind of a response that may be the object or a `Status`.
#[derive(Deserialize)]
struct OfKind {
    #[serde(default)]
    kind: String,
}
