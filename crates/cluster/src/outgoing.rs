#[cfg(feature = "serve")]
use std::sync::Arc;
#[cfg(feature = "serve")]
use std::time::Duration;

use async_trait::async_trait;
use coracle_apiserver::{Body as ServerBody, ExtensionTransport, Unreachable};
#[cfg(feature = "serve")]
use coracle_egress::HttpsCalls;
use coracle_egress::{post_request, read_answer};
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Object, go_quote};
use coracle_registry::{
    Callee, Extension, ExtensionRequest, GetOptions, ListOptions, Outgoing, OutgoingCall, OutgoingResponse, Registry,
    Request, ServiceAddress, Stored, Trust, Verb,
};
use http::header::{ACCEPT, IF_NONE_MATCH};
use http_body_util::Full;

#[cfg(feature = "serve")]
use crate::RealTime;
use crate::service_routes::{Route, ServiceRoutes};
use crate::{ApiServerOptions, Body, Error, Transport, boxed};

/// The user name for the API server's own requests to extension API servers.
const AGGREGATOR: &str = "system:kube-aggregator";

/// How long the headers of an extension API server may take, in the machine's time. In Kubernetes: the timeout of a
/// request, `--request-timeout`.
#[cfg(feature = "serve")]
const PATIENCE: Duration = Duration::from_secs(60);

/// The API server's outgoing calls: to services in this process, and over the network if there are sockets.
pub(crate) struct OutgoingCalls {
    routes: ServiceRoutes,
    network: Network,
}

/// Whether calls can leave the process.
enum Network {
    #[cfg(feature = "serve")]
    Open(HttpsCalls),
    /// Yes, from another runtime.
    #[cfg(feature = "serve")]
    Elsewhere(Arc<HttpsCalls>, RealTime),
    /// No, and why not.
    Closed(&'static str),
}

impl OutgoingCalls {
    /// # Errors
    /// If the client certificate cannot be read.
    pub(crate) fn new(options: &ApiServerOptions) -> Result<Self, Error> {
        Ok(Self { routes: options.service_routes.clone(), network: Network::of_this_runtime(options)? })
    }
}

impl Network {
    fn of_this_runtime(options: &ApiServerOptions) -> Result<Self, Error> {
        let proxy_client = options.proxy_client.as_ref();
        if crate::clock::is_paused() {
            #[cfg(feature = "serve")]
            if let Some(real_time) = &options.real_time {
                return Ok(Self::Elsewhere(Arc::new(HttpsCalls::new(proxy_client)?), real_time.clone()));
            }
            return Ok(Self::Closed(
                "in virtual time the server calls services in this process only: register the webhook as one",
            ));
        }
        #[cfg(feature = "serve")]
        return Ok(Self::Open(HttpsCalls::new(proxy_client)?));
        #[cfg(not(feature = "serve"))]
        {
            let _ = proxy_client;
            Ok(Self::Closed(
                "built without sockets, the server calls services in this process only: register the webhook as one",
            ))
        }
    }

    /// Calls `authority` over the network; its certificate is for `server_name`, or else for its host.
    #[cfg_attr(not(feature = "serve"), expect(unused_variables, reason = "without sockets there are no calls"))]
    async fn post(
        &self,
        origin: &str,
        path: &str,
        server_name: Option<String>,
        call: &OutgoingCall,
    ) -> Result<OutgoingResponse, String> {
        match self {
            #[cfg(feature = "serve")]
            Self::Open(https) => https.post(origin, path, server_name, call).await,
            #[cfg(feature = "serve")]
            Self::Elsewhere(https, real_time) => {
                let (https, call) = (Arc::clone(https), call.clone());
                let (origin, path) = (origin.to_owned(), path.to_owned());
                let within = call.timeout;
                let post = async move { https.post(&origin, &path, server_name, &call).await };
                real_time.run(within, post).await
            }
            Self::Closed(why) => Err((*why).to_owned()),
        }
    }

    /// Sends a request to the API server at `origin`, whose certificate is for `server_name`.
    #[cfg_attr(not(feature = "serve"), expect(unused_variables, reason = "without sockets there are no calls"))]
    async fn send(
        &self,
        origin: &str,
        server_name: String,
        trust: &Trust,
        request: http::Request<Body>,
    ) -> Result<http::Response<Body>, String> {
        match self {
            #[cfg(feature = "serve")]
            Self::Open(https) => https.send(origin, server_name, trust, request).await,
            #[cfg(feature = "serve")]
            Self::Elsewhere(https, real_time) => {
                let (https, origin, trust) = (Arc::clone(https), origin.to_owned(), trust.clone());
                let send = async move { https.send(&origin, server_name, &trust, request).await };
                real_time.run(PATIENCE, send).await
            }
            Self::Closed(why) => Err((*why).to_owned()),
        }
    }
}

#[async_trait]
impl Outgoing for OutgoingCalls {
    async fn post(&self, registry: &Registry, call: &OutgoingCall) -> Result<OutgoingResponse, String> {
        match &*call.to {
            Callee::Url { origin, path } => match self.routes.url(origin) {
                Some(here) => post_here(here, path, call).await,
                None => self.network.post(origin, path, None, call).await,
            },
            Callee::Service { service, path } => match self.way_to(registry, service).await? {
                Route::Here(here) => post_here(&here, path, call).await,
                Route::Address(address) => {
                    self.network.post(&format!("https://{address}"), path, Some(service.server_name()), call).await
                }
            },
        }
    }

    async fn get(&self, registry: &Registry, question: &ExtensionRequest) -> Result<OutgoingResponse, String> {
        let request = http::Request::get(&question.path)
            .header(ACCEPT, question.accept)
            .header("x-remote-user", AGGREGATOR)
            .header("x-remote-group", "system:masters");
        let request = if question.etag.is_empty() { request } else { request.header(IF_NONE_MATCH, &question.etag) };
        let request = request.body(Body::default()).map_err(|error| error.to_string())?;
        read_answer(self.send(registry, &question.to, &question.trust, request).await.map_err(|why| match why {
            Unreachable::Unresolved(why) | Unreachable::NoAnswer(why) => why,
        })?)
        .await
    }

    async fn probe(&self, origin: &str, path: &str) -> Result<OutgoingResponse, String> {
        let request = http::Request::get(path).body(Body::default()).map_err(|error| error.to_string())?;
        read_answer(self.network.send(origin, "localhost".to_owned(), &Trust::Anybody, request).await?).await
    }

    fn is_named(&self, service: &ServiceAddress) -> bool {
        self.routes.service(service).is_some()
    }
}

#[async_trait]
impl ExtensionTransport for OutgoingCalls {
    async fn call(
        &self,
        registry: &Registry,
        to: &Extension,
        request: http::Request<ServerBody>,
    ) -> Result<http::Response<ServerBody>, Unreachable> {
        let answer = self.send(registry, &to.service, &to.trust, request.map(boxed)).await?;
        Ok(answer.map(ServerBody::new))
    }
}

impl OutgoingCalls {
    /// Sends a request to the program that serves a Service.
    async fn send(
        &self,
        registry: &Registry,
        service: &ServiceAddress,
        trust: &Trust,
        mut request: http::Request<Body>,
    ) -> Result<http::Response<Body>, Unreachable> {
        match self.way_to(registry, service).await.map_err(Unreachable::Unresolved)? {
            Route::Here(here) => {
                // A service in this process may read objects; a stored registry would keep itself alive.
                request.extensions_mut().insert(registry.clone());
                here.send(request).await.map_err(|error| Unreachable::NoAnswer(error.to_string()))
            }
            Route::Address(address) => {
                let origin = format!("https://{address}");
                let sent = self.network.send(&origin, service.server_name(), trust, request).await;
                sent.map_err(Unreachable::NoAnswer)
            }
        }
    }

    async fn way_to(&self, registry: &Registry, service: &ServiceAddress) -> Result<Route, String> {
        match self.routes.service(service) {
            Some(route) => Ok(route.clone()),
            None => resolve(registry, service).await.map(Route::Address),
        }
    }
}

/// Calls a service in this process.
async fn post_here(here: &Transport, path: &str, call: &OutgoingCall) -> Result<OutgoingResponse, String> {
    let request = post_request(path, call);
    let request = request.body(boxed(Full::new(call.body.clone()))).map_err(|error| error.to_string())?;
    let answer = here.send(request).await.map_err(|error| error.to_string())?;
    read_answer(answer).await
}

/// The address of a Service without a configured program: its `externalName`, or a manually written endpoint. Selected
/// pods do not serve traffic.
///
/// In Kubernetes: `proxy.ResolveCluster` and `proxy.ResolveEndpoint`.
async fn resolve(registry: &Registry, service: &ServiceAddress) -> Result<String, String> {
    let request = Request::new(Verb::Get, resource("", "services"), registry.ambient().clock.now())
        .object(&service.namespace, &service.name);
    let found = registry.get(&request, &GetOptions::default()).await;
    let object = found.map_err(|status| status.message)?.object();
    if object.text("spec.type") == "ExternalName" {
        return Ok(format!("{}:{}", object.text("spec.externalName"), service.port));
    }
    let ports = object.list("spec.ports");
    let Some(port) = ports.iter().find(|port| port.at("port").as_u64() == Some(u64::from(service.port))) else {
        let name = go_quote(&service.name);
        return Err(format!("no service port {} found for service {name}", service.port));
    };
    if object.at("spec.selector").as_object().is_some_and(|selector| !selector.is_empty()) {
        return Err(format!(
            "no program answers for service \"{0}/{1}\": simulated pods run no containers; \
             name its address with --service-address {0}/{1}:{2}=HOST:PORT",
            service.namespace, service.name, service.port
        ));
    }
    let endpoint = endpoint(registry, &object, port.text("name")).await?;
    endpoint.ok_or_else(|| format!("no endpoints available for service {}", go_quote(&service.name)))
}

/// A ready endpoint that a user wrote for a Service without a selector.
async fn endpoint(registry: &Registry, service: &Object, port: &str) -> Result<Option<String>, String> {
    let now = registry.ambient().clock.now();
    let request =
        Request::new(Verb::List, resource("discovery.k8s.io", "endpointslices"), now).object(service.namespace(), "");
    let slices = registry.list(&request, &ListOptions::default()).await.map_err(|status| status.message)?;
    let slices = slices.items.iter().map(Stored::object);
    let own = slices.filter(|slice| slice.text("metadata.labels.kubernetes\\.io/service-name") == service.name());
    Ok(own.filter_map(|slice| address_in(&slice, port)).next())
}

fn address_in(slice: &Object, port: &str) -> Option<String> {
    let port = slice.list("ports").iter().find(|listed| listed.text("name") == port)?.at("port").as_u64()?;
    let is_ready = |endpoint: &&serde_json::Value| endpoint.at("conditions.ready").as_bool() != Some(false);
    let endpoint = slice.list("endpoints").iter().find(is_ready)?;
    let address = endpoint.list("addresses").first()?.as_str()?;
    Some(if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") })
}

fn resource(group: &str, plural: &str) -> GroupVersionResource {
    GroupVersionResource::new(group, "v1", plural)
}
