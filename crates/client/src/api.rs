use std::marker::PhantomData;
use std::sync::Arc;

use coracle_meta::any_object::unwrap;
use coracle_meta::{
    AnyObject, ApiObject, GroupVersionResource, Object, ObjectKey, ObjectType, PartialObject, Resource,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::request::{Projection, not_writable, to_json};
use crate::{AnyApi, Client, DeleteParams, Deletion, List, ListParams, Patch, Result, Watch, WatchParams, WriteParams};

/// The verbs of one resource. [`ObjectKey`]s name objects; lists and watches cover all namespaces, or the one of
/// [`Api::within`].
///
/// ```
/// use coracle::api::core_v1::ConfigMap;
/// use coracle::meta::Resource;
/// use coracle::runtime::{Api, DeleteParams, ListParams, Patch};
/// use serde_json::json;
///
/// coracle::run_virtual(1, async |cluster| {
///     let maps = Api::<ConfigMap>::of(&cluster.api_client()).within("default");
///     let map = serde_json::from_value(json!({"metadata": {"namespace": "default", "name": "a"}, "data": {"n": "1"}}));
///     let map: ConfigMap = map.unwrap();
///     let mut made = maps.create(&map).await.unwrap();
///     assert!(maps.create(&map).await.unwrap_err().is_already_exists());
///     maps.patch(&map.key(), &Patch::Merge(json!({"data": {"n": "2"}}))).await.unwrap();
///     made.data.insert("n".to_owned(), "3".to_owned());
///     assert!(maps.update(&made).await.unwrap_err().is_conflict(), "it changed since it was read");
///
///     let found = maps.list(&ListParams::fields("metadata.name=a")).await.unwrap();
///     assert_eq!(found.items[0].data["n"], "2");
///     maps.delete(&map.key(), &DeleteParams::default()).await.unwrap();
///     assert!(maps.find(&map.key()).await.unwrap().is_none());
/// })
/// .unwrap();
/// ```
#[derive(Debug)]
pub struct Api<T> {
    pub(crate) any: AnyApi,
    _object: PhantomData<fn() -> T>,
}

impl<T> Clone for Api<T> {
    fn clone(&self) -> Self {
        Self::over(self.any.clone())
    }
}

impl<K: Resource> Api<K> {
    /// The API of a kind with a Rust type.
    pub fn of(client: &Client) -> Self {
        Self::new(client, K::resource(), Projection::Whole)
    }
}

impl Api<Object> {
    /// The API of any resource, with objects as JSON.
    ///
    /// ```
    /// # coracle::run_virtual(1, async |cluster| {
    /// use coracle::meta::{GroupVersionResource, ObjectKey};
    /// use coracle::runtime::Api;
    ///
    /// let flows = GroupVersionResource::new("flowcontrol.apiserver.k8s.io", "v1", "flowschemas");
    /// let flow = Api::dynamic(&cluster.api_client(), flows).get(&ObjectKey::cluster("exempt")).await.unwrap();
    /// assert_eq!(flow.field("spec.matchingPrecedence"), Some(&1.into()));
    /// # }).unwrap();
    /// ```
    pub fn dynamic(client: &Client, resource: GroupVersionResource) -> Self {
        Self::new(client, resource, Projection::Whole)
    }
}

impl Api<PartialObject> {
    /// The API of any resource, with only the metadata of objects.
    pub fn metadata(client: &Client, resource: GroupVersionResource) -> Self {
        Self::new(client, resource, Projection::Metadata)
    }
}

impl<T> Api<T> {
    fn over(any: AnyApi) -> Self {
        Self { any, _object: PhantomData }
    }

    /// The same, but lists and watches are limited to this namespace, and new objects without a namespace are created
    /// there.
    #[must_use]
    pub fn within(self, namespace: &str) -> Self {
        Self::over(self.any.within(namespace))
    }

    /// The same, with these write parameters.
    #[must_use]
    pub fn writing(self, write: WriteParams) -> Self {
        Self::over(self.any.writing(write))
    }

    /// The same, with another client: for example on behalf of another [`Origin`](crate::Origin).
    #[must_use]
    pub fn through(&self, client: &Client) -> Self {
        Self::over(self.any.through(client))
    }

    /// The client.
    pub fn client(&self) -> &Client {
        &self.any.client
    }

    /// The resource.
    pub fn resource(&self) -> &GroupVersionResource {
        self.any.resource()
    }

    /// The same verbs without the Rust type; objects are still decoded as `T`.
    pub fn any(&self) -> &AnyApi {
        &self.any
    }
}

impl<T: ApiObject> Api<T> {
    fn new(client: &Client, resource: GroupVersionResource, projection: Projection) -> Self {
        Self::over(AnyApi::new(client, resource, projection, ObjectType::of::<T>()))
    }

    /// Reads an object from the server.
    pub async fn get(&self, key: &ObjectKey) -> Result<T> {
        self.any.get(key).await.map(unwrap)
    }

    /// Reads an object from the server; `None` if it does not exist.
    pub async fn find(&self, key: &ObjectKey) -> Result<Option<T>> {
        match self.any.get(key).await {
            Ok(object) => Ok(Some(unwrap(object))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// One list request: returns all objects, or a page if there is a limit.
    pub async fn list(&self, params: &ListParams) -> Result<List<T>> {
        self.any.list(params).await.map(typed_list)
    }

    /// The whole list, read in pages at one version.
    ///
    /// If the version of a later page has expired, the rest is read with one request at the latest version, with the
    /// token that the server offers for that. In Kubernetes: `pager.ListPager`.
    pub async fn list_all(&self, params: &ListParams) -> Result<List<T>> {
        self.any.list_all(params).await.map(typed_list)
    }

    /// Opens a stream of the changes after a version.
    pub async fn watch(&self, params: &WatchParams) -> Result<Watch<T>> {
        self.any.watch(params).await.map(Watch::over)
    }

    /// Creates an object, in its own namespace or else in the one of [`within`](Self::within).
    pub async fn create(&self, object: &T) -> Result<T> {
        self.any.create(&object.object_key(), json_of(object)?).await.map(unwrap)
    }

    /// Replaces an object; if it has a resource version, only that version.
    pub async fn update(&self, object: &T) -> Result<T> {
        let json = json_of(object)?;
        self.any.update(&object.object_key(), "", json, object.resource_version()).await.map(unwrap)
    }

    /// Replaces only an object's status.
    pub async fn update_status(&self, object: &T) -> Result<T> {
        let json = json_of(object)?;
        self.any.update(&object.object_key(), "status", json, object.resource_version()).await.map(unwrap)
    }

    /// Patches an object.
    pub async fn patch(&self, key: &ObjectKey, patch: &Patch) -> Result<T> {
        self.any.patch(key, "", patch).await.map(unwrap)
    }

    /// Patches only an object's status.
    pub async fn patch_status(&self, key: &ObjectKey, patch: &Patch) -> Result<T> {
        self.any.patch(key, "status", patch).await.map(unwrap)
    }

    /// As [`create`](Self::create), for a caller that does not need the object of the response, which then is not
    /// decoded.
    pub async fn create_unread(&self, object: &T) -> Result<()> {
        self.any.create_unread(&object.object_key(), json_of(object)?).await
    }

    /// As [`patch`](Self::patch), without the object of the response.
    pub async fn patch_unread(&self, key: &ObjectKey, patch: &Patch) -> Result<()> {
        self.any.patch_unread(key, "", patch).await
    }

    /// As [`patch_status`](Self::patch_status), without the object of the response.
    pub async fn patch_status_unread(&self, key: &ObjectKey, patch: &Patch) -> Result<()> {
        self.any.patch_unread(key, "status", patch).await
    }

    /// Deletes an object, or starts its deletion.
    pub async fn delete(&self, key: &ObjectKey, params: &DeleteParams) -> Result<Deletion<T>> {
        Ok(match self.any.delete(key, params).await? {
            Deletion::Object(object) => Deletion::Object(Box::new(unwrap(*object))),
            Deletion::Done(status) => Deletion::Done(status),
        })
    }

    /// Deletes the objects that a list would return.
    pub async fn delete_collection(&self, params: &DeleteParams, list: &ListParams) -> Result<()> {
        self.any.delete_collection(params, list).await
    }
}

impl<T> Api<T> {
    /// Reads a subresource, for example `scale`.
    pub async fn get_subresource<R: DeserializeOwned>(&self, key: &ObjectKey, subresource: &str) -> Result<R> {
        self.any.client.call(&self.any.one(key, subresource).get(Projection::Whole)?).await
    }

    /// Posts to a subresource: `binding`, `eviction`, `token`.
    pub async fn create_subresource<R: DeserializeOwned>(
        &self,
        key: &ObjectKey,
        subresource: &str,
        body: &impl Serialize,
    ) -> Result<R> {
        self.any.client.call(&self.any.one(key, subresource).create(to_json(body)?, &key.name, &self.any.write)?).await
    }

    /// Replaces a subresource: `scale`, `finalize`, `approval`. A `version` that is not empty makes the write
    /// conditional.
    pub async fn update_subresource<R: DeserializeOwned>(
        &self,
        key: &ObjectKey,
        subresource: &str,
        body: &impl Serialize,
        version: &str,
    ) -> Result<R> {
        self.any.client.call(&self.any.one(key, subresource).update(to_json(body)?, version, &self.any.write)?).await
    }

    /// Patches a subresource.
    pub async fn patch_subresource<R: DeserializeOwned>(
        &self,
        key: &ObjectKey,
        subresource: &str,
        patch: &Patch,
    ) -> Result<R> {
        self.any.client.call(&self.any.one(key, subresource).patch(patch, &self.any.write, Projection::Whole)?).await
    }
}

fn json_of<T: ApiObject>(object: &T) -> Result<Vec<u8>> {
    object.write_json().map_err(not_writable)
}

fn typed_list<T: ApiObject>(list: List<Arc<dyn AnyObject>>) -> List<T> {
    let List { kind, api_version, metadata, items } = list;
    List { kind, api_version, metadata, items: items.into_iter().map(unwrap).collect() }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use bytes::Bytes;
    use coracle_ambient::Ambient;
    use coracle_journal::{Detail, EntryId, Recorder, Stage};
    use coracle_meta::WatchEvent;
    use http::Response;
    use http_body_util::Full;
    use parking_lot::Mutex;

    use super::*;
    use crate::{Body, Origin};

    /// A transport that answers from a script, and notes what it was asked.
    fn scripted(answers: Vec<Response<Full<Bytes>>>) -> (Client, Arc<Mutex<Vec<http::Request<Body>>>>) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let answers = Arc::new(Mutex::new(std::collections::VecDeque::from(answers)));
        let service = tower::service_fn({
            let asked = asked.clone();
            move |request: http::Request<Body>| {
                asked.lock().push(request);
                let answer = answers.lock().pop_front().expect("no more calls than answers");
                async move { Ok::<_, Infallible>(answer) }
            }
        });
        (Client::new(service, &Ambient::seeded(1)), asked)
    }

    fn answer(code: u16, body: &str) -> Response<Full<Bytes>> {
        Response::builder().status(code).body(Full::new(Bytes::from(body.to_owned()))).unwrap()
    }

    fn pods(client: &Client) -> Api<Object> {
        Api::dynamic(client, GroupVersionResource::new("", "v1", "pods"))
    }

    #[tokio::test(start_paused = true)]
    async fn pages_are_read_until_there_are_no_more_and_items_take_the_kind_of_the_list() {
        let (client, asked) = scripted(vec![
            answer(
                200,
                r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"t"},"items":[{"metadata":{"name":"a"}}]}"#,
            ),
            answer(
                200,
                r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"b"}}]}"#,
            ),
        ]);
        let list = pods(&client).list_all(&ListParams::default()).await.unwrap();
        assert_eq!(list.items.iter().map(Object::name).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(list.items[0].kind(), "Pod");
        assert_eq!(asked.lock()[1].uri(), "/api/v1/pods?continue=t&limit=500");
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_whose_version_is_gone_makes_it_ask_for_the_whole_list() {
        let (client, asked) = scripted(vec![
            answer(200, r#"{"metadata":{"resourceVersion":"7","continue":"t"},"items":[{"metadata":{"name":"a"}}]}"#),
            answer(410, r#"{"status":"Failure","reason":"Expired","code":410}"#),
            answer(200, r#"{"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"c"}}]}"#),
        ]);
        let list = pods(&client).list_all(&ListParams::default()).await.unwrap();
        assert_eq!(list.items.iter().map(Object::name).collect::<Vec<_>>(), ["c"]);
        assert_eq!(asked.lock()[2].uri(), "/api/v1/pods");
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_a_status_and_any_other_text_its_message() {
        let (client, _) = scripted(vec![
            answer(404, r#"{"kind":"Status","status":"Failure","reason":"NotFound","message":"gone","code":404}"#),
            answer(502, "bad gateway\n"),
        ]);
        let key = ObjectKey::new("default", "web");
        assert_eq!(pods(&client).find(&key).await.unwrap(), None);
        let error = pods(&client).get(&key).await.unwrap_err();
        let status = error.status().unwrap();
        assert_eq!((status.code, status.message.as_str()), (502, "bad gateway"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_is_retried_after_retry_after() {
        let busy = Response::builder().status(429).header("retry-after", "3").body(Full::default()).unwrap();
        let (client, asked) = scripted(vec![busy, answer(200, r#"{"metadata":{"name":"web"}}"#)]);
        let start = tokio::time::Instant::now();
        assert_eq!(pods(&client).get(&ObjectKey::new("default", "web")).await.unwrap().name(), "web");
        assert_eq!(start.elapsed().as_secs(), 3);
        assert_eq!(asked.lock().len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_for_another_request_carries_its_audit_id() {
        let recorder = Recorder::ring(10);
        let cause = recorder.record("rs", Stage::SyncStart, Detail::default).unwrap();
        let (client, asked) = scripted(vec![
            answer(200, r#"{"kind":"Status","status":"Success"}"#),
            answer(200, r#"{"metadata":{"name":"web"}}"#),
        ]);
        let origin = Origin::new("rs", "default/web", [cause]);
        let client = client.with_user_agent("kube-controller-manager/v1.35.3").with_recorder(recorder.clone());
        let key = ObjectKey::new("default", "web-1");
        let deletion =
            pods(&client.on_behalf_of(origin.clone())).delete(&key, &DeleteParams::default().with_uid("u")).await;
        assert!(matches!(deletion.unwrap(), Deletion::Done(_)));

        let entry = recorder.entries(EntryId(2)).remove(0);
        assert_eq!(entry.causes, [cause]);
        assert_eq!(entry.data["precondition"], "uid=u");
        assert_eq!(origin.write_count(), 1);
        pods(&client.on_behalf_of(origin.clone())).get(&key).await.unwrap();
        assert_eq!(origin.write_count(), 1);

        let asked = asked.lock();
        let audit_id = |place: usize| asked[place].headers()["audit-id"].to_str().unwrap();
        assert_eq!(recorder.audit(audit_id(0)), Some(entry.id));
        assert_eq!(recorder.audit(audit_id(1)), Some(cause), "a read is caused by what it is for");
        assert_eq!(asked[0].headers()["user-agent"], "kube-controller-manager/v1.35.3");
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_records_its_revision_for_its_caller() {
        let (client, _) = scripted(vec![
            answer(201, r#"{"metadata":{"name":"a","resourceVersion":"7"}}"#),
            answer(200, r#"{"kind":"Pod","metadata":{"name":"a","resourceVersion":"9"}}"#),
        ]);
        let origin = Origin::new("rs", "default/web", []);
        let pods = pods(&client.on_behalf_of(origin.clone())).within("default");
        let mut object = Object::default();
        object.set("metadata.generateName", "a");
        pods.create(&object).await.unwrap();
        pods.delete(&ObjectKey::new("default", "a"), &DeleteParams::default()).await.unwrap();
        assert_eq!(origin.revisions().get(pods.resource()), Some(&9));
    }

    #[tokio::test(start_paused = true)]
    async fn an_unread_response_counts_as_a_read_one_from_bytes_and_from_an_offer() {
        let written =
            |revision: i64| answer(200, &format!(r#"{{"metadata":{{"name":"a","resourceVersion":"{revision}"}}}}"#));
        let (client, _) =
            scripted(vec![written(7), written(8), answer(404, r#"{"status":"Failure","reason":"NotFound"}"#)]);
        let origin = Origin::new("rs", "default/web", []);
        let key = ObjectKey::new("default", "a");
        let remote = pods(&client.on_behalf_of(origin.clone()));
        let patch = Patch::Merge(serde_json::json!({"metadata": {"uid": "u"}}));
        remote.patch_unread(&key, &patch).await.unwrap();
        remote.patch_status_unread(&key, &patch).await.unwrap();
        assert_eq!((origin.revisions().get(remote.resource()), origin.write_count()), (Some(&8), 2));
        assert!(remote.create_unread(&Object::default()).await.unwrap_err().is_not_found());

        let service = tower::service_fn(|_: http::Request<Body>| async {
            let body = coracle_handover::Body::new(Full::new(Bytes::new()));
            let offer = coracle_handover::Offer::Object(Box::new(Revision(9)));
            Ok::<_, Infallible>(Response::new(body.offering(offer)))
        });
        let local = pods(&Client::new(service, &Ambient::seeded(1)).on_behalf_of(origin.clone()));
        local.patch_unread(&key, &patch).await.unwrap();
        assert_eq!(origin.revisions().get(local.resource()), Some(&9));
    }

    /// The offer of an object that the reader must not decode.
    struct Revision(i64);

    impl coracle_handover::Handed for Revision {
        fn revision(&self) -> i64 {
            self.0
        }

        fn decode(&self, _: ObjectType) -> std::result::Result<Arc<dyn AnyObject>, serde_json::Error> {
            panic!("an object that is not read is not decoded")
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_ends_where_the_server_ends_it_and_half_an_event_is_an_error() {
        let event = r#"{"type":"ADDED","object":{"metadata":{"name":"web"}}}"#;
        let (client, _) = scripted(vec![answer(200, &format!("{event}\n")), answer(200, &event[..20])]);
        let mut watch = pods(&client).watch(&WatchParams::default()).await.unwrap();
        assert!(matches!(watch.next().await, Ok(Some(WatchEvent::Added(_)))));
        assert!(matches!(watch.next().await, Ok(None)));
        let mut watch = pods(&client).watch(&WatchParams::default()).await.unwrap();
        assert!(matches!(watch.next().await, Err(crate::Error::Transport { .. })));
    }
}
