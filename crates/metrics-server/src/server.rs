use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use coracle_ambient::Timestamp;
use coracle_handover::Body;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupResource, GroupVersionResource, Object, ObjectKey, Status};
use coracle_registry::{GetOptions, ListOptions, Registry, Request, Stored, Verb};
use futures_util::future::BoxFuture;
use http::{Response, StatusCode};
use http_body_util::Full;
use serde_json::Value;
use tower::Service;

use crate::metrics::Names;
use crate::nodes::Nodes;
use crate::request::{MeasuredKind, MetricsRequest, Target};
use crate::usage::Usage;
use crate::window::Beats;
use crate::{GROUP, metrics, versions};

/// The extension API server of `metrics.k8s.io`, as a tower service in this process.
///
/// Each request must have the [`Registry`] of the objects among its extensions. A registry that the server kept would
/// keep itself alive.
#[derive(Clone)]
pub struct MetricsServer {
    nodes: Arc<dyn Nodes>,
}

impl std::fmt::Debug for MetricsServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MetricsServer")
    }
}

impl MetricsServer {
    /// Over these nodes.
    pub fn new(nodes: Arc<dyn Nodes>) -> Self {
        Self { nodes }
    }

    async fn answer(&self, request: http::Request<Body>) -> Result<Value, Status> {
        let registry = request.extensions().get::<Registry>();
        let registry = registry.ok_or_else(|| Status::internal("the registry is not initialised"))?;
        let versions = versions::of(registry);
        let asked = MetricsRequest::read(request.method(), request.uri(), request.headers(), versions)?;
        let (version, which) = match asked.target {
            Target::Document(document) => return Ok(document),
            Target::Metrics(version, which) => (version, which),
        };
        let now = registry.ambient().clock.now();
        let names = match which {
            MeasuredKind::Nodes => Names::nodes(version),
            MeasuredKind::Pods => Names::pods(version),
        };
        let beats = Beats::before(now);
        let about = Request::new(Verb::List, GroupVersionResource::new("", "v1", names.resource), now)
            .object(&asked.namespace, &asked.name);
        if asked.name.is_empty() {
            let options =
                ListOptions { label_selector: asked.labels, field_selector: asked.fields, ..ListOptions::default() };
            let listed = registry.list(&about, &options).await?;
            let objects: Vec<_> = listed.items.iter().map(Stored::object).collect();
            let found = self.found(registry, which, objects.iter().map(|object| &**object), beats).await;
            let mut items: Vec<Value> = objects.iter().filter_map(|object| found.metrics(which, object, now)).collect();
            items.sort_by_cached_key(|item| {
                (item.text("metadata.namespace").to_owned(), item.text("metadata.name").to_owned())
            });
            return Ok(asked.form.of_list(&names, items));
        }
        let object = registry.get(&about, &GetOptions::default()).await?.object();
        let found = self.found(registry, which, [&*object].into_iter(), beats).await;
        let metrics = found.metrics(which, &object, now).ok_or_else(|| {
            let key = ObjectKey::new(asked.namespace.as_str(), asked.name.as_str());
            Status::not_found(&GroupResource::new(GROUP, names.metrics), &key.to_string())
        })?;
        Ok(asked.form.of_one(&names, metrics))
    }

    /// Asks the nodes that these objects are, or that these pods are on.
    async fn found(
        &self,
        registry: &Registry,
        which: MeasuredKind,
        objects: impl Iterator<Item = &Object>,
        beats: Beats,
    ) -> Found {
        let names = objects.map(|object| node_of(which, object).to_owned()).filter(|name| !name.is_empty());
        let names: BTreeSet<String> = names.collect();
        Found { nodes: Usage::of_nodes(&*self.nodes, registry, names, beats).await, beats }
    }
}

fn node_of(which: MeasuredKind, object: &Object) -> &str {
    match which {
        MeasuredKind::Nodes => object.name(),
        MeasuredKind::Pods => object.text("spec.nodeName"),
    }
}

/// The usage for one response.
struct Found {
    /// The usage of each node that has answered, by name.
    nodes: BTreeMap<String, Usage>,
    beats: Beats,
}

impl Found {
    /// What a node or pod used; `None` if it is unknown.
    fn metrics(&self, which: MeasuredKind, object: &Object, now: Timestamp) -> Option<Value> {
        let (beats, node) = (self.beats, self.nodes.get(node_of(which, object))?);
        match which {
            MeasuredKind::Nodes => {
                let (before, last) = node.node(beats)?;
                Some(metrics::of_node(object, &beats.node(&before, &last), beats.last, now))
            }
            MeasuredKind::Pods => {
                let key = ObjectKey::new(object.namespace(), object.name());
                let (before, last) = node.pod(&key, beats).filter(|(_, last)| last.uid == object.uid())?;
                Some(metrics::of_pod(object, &beats.pod(before.as_ref(), &last)?, beats.last, now))
            }
        }
    }
}

impl Service<http::Request<Body>> for MetricsServer {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            let (code, document) = match server.answer(request).await {
                Ok(document) => (StatusCode::OK, document),
                Err(status) => {
                    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                    (code, refusal(&status))
                }
            };
            let mut response = Response::new(Body::new(Full::from(document.to_string())));
            *response.status_mut() = code;
            let json = http::HeaderValue::from_static("application/json");
            response.headers_mut().insert(http::header::CONTENT_TYPE, json);
            Ok(response)
        })
    }
}

fn refusal(status: &Status) -> Value {
    let mut document = serde_json::to_value(status).unwrap_or_default();
    document["kind"] = "Status".into();
    document["apiVersion"] = "v1".into();
    document
}
