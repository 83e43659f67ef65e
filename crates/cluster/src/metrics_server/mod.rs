//! `metrics.k8s.io`: the resource usage of pods and nodes, served in this process like an extension API server.
//!
//! ```text
//! aggregator --request--> Asked (pure) --registry: which objects; nodes: what they counted--> window (pure) --> metrics, table (pure)
//! ```
//! Nothing is scraped in advance: a request reads the counters of the last two multiples of 15 s. Nodes of other
//! processes return theirs from `/stats/summary` with that time as a parameter.
//! In Kubernetes: `sigs.k8s.io/metrics-server`. Its roles and objects are in `manifests`.

mod asked;
mod documents;
mod manifests;
mod metrics;
mod summary;
mod table;
mod usage;
mod window;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::task::{Context, Poll};

use coracle_ambient::Timestamp;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupResource, GroupVersionResource, Object, ObjectKey, Status};
use coracle_registry::{DeleteOptions, GetOptions, ListOptions, Registry, Request, Stored, Verb};
use futures_util::future::BoxFuture;
use http::{Response, StatusCode};
use http_body_util::Full;
use serde_json::Value;
use tower::Service;

use self::asked::{Asked, What, Which};
use self::manifests::{API_SERVICE, SIMULATED, manifests};
use self::usage::Usage;
use self::window::Beats;
use crate::bootstrap::create_if_missing;
use crate::node_transport::NodeTransports;
use crate::{ApiServerSpec, Body, Transport, boxed};

/// The Service that it answers for.
const SERVICE: (&str, &str) = ("kube-system", "metrics-server");
const GROUP: &str = "metrics.k8s.io";
const VERSION: &str = "v1beta1";

/// Answers for the nodes of this process and those that it can reach. The registry that is asked which objects there are comes with each request.
#[derive(Clone, Debug)]
struct MetricsServer {
    nodes: NodeTransports,
}

/// Lets the API server of `spec` answer for `metrics.k8s.io`, asking nodes on these ways.
pub fn answer_for(spec: &mut ApiServerSpec, nodes: NodeTransports) {
    let (namespace, name) = SERVICE;
    spec.service_routes.answer_for_service(namespace, name, Transport::to(MetricsServer::new(nodes)));
}

/// Lets the cluster have what leads to the metrics server, or takes away what an earlier start has left of that.
///
/// # Errors
/// What the API server answers.
pub async fn settle(registry: &Registry, is_there: bool) -> Result<(), Status> {
    if is_there {
        for object in manifests() {
            create_if_missing(registry, object).await?;
        }
        return Ok(());
    }
    let api_services = GroupVersionResource::new("apiregistration.k8s.io", "v1", "apiservices");
    let about = |verb| Request::new(verb, api_services.clone(), registry.ambient().clock.now()).object("", API_SERVICE);
    match registry.get(&about(Verb::Get), &GetOptions::default()).await {
        Ok(found) if found.object().at("metadata.annotations").get(SIMULATED).is_some() => {
            registry.delete(&about(Verb::Delete), &DeleteOptions::default()).await.map(drop)
        }
        Err(status) if !status.is_not_found() => Err(status),
        _ => Ok(()),
    }
}

impl MetricsServer {
    fn new(nodes: NodeTransports) -> Self {
        Self { nodes }
    }

    async fn answer(&self, request: http::Request<Body>) -> Result<Value, Status> {
        let asked = Asked::read(request.method(), request.uri(), request.headers())?;
        let which = match asked.what {
            What::Document(document) => return Ok(document),
            What::Metrics(which) => which,
        };
        let registry = request.extensions().get::<Registry>();
        let registry = registry.ok_or_else(|| Status::internal("the registry is not initialised"))?;
        let now = registry.ambient().clock.now();
        let names = match which {
            Which::Nodes => metrics::NODES,
            Which::Pods => metrics::PODS,
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

    /// What the nodes say that these objects are, or are on.
    async fn found(
        &self,
        registry: &Registry,
        which: Which,
        objects: impl Iterator<Item = &Object>,
        beats: Beats,
    ) -> Found {
        let names = objects.map(|object| node_of(which, object).to_owned()).filter(|name| !name.is_empty());
        let names: BTreeSet<String> = names.collect();
        Found { nodes: Usage::of_nodes(&self.nodes, registry, names, beats).await, beats }
    }
}

fn node_of(which: Which, object: &Object) -> &str {
    match which {
        Which::Nodes => object.name(),
        Which::Pods => object.text("spec.nodeName"),
    }
}

/// What is found out for one answer.
struct Found {
    /// The nodes that have answered.
    nodes: BTreeMap<String, Usage>,
    beats: Beats,
}

impl Found {
    /// What a node or pod used; none if nothing is known of it.
    fn metrics(&self, which: Which, object: &Object, now: Timestamp) -> Option<Value> {
        let (beats, node) = (self.beats, self.nodes.get(node_of(which, object))?);
        match which {
            Which::Nodes => {
                let (before, last) = node.node(beats)?;
                Some(metrics::of_node(object, &beats.node(&before, &last), beats.last, now))
            }
            Which::Pods => {
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
            let mut response = Response::new(boxed(Full::from(document.to_string())));
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
