use bytes::Bytes;
use coracle_meta::{GroupVersionResource, percent};
use http::Method;
use serde::Serialize;

use crate::{DeleteParams, Error, ListParams, LogParams, Patch, Result, WatchParams, WriteParams};

/// An API request as data, without I/O and without the caller's identity.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) uri: String,
    pub(crate) accept: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) body: Bytes,
    /// The description of a write for the event log; `None` for a read.
    pub(crate) written: Option<Written>,
}

/// The description of a write for the event log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Written {
    pub(crate) verb: &'static str,
    pub(crate) resource: String,
    pub(crate) name: String,
    pub(crate) precondition: String,
}

/// The requested part of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Projection {
    Whole,
    Metadata,
}

impl Projection {
    fn accept_one(self) -> &'static str {
        match self {
            Self::Whole => "application/json",
            Self::Metadata => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
        }
    }

    fn accept_list(self) -> &'static str {
        match self {
            Self::Whole => "application/json",
            Self::Metadata => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
        }
    }
}

/// The URL of a request: a resource, optionally a namespace, an object, and a subresource.
#[derive(Clone, Debug)]
pub(crate) struct ResourceUrl<'a> {
    pub(crate) resource: &'a GroupVersionResource,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) subresource: &'a str,
}

impl ResourceUrl<'_> {
    fn path(&self) -> Result<String> {
        let GroupVersionResource { group, version, resource } = self.resource;
        let mut path = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        if !self.namespace.is_empty() {
            push_segments(&mut path, &["namespaces", self.namespace])?;
        }
        push_segments(&mut path, &[resource])?;
        if !self.name.is_empty() {
            push_segments(&mut path, &[self.name])?;
        }
        if !self.subresource.is_empty() {
            push_segments(&mut path, &self.subresource.split('/').collect::<Vec<_>>())?;
        }
        Ok(path)
    }

    fn object_path(&self) -> Result<String> {
        if self.name.is_empty() {
            return Err(Error::Request { why: format!("{} without a name", self.resource.resource) });
        }
        self.path()
    }

    fn written(&self, verb: &'static str, precondition: String) -> Written {
        let resource = match self.subresource {
            "" => self.resource.resource.clone(),
            subresource => format!("{}/{subresource}", self.resource.resource),
        };
        Written { verb, resource, name: self.name.to_owned(), precondition }
    }

    fn read(&self, uri: String, accept: &'static str) -> Request {
        Request { method: Method::GET, uri, accept, content_type: "", body: Bytes::new(), written: None }
    }

    pub(crate) fn get(&self, projection: Projection) -> Result<Request> {
        Ok(self.read(self.object_path()?, projection.accept_one()))
    }

    pub(crate) fn list(&self, params: &ListParams, projection: Projection) -> Result<Request> {
        Ok(self.read(self.path()? + &list_query(params).finish(), projection.accept_list()))
    }

    pub(crate) fn watch(&self, params: &WatchParams, projection: Projection) -> Result<Request> {
        let mut query = Query::default();
        query.add_if("allowWatchBookmarks", params.bookmarks.then_some("true"));
        query.add_text("fieldSelector", &params.fields);
        query.add_text("labelSelector", &params.labels);
        query.add_if("resourceVersion", params.resource_version.as_deref());
        query.add_if("resourceVersionMatch", params.initial_events.then_some("NotOlderThan"));
        query.add_if("sendInitialEvents", params.initial_events.then_some("true"));
        query.add_number("timeoutSeconds", params.timeout_seconds);
        query.add("watch", "true");
        Ok(self.read(self.path()? + &query.finish(), projection.accept_one()))
    }

    pub(crate) fn logs(&self, params: &LogParams) -> Result<Request> {
        let mut query = Query::default();
        query.add_text("container", &params.container);
        query.add_if("follow", params.follow.then_some("true"));
        query.add_if("previous", params.previous.then_some("true"));
        query.add_if("tailLines", params.tail_lines.map(|lines| lines.to_string()).as_deref());
        query.add_if("timestamps", params.timestamps.then_some("true"));
        Ok(self.read(self.object_path()? + &query.finish(), "*/*"))
    }

    pub(crate) fn create(&self, body: Vec<u8>, name: &str, params: &WriteParams) -> Result<Request> {
        let written = Written { name: name.to_owned(), ..self.written("create", String::new()) };
        self.write(Method::POST, self.path()?, write_query(params), body, written)
    }

    pub(crate) fn update(&self, body: Vec<u8>, version: &str, params: &WriteParams) -> Result<Request> {
        let precondition = if version.is_empty() { String::new() } else { format!("resourceVersion={version}") };
        let written = self.written("update", precondition);
        self.write(Method::PUT, self.object_path()?, write_query(params), body, written)
    }

    pub(crate) fn patch(&self, patch: &Patch, params: &WriteParams, projection: Projection) -> Result<Request> {
        let mut query = write_query(params);
        let mut verb = "patch";
        if let Patch::Apply { force, .. } = patch {
            query.add_if("force", force.then_some("true"));
            verb = "apply";
        }
        let written = self.written(verb, patch_precondition(patch));
        let request = self.write(Method::PATCH, self.object_path()?, query, to_json(patch.body())?, written)?;
        Ok(Request { content_type: patch.content_type(), accept: projection.accept_one(), ..request })
    }

    pub(crate) fn delete(&self, params: &DeleteParams) -> Result<Request> {
        let written = self.written("delete", delete_precondition(params));
        self.write(Method::DELETE, self.object_path()?, Query::default(), to_json(&delete_options(params))?, written)
    }

    pub(crate) fn delete_collection(&self, params: &DeleteParams, list: &ListParams) -> Result<Request> {
        let written = self.written("deletecollection", delete_precondition(params));
        self.write(Method::DELETE, self.path()?, list_query(list), to_json(&delete_options(params))?, written)
    }

    fn write(&self, method: Method, path: String, query: Query, body: Vec<u8>, written: Written) -> Result<Request> {
        Ok(Request {
            method,
            uri: path + &query.finish(),
            accept: "application/json",
            content_type: "application/json",
            body: body.into(),
            written: Some(written),
        })
    }
}

/// The body of a request.
pub(crate) fn to_json(body: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(body).map_err(not_writable)
}

/// A body that cannot be serialized as JSON.
pub(crate) fn not_writable(error: serde_json::Error) -> Error {
    Error::Request { why: error.to_string() }
}

fn delete_options(params: &DeleteParams) -> serde_json::Value {
    let mut options = serde_json::to_value(params).unwrap_or_default();
    options["kind"] = "DeleteOptions".into();
    options["apiVersion"] = "v1".into();
    options
}

fn delete_precondition(params: &DeleteParams) -> String {
    let Some(preconditions) = &params.preconditions else { return String::new() };
    let uid = preconditions.uid.as_ref().map(|uid| format!("uid={uid}"));
    let version = preconditions.resource_version.as_ref().map(|version| format!("resourceVersion={version}"));
    uid.into_iter().chain(version).collect::<Vec<_>>().join(",")
}

/// A patch with a uid or a version applies only to that one.
fn patch_precondition(patch: &Patch) -> String {
    let metadata = &patch.body()["metadata"];
    let part = |name: &str| Some(format!("{name}={}", metadata[name].as_str()?));
    part("uid").into_iter().chain(part("resourceVersion")).collect::<Vec<_>>().join(",")
}

fn list_query(params: &ListParams) -> Query {
    let mut query = Query::default();
    query.add_text("continue", &params.continue_token);
    query.add_text("fieldSelector", &params.fields);
    query.add_text("labelSelector", &params.labels);
    query.add_number("limit", params.limit);
    query.add_if("resourceVersion", params.resource_version.as_deref());
    query.add_if("resourceVersionMatch", params.version_match.map(|version_match| version_match.as_str()));
    query
}

fn write_query(params: &WriteParams) -> Query {
    let mut query = Query::default();
    query.add_if("dryRun", params.dry_run.then_some("All"));
    query.add_text("fieldManager", &params.field_manager);
    query.add_text("fieldValidation", &params.field_validation);
    query
}

/// A query string under construction.
#[derive(Debug, Default)]
struct Query {
    text: String,
}

impl Query {
    fn add(&mut self, name: &str, value: &str) {
        self.text.push(if self.text.is_empty() { '?' } else { '&' });
        self.text.push_str(name);
        self.text.push('=');
        self.text.extend(percent::component(value));
    }

    fn add_if(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }

    fn add_text(&mut self, name: &str, value: &str) {
        self.add_if(name, (!value.is_empty()).then_some(value));
    }

    fn add_number(&mut self, name: &str, value: u32) {
        if value > 0 {
            self.add(name, &value.to_string());
        }
    }

    fn finish(self) -> String {
        self.text
    }
}

/// Appends path segments. In Kubernetes: `rest.IsValidPathSegmentName`.
fn push_segments(path: &mut String, segments: &[&str]) -> Result<()> {
    for segment in segments {
        if segment.is_empty() || matches!(*segment, "." | "..") || segment.contains(['/', '%']) {
            return Err(Error::Request { why: format!("{segment:?} cannot be part of a path") });
        }
        path.push('/');
        path.extend(percent::component(segment));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pods<'a>(resource: &'a GroupVersionResource, name: &'a str) -> ResourceUrl<'a> {
        ResourceUrl { resource, namespace: "default", name, subresource: "" }
    }

    #[test]
    fn paths_of_the_core_group_and_of_others() {
        let core = GroupVersionResource::new("", "v1", "pods");
        assert_eq!(pods(&core, "web").get(Projection::Whole).unwrap().uri, "/api/v1/namespaces/default/pods/web");
        let apps = GroupVersionResource::new("apps", "v1", "deployments");
        let url = ResourceUrl { resource: &apps, namespace: "", name: "", subresource: "" };
        let list = url.list(&ListParams::labels("app in (a,b)"), Projection::Whole).unwrap();
        assert_eq!(list.uri, "/apis/apps/v1/deployments?labelSelector=app%20in%20%28a%2Cb%29");
    }

    #[test]
    fn a_streaming_list_asks_as_client_go_does() {
        let core = GroupVersionResource::new("", "v1", "pods");
        let params =
            WatchParams { bookmarks: true, initial_events: true, timeout_seconds: 9, ..WatchParams::default() };
        let url = ResourceUrl { namespace: "", ..pods(&core, "") };
        assert_eq!(
            url.watch(&params, Projection::Whole).unwrap().uri,
            "/api/v1/pods?allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=9&watch=true"
        );
    }

    #[test]
    fn writes_say_their_preconditions() {
        let core = GroupVersionResource::new("", "v1", "pods");
        let url = pods(&core, "web");
        let update = url.update(b"{}".to_vec(), "7", &WriteParams::default()).unwrap();
        assert_eq!(update.written.unwrap().precondition, "resourceVersion=7");
        let delete = url.delete(&DeleteParams::now().with_uid("u")).unwrap();
        assert_eq!(delete.written.unwrap().precondition, "uid=u");
        assert_eq!(
            serde_json::from_slice::<serde_json::Value>(&delete.body).unwrap(),
            json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "preconditions": {"uid": "u"}})
        );
        let patch = Patch::Strategic(json!({"metadata": {"uid": "u"}}));
        let patch = url.patch(&patch, &WriteParams::default(), Projection::Whole).unwrap();
        assert_eq!(patch.content_type, "application/strategic-merge-patch+json");
        assert_eq!(patch.written.unwrap().precondition, "uid=u");
    }

    #[test]
    fn names_that_would_leave_the_path_are_refused() {
        let core = GroupVersionResource::new("", "v1", "pods");
        for name in ["..", "a/b", "a%2fb", ""] {
            assert!(pods(&core, name).get(Projection::Whole).is_err(), "{name:?}");
        }
    }
}
