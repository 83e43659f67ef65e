use std::io::Write as _;
use std::sync::{Arc, OnceLock};

use coracle_ambient::Ambient;
use coracle_apiserver::{Anonymous, ApiServerConfig, Document, Identification, NodeTransport, Shutdown};
use coracle_auth::{
    AccessWebhook, Authenticators, Authorizers, ClientCertificates, EscalationCheck, Issuer, IssuerSpec,
    ServiceAccountTokens, StaticTokens, TokenRequests, TokenWebhook,
};
use coracle_journal::Recorder;
use coracle_meta::{Cidr, GroupVersion};
use coracle_registry::{Admission, Authenticator, ExpressionPool, Outgoing, Registry, RegistryBuilder};
use coracle_resources::{
    AuthenticationTrust, Config, KubernetesService, LocalApiServices, ServerControllers, TrustedProxies,
};
use coracle_storage::{DecodedObjects, Resource, Storage};
use coracle_storage_backend::StoreControl;
use coracle_store::{Revision, Store};
use coracle_supervisor::{BackgroundTasks, Running, Tasks};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::bootstrap::DefaultObjects;
use crate::expression_threads::ExpressionThreads;
use crate::outgoing::OutgoingCalls;
use crate::token_file::TokenFile;
use crate::{
    AccessWebhookSpec, ApiServerOptions, Error, OpenStore, Requester, TokenWebhookSpec, Transport, TransportLayer,
    bootstrap, clock,
};

/// The revision of a store without a write. In etcd: 1.
const EMPTY: Revision = 1;

/// An API server over a store: registry, authentication, authorization and router. No sockets.
pub struct ApiServer {
    registry: Registry,
    front: Transport,
    identification: Arc<Identification>,
    shutdown: Shutdown,
    limits: Vec<String>,
    issuer: Issuer,
    tasks: Arc<BackgroundTasks>,
    on_demand: OnDemand,
    default_objects: Arc<DefaultObjects>,
}

/// What an API server has only if it is asked for.
#[derive(Default)]
struct OnDemand {
    advertising: Mutex<Option<Running>>,
    store_control: OnceLock<Arc<StoreControl>>,
}

impl std::fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiServer")
    }
}

impl ApiServer {
    /// Assembles an API server and creates missing default objects.
    ///
    /// # Errors
    /// If an option is not valid, or the store refuses.
    pub async fn start(
        options: &ApiServerOptions,
        store: Arc<dyn Store>,
        nodes: Arc<dyn NodeTransport>,
        ambient: &Ambient,
        recorder: &Recorder,
    ) -> Result<Self, Error> {
        let tasks = Tasks::new(ambient.panics.clone());
        Self::start_among(tasks, options, store, Kept::default(), nodes, ambient, recorder).await
    }

    /// Starts an API server whose tasks belong to `tasks`.
    pub(crate) fn start_among<'a>(
        tasks: Tasks,
        options: &'a ApiServerOptions,
        store: Arc<dyn Store>,
        kept: Kept<'a>,
        nodes: Arc<dyn NodeTransport>,
        ambient: &'a Ambient,
        recorder: &'a Recorder,
    ) -> BoxFuture<'a, Result<Self, Error>> {
        // Boxed, so that its code is compiled once, and not in each crate that awaits it.
        Box::pin(Self::started_among(tasks, options, store, kept, nodes, ambient, recorder))
    }

    async fn started_among(
        tasks: Tasks,
        options: &ApiServerOptions,
        store: Arc<dyn Store>,
        kept: Kept<'_>,
        nodes: Arc<dyn NodeTransport>,
        ambient: &Ambient,
        recorder: &Recorder,
    ) -> Result<Self, Error> {
        let ambient = ambient.split("apiserver");
        // Before the revision counts: a kept store has tokens that this key signed.
        let issuer = issuer(options, &ambient)?;
        let (revision, is_empty) = kept.revision(&*store).await?;
        let ambient = after_revision(ambient, revision);
        let authenticator = authenticator(options, &issuer)?;
        let authorizer = authorizer(options)?;
        let limits = limits(options, &issuer);
        let anonymous = anonymous(options, &authorizer);

        let storage = storage(options, store);
        if let Some(decoded) = &kept.decoded {
            storage.reuse_decoded(decoded);
        }
        let caches = {
            let storage = storage.clone();
            Running::start(&tasks, "watch caches", move |_| storage.run().map(|never| match never {}))
        };
        let config = config(options)?;
        let outgoing_calls = Arc::new(OutgoingCalls::new(options)?);
        let builder = Registry::builder(storage, ambient.clone(), recorder.clone())
            .authorizer(Arc::new(authorizer))
            .outgoing(Arc::clone(&outgoing_calls) as Arc<dyn Outgoing>);
        let registry = registry(builder, options, &config, &authenticator, &issuer)?;
        let default_objects = bootstrap::write(&registry, options, &config, kept.objects, is_empty).await?;
        let controllers = load(&registry, options).await?;

        let shutdown = Shutdown::default();
        let config = ApiServerConfig {
            registry: registry.clone(),
            authenticator,
            request_headers: options.request_headers.as_ref().map(|(_, headers)| headers.clone()),
            anonymous,
            nodes,
            extensions: outgoing_calls,
            documents: documents(options, &issuer),
            descriptions: Arc::clone(&options.descriptions),
            limits: options.limits,
            flows: controllers.flows(),
            audit: options.audit.clone(),
            shutdown: shutdown.clone(),
        };
        let identification = Arc::new(config.identification());
        let router = coracle_apiserver::router(config);
        let controllers = controllers.tasks().map(|(name, begin)| Running::start(&tasks, name, move |_| begin()));
        let running: Vec<_> = controllers.chain([caches]).collect();
        let tasks = Arc::new(BackgroundTasks::new(tasks, running));
        let front = Transport::to(router).kept_by(Arc::clone(&tasks));
        let on_demand = OnDemand::default();
        Ok(Self { registry, front, identification, shutdown, limits, issuer, tasks, on_demand, default_objects })
    }

    /// The transport for clients: each request has its own credentials.
    pub fn transport(&self) -> Transport {
        self.front.clone()
    }

    /// Like [`transport`](Self::transport), behind a layer, which learns the users of requests with
    /// [`Requester::identify`].
    pub fn transport_behind(&self, layer: &TransportLayer) -> Transport {
        layer(&Requester::connections(Arc::clone(&self.identification)), self.transport())
    }

    /// Returns the plurals of served kinds, by `apiVersion` and `kind`. Kinds that are served later are included.
    pub fn plurals(&self) -> impl Fn(&str, &str) -> Option<String> + Send + Sync + use<> {
        let registry = self.registry.clone();
        move |api_version, kind| {
            let kinds = registry.kinds();
            Some(kinds.kind(&GroupVersion::parse(api_version)?.kind(kind))?.row().plural.clone())
        }
    }

    /// Controls the store of this API server. Later calls return the same as the first.
    pub(crate) fn store_control(&self, store: &OpenStore, recorder: &Recorder) -> &Arc<StoreControl> {
        let make = || Arc::new(self.new_store_control(store, recorder, self.tasks.tasks()));
        self.on_demand.store_control.get_or_init(make)
    }

    /// Controls the store of this API server, with these tasks.
    pub(crate) fn new_store_control(&self, store: &OpenStore, recorder: &Recorder, tasks: &Tasks) -> StoreControl {
        let registry = self.registry.clone();
        StoreControl::new(store, recorder, tasks, move || forget_watch_caches(&registry))
    }

    /// The registry.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The default objects, which are in the store unless a client has deleted them.
    pub(crate) fn default_objects(&self) -> Arc<DefaultObjects> {
        Arc::clone(&self.default_objects)
    }

    /// The issuer of service account tokens.
    pub(crate) fn issuer(&self) -> &Issuer {
        &self.issuer
    }

    /// The unsupported settings in the configuration, one sentence each.
    pub fn limits(&self) -> &[String] {
        &self.limits
    }

    /// Declares that other API servers write to the same store: this one then serves the custom kinds that they define,
    /// and claims node ports in the store.
    pub fn follow(&self) {
        self.registry.share_store();
        let registry = self.registry.clone();
        self.tasks.start("custom kinds", move || {
            let registry = registry.clone();
            async move { match registry.follow_custom_kinds().await {} }
        });
    }

    /// Adds this API server to the endpoints of the Service `kubernetes`, until [`Self::stop`]. `shared` is whether
    /// other API servers may use the same store. Without an external address, there are no endpoints.
    ///
    /// # Errors
    /// If an option is not valid.
    pub async fn advertise(&self, options: &ApiServerOptions, shared: bool) -> Result<(), Error> {
        let Some(public) = options.public() else { return Ok(()) };
        let service = bootstrap::kubernetes_service(options, &config(options)?);
        let service = Arc::new(KubernetesService::new(&self.registry, service, public, shared));
        service.begin().await;
        let advertising = self.tasks.running("service kubernetes", move |stop| {
            let service = Arc::clone(&service);
            async move { service.run_until(stop.asked()).await }
        });
        *self.on_demand.advertising.lock() = Some(advertising);
        Ok(())
    }

    /// Waits for `work`, unless the API server ends before, because one of its tasks panicked.
    ///
    /// # Errors
    /// [`Error::Panic`] with the task and its message. No task of the API server runs afterwards, and no request is
    /// served.
    pub async fn unless_ended<R>(&self, work: impl Future<Output = R>) -> Result<R, Error> {
        Ok(self.tasks.unless_panicked(work).await?)
    }

    /// Removes this API server from the endpoints of the Service `kubernetes` if others may remain, ends the watches
    /// cleanly and lets `/readyz` fail.
    pub async fn stop(&self) {
        let advertising = self.on_demand.advertising.lock().take();
        if let Some(advertising) = advertising {
            advertising.stop().await;
        }
        self.shutdown.begin();
    }
}

/// The issuer of tokens. In virtual time its key and its signatures follow from the seed.
fn issuer(options: &ApiServerOptions, ambient: &Ambient) -> Result<Issuer, Error> {
    let spec = &options.service_accounts.issuer;
    let seed = clock::is_paused().then(|| ambient.random.split("service accounts"));
    Issuer::new(&IssuerSpec { seed: spec.seed.clone().or(seed), ..spec.clone() }).map_err(Error::options)
}

fn authenticator(options: &ApiServerOptions, issuer: &Issuer) -> Result<Arc<dyn Authenticator>, Error> {
    let mut all: Vec<Arc<dyn Authenticator>> = vec![Arc::new(ClientCertificates)];
    if let Some(tokens) = &options.tokens {
        all.push(Arc::new(StaticTokens::parse(tokens).map_err(Error::options)?));
    }
    if let Some(path) = &options.token_auth_file {
        all.push(Arc::new(TokenFile::open(path)?));
    }
    all.push(Arc::new(ServiceAccountTokens::new(issuer.clone())));
    if let Some(TokenWebhookSpec { webhook, cache_ttl }) = &options.token_webhook {
        all.push(Arc::new(TokenWebhook::new(webhook.clone(), issuer.audiences(), *cache_ttl)));
    }
    Ok(Arc::new(Authenticators::new(all)))
}

fn authorizer(options: &ApiServerOptions) -> Result<Authorizers, Error> {
    let webhook = options.authorization_webhook.as_ref().map(
        |AccessWebhookSpec { webhook, authorized_ttl, unauthorized_ttl }| {
            AccessWebhook::new(webhook.clone(), *authorized_ttl, *unauthorized_ttl)
        },
    );
    Authorizers::parse(&options.authorization_mode, webhook).map_err(Error::options)
}

/// Which requests without credentials are accepted. If the authorizer allows everything, only those for health and
/// version are.
fn anonymous(options: &ApiServerOptions, authorizer: &Authorizers) -> Anonymous {
    match (options.anonymous_auth, authorizer.allows_everything()) {
        (false, _) => Anonymous::Nowhere,
        (true, true) => Anonymous::HealthAndVersion,
        (true, false) => Anonymous::Everywhere,
    }
}

/// The enabled admission plug-ins.
fn plugins(options: &ApiServerOptions) -> Result<Vec<Arc<dyn Admission>>, Error> {
    let named: Vec<&str> = options.enable_admission_plugins.iter().map(String::as_str).collect();
    let disabled: Vec<&str> = options.disable_admission_plugins.iter().map(String::as_str).collect();
    let mut plugins =
        coracle_admission::plugins(&named, &disabled, &options.admission_configurations, &options.release)
            .map_err(Error::options)?;
    let tolerations = Arc::new(options.default_tolerations);
    let own = plugins.iter_mut().filter(|plugin| plugin.name() == tolerations.name());
    own.for_each(|plugin| *plugin = Arc::clone(&tolerations) as Arc<dyn Admission>);
    Ok(plugins)
}

/// The unsupported settings, one sentence each.
fn limits(options: &ApiServerOptions, issuer: &Issuer) -> Vec<String> {
    let mut limits = Vec::new();
    if let (Some(address), None) = (options.advertise_address, options.public()) {
        limits.push(format!("the service kubernetes has no endpoints: from other machines, {address} is not this one"));
    }
    if documents(options, issuer).is_empty() {
        limits.push(format!(
            "the keys of service accounts are not published: issuer {:?} is no https URL",
            issuer.name()
        ));
    }
    limits
}

fn config(options: &ApiServerOptions) -> Result<Config, Error> {
    Ok(Config {
        release: options.release.clone(),
        service_cluster_ip_ranges: ranges(&options.service_cluster_ip_range)?,
        service_node_ports: options.service_node_port_range,
        event_seconds: options.event_seconds,
    })
}

/// The registry with kinds, plug-ins and authorizer.
fn registry(
    builder: RegistryBuilder,
    options: &ApiServerOptions,
    config: &Config,
    authenticator: &Arc<dyn Authenticator>,
    issuer: &Issuer,
) -> Result<Registry, Error> {
    let (service_accounts, token) =
        TokenRequests::new(&options.release, issuer.clone(), options.service_accounts.lifetimes).into_subresource();
    let mut kinds = coracle_resources::kinds(config);
    kinds.retain(|kind| options.runtime_config.serves(&kind.spec().row.resource()));
    let builder = options.etcd_prefix.iter().fold(builder, |builder, root| builder.store_root(root));
    let mut builder = builder
        .kinds(kinds)
        .release(options.release.clone())
        .admission(plugins(options)?)
        .admission([Arc::new(EscalationCheck::default()) as Arc<dyn Admission>, Arc::new(LocalApiServices)])
        .subresource(service_accounts, token);
    for (resource, computed) in coracle_auth::reviews(Arc::clone(authenticator), issuer.audiences()) {
        builder = builder.computed(resource, computed);
    }
    if let Some(components) = &options.running_components {
        builder = builder.components(Arc::clone(components));
    }
    let threads = || ExpressionThreads::of_this_runtime().map(|threads| Arc::new(threads) as Arc<dyn ExpressionPool>);
    if let Some(pool) = options.expression_pool.clone().or_else(threads) {
        builder = builder.expression_pool(pool);
    }
    Ok(builder.build())
}

/// Updates everything that is computed from stored objects.
async fn load(registry: &Registry, options: &ApiServerOptions) -> Result<ServerControllers, Error> {
    registry.load_custom_kinds().await?;
    let controllers = ServerControllers::new(registry, trust(options));
    controllers.sync().await?;
    Ok(controllers)
}

/// The certificate authorities and headers that this API server trusts, as published for extension API servers.
fn trust(options: &ApiServerOptions) -> AuthenticationTrust {
    let proxies = options.request_headers.as_ref().map(|(authority, headers)| TrustedProxies {
        authority,
        allowed_names: &headers.allowed_names,
        username_headers: &headers.username_headers,
        uid_headers: &headers.uid_headers,
        group_headers: &headers.group_headers,
        extra_headers_prefix: &headers.extra_headers_prefix,
    });
    AuthenticationTrust::new(options.client_ca.as_deref(), proxies)
}

/// Ends all watches of an API server, which then fills its watch caches again.
fn forget_watch_caches(registry: &Registry) {
    for kind in registry.kinds().iter() {
        let spec = kind.strategy().spec();
        let cached = Resource::new(spec.row.resource().group_resource(), spec.store_directory.clone(), true);
        registry.storage().forget(&cached);
    }
}

/// The objects in the store, with reports about values that cannot be decoded.
fn storage(options: &ApiServerOptions, store: Arc<dyn Store>) -> Storage {
    let streams_ranges = options.release.enabled("EtcdRangeStream");
    let storage = if streams_ranges { Storage::streaming(store) } else { Storage::new(store) };
    storage.report_unreadable(|key, why| {
        let _ = writeln!(std::io::stderr(), "coracle: {key} is kept and left out: {why}");
    });
    storage
}

/// What an API server finds in its store.
#[derive(Default)]
pub(crate) struct Kept<'a> {
    /// The default objects that are in it.
    pub(crate) objects: Option<&'a Arc<DefaultObjects>>,
    /// The revision of which its state is, if that is not its newest one.
    pub(crate) revision: Option<Revision>,
    /// What another API server of the same release has decoded of it.
    pub(crate) decoded: Option<DecodedObjects>,
}

impl Kept<'_> {
    /// The revision of which the state of `store` is, and whether the store has never had an object.
    async fn revision(&self, store: &dyn Store) -> Result<(Revision, bool), Error> {
        if let Some(revision) = self.revision {
            return Ok((revision, false));
        }
        let revision = store.status().await?.revision;
        Ok((revision, revision <= EMPTY))
    }
}

/// The randomness of an API server that starts with this store. With the same seed and a store that earlier servers
/// wrote, it does not repeat their uids.
fn after_revision(ambient: Ambient, revision: Revision) -> Ambient {
    match revision {
        ..=EMPTY => ambient,
        written => ambient.split(&format!("after revision {written}")),
    }
}

/// The documents with which other programs verify the issuer's tokens.
fn documents(options: &ApiServerOptions, issuer: &Issuer) -> Vec<Document> {
    let documents = issuer.documents(&options.url(), options.service_accounts.jwks_uri.as_deref()).into_iter();
    documents.map(|(path, media_type, body)| Document { path, media_type, body }).collect()
}

fn ranges(list: &str) -> Result<Vec<Cidr>, Error> {
    list.split(',').map(|range| Cidr::parse(range.trim()).map_err(Error::options)).collect()
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::time::Duration;

    use coracle_apiserver::NoNodes;
    use coracle_meta::fields::Fields;
    use coracle_meta::{GroupVersionResource, Object};
    use coracle_registry::{DeleteOptions, GetOptions, Request, Verb};

    use super::*;
    use crate::StoreSpec;

    async fn at(address: [u8; 4], store: &Arc<dyn Store>, shared: bool) -> ApiServer {
        let address = IpAddr::from(address);
        let options = ApiServerOptions {
            advertised: Some((address, 6443).into()),
            advertise_address: Some(address),
            ..ApiServerOptions::default()
        };
        let (ambient, recorder) = (Ambient::seeded(1), Recorder::off());
        let server =
            ApiServer::start(&options, Arc::clone(store), Arc::new(NoNodes), &ambient, &recorder).await.unwrap();
        server.advertise(&options, shared).await.unwrap();
        server
    }

    fn request(server: &ApiServer, verb: Verb, group: &str, plural: &str) -> Request {
        let resource = GroupVersionResource::new(group, "v1", plural);
        Request::new(verb, resource, server.registry.ambient().clock.now()).object("default", "kubernetes")
    }

    async fn get(server: &ApiServer, group: &str, plural: &str) -> Object {
        let request = request(server, Verb::Get, group, plural);
        Object::clone(&server.registry.get(&request, &GetOptions::default()).await.unwrap().object())
    }

    /// What the endpoints say, after the slice was seen to say the same.
    async fn addresses(server: &ApiServer) -> Vec<String> {
        let endpoints = get(server, "", "endpoints").await;
        let subsets = endpoints.list("subsets").iter();
        let said = subsets.flat_map(|subset| subset.list("addresses")).map(|address| address.text("ip").to_owned());
        let said: Vec<String> = said.collect();
        let slice = get(server, "discovery.k8s.io", "endpointslices").await;
        let sliced = slice.list("endpoints").iter().flat_map(|endpoint| endpoint.list("addresses"));
        let sliced: Vec<&str> = sliced.filter_map(|address| address.as_str()).collect();
        assert_eq!(sliced, said);
        said
    }

    async fn store() -> crate::OpenStore {
        StoreSpec::Memory.open(&Ambient::seeded(1), &Recorder::off()).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn endpoints_contain_all_api_servers_of_a_store_until_their_lease_expires() {
        let opened = store().await;
        let store = Arc::clone(&opened.store);
        let one = at([10, 1, 0, 1], &store, true).await;
        assert_eq!(addresses(&one).await, ["10.1.0.1"]);
        let two = at([10, 1, 0, 2], &store, true).await;
        let three = at([10, 1, 0, 3], &store, true).await;
        assert_eq!(addresses(&one).await, ["10.1.0.1", "10.1.0.2", "10.1.0.3"]);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(addresses(&one).await, ["10.1.0.1", "10.1.0.2", "10.1.0.3"], "they renew what they said");
        two.stop().await;
        assert_eq!(addresses(&one).await, ["10.1.0.1", "10.1.0.3"], "it says that it goes");
        drop(three);
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(addresses(&one).await, ["10.1.0.1"], "it was taken for gone");
        one.stop().await;
        assert_eq!(addresses(&one).await, [""; 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_service_kubernetes_is_repaired_and_nothing_is_written_otherwise() {
        let opened = store().await;
        let store = Arc::clone(&opened.store);
        let server = at([10, 1, 0, 1], &store, false).await;
        let service = get(&server, "", "services").await;
        for (group, plural) in [("", "services"), ("", "endpoints"), ("discovery.k8s.io", "endpointslices")] {
            let delete = request(&server, Verb::Delete, group, plural);
            server.registry.delete(&delete, &DeleteOptions::default()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert_eq!(addresses(&server).await, ["10.1.0.1"], "{plural}");
        }
        assert_eq!(get(&server, "", "services").await.at("spec.clusterIP"), service.at("spec.clusterIP"));
        let revision = store.status().await.unwrap().revision;
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(store.status().await.unwrap().revision, revision);
    }

    #[tokio::test(start_paused = true)]
    async fn a_changed_port_after_a_restart_is_published() {
        let opened = store().await;
        let store = Arc::clone(&opened.store);
        let server = at([10, 1, 0, 1], &store, false).await;
        let mut endpoints = get(&server, "", "endpoints").await;
        server.stop().await;
        endpoints.set("subsets", serde_json::json!([{"addresses": [{"ip": "10.1.0.1"}], "ports": [{"port": 1}]}]));
        server.registry.update(&request(&server, Verb::Update, "", "endpoints"), endpoints).await.unwrap();
        let server = at([10, 1, 0, 1], &store, false).await;
        let subset = get(&server, "", "endpoints").await.list("subsets")[0].clone();
        assert_eq!((subset.list("ports")[0].at("port"), subset.list("ports").len()), (&6443.into(), 1));
    }
}
