//! The registry: the served kinds, and the traits that it calls, for kinds and for requests.

mod admission;
mod authenticator;
mod authorizer;
mod changed_paths;
mod claims;
mod components;
mod conversion;
mod expression_pool;
mod extensions;
mod foreign_values;
mod hooks;
mod kind;
mod kind_spec;
mod kinds;
mod offers;
mod outgoing;
mod questions;
mod reinvocation;
mod strategy;
mod subresource;
mod verdicts;

pub use admission::{Admission, Operation, Review};
pub use authenticator::{Authenticated, Authenticator, Credentials};
pub use authorizer::{Attributes, Authorizer, Decision, PathRule, ResourceRule, Rules, Target, forbidden};
pub use claims::Claim;
pub use components::RunningComponents;
pub use conversion::ConversionWebhook;
pub use expression_pool::ExpressionPool;
pub use extensions::{Extension, ExtensionDocuments, Extensions};
pub(crate) use hooks::NoHooks;
pub use hooks::{Hooks, Reservation};
pub use kind::Kind;
pub use kind_spec::{Former, Generation, KindSpec, unknown_finalizer};
pub use kinds::Kinds;
pub(crate) use kinds::ServedVersion;
pub use offers::{MemoryForm, Offers, Rank, Refusals};
pub use outgoing::{
    CallError, Callee, Caller, ClientConfig, ExtensionRequest, Outgoing, OutgoingCall, OutgoingResponse,
    ServiceAddress, Trust, check_review_kind,
};
pub use questions::{Planned, Questions, Unplanned};
pub use reinvocation::Reinvocation;
pub use strategy::Strategy;
pub use subresource::{Action, Computed, Connect, Destination, Projection, Subresource, View};

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arc_swap::ArcSwap;
use coracle_ambient::Ambient;
use coracle_journal::Recorder;
use coracle_meta::{GroupVersionResource, Status};
use coracle_release::Release;
use coracle_storage::{Resource, Storage};
use tokio::sync::Notify;

use crate::{Request, User, Verb};

/// The served kinds and the verbs. A handle: clones share the registry.
#[derive(Clone)]
pub struct Registry {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) storage: Storage,
    pub(crate) ambient: Ambient,
    pub(crate) recorder: Recorder,
    release: Release,
    pub(crate) admission: Vec<Arc<dyn Admission>>,
    authorizer: Option<Arc<dyn Authorizer>>,
    outgoing: Option<Arc<dyn Outgoing>>,
    expression_pool: Option<Arc<dyn ExpressionPool>>,
    components: Option<Arc<dyn RunningComponents>>,
    is_store_shared: AtomicBool,
    kinds: ArcSwap<Kinds>,
    kinds_changed: Notify,
    store_root: Option<Arc<str>>,
    extensions: ArcSwap<Extensions>,
}

/// Builds a [`Registry`].
pub struct RegistryBuilder {
    storage: Storage,
    ambient: Ambient,
    recorder: Recorder,
    release: Release,
    strategies: Vec<Arc<dyn Strategy>>,
    admission: Vec<Arc<dyn Admission>>,
    computed: Vec<(GroupVersionResource, Arc<dyn Computed>)>,
    subresources: Vec<(GroupVersionResource, Subresource)>,
    store_root: Option<Arc<str>>,
    authorizer: Option<Arc<dyn Authorizer>>,
    outgoing: Option<Arc<dyn Outgoing>>,
    expression_pool: Option<Arc<dyn ExpressionPool>>,
    components: Option<Arc<dyn RunningComponents>>,
}

impl RegistryBuilder {
    /// Sets the release of the API server.
    #[must_use]
    pub fn release(mut self, release: Release) -> Self {
        self.release = release;
        self
    }

    /// Sets the component that decides what a user may do. Without one, everything is allowed.
    #[must_use]
    pub fn authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.authorizer = Some(authorizer);
        self
    }

    /// Sets the transport for calls of webhooks and components. Without one, such calls fail.
    #[must_use]
    pub fn outgoing(mut self, outgoing: Arc<dyn Outgoing>) -> Self {
        self.outgoing = Some(outgoing);
        self
    }

    /// Sets the threads that run costly work. Without them, the task of the request runs it.
    #[must_use]
    pub fn expression_pool(mut self, pool: Arc<dyn ExpressionPool>) -> Self {
        self.expression_pool = Some(pool);
        self
    }

    /// Sets the source that knows which components run in this process. Without one, [`Registry::probe`] asks them over
    /// the network.
    #[must_use]
    pub fn components(mut self, components: Arc<dyn RunningComponents>) -> Self {
        self.components = Some(components);
        self
    }

    /// Sets the key prefix of all objects in the store.
    #[must_use]
    pub fn store_root(mut self, root: &str) -> Self {
        self.store_root = Some(root.into());
        self
    }

    /// Adds these kinds.
    #[must_use]
    pub fn kinds(mut self, strategies: impl IntoIterator<Item = Arc<dyn Strategy>>) -> Self {
        self.strategies.extend(strategies);
        self
    }

    /// Sets the admission plug-ins, in this order.
    #[must_use]
    pub fn admission(mut self, plugins: impl IntoIterator<Item = Arc<dyn Admission>>) -> Self {
        self.admission.extend(plugins);
        self
    }

    /// Sets the handler of a computed kind, if its strategy has none.
    #[must_use]
    pub fn computed(mut self, resource: GroupVersionResource, computed: Arc<dyn Computed>) -> Self {
        self.computed.push((resource, computed));
        self
    }

    /// Adds a subresource to those of a kind's strategy.
    #[must_use]
    pub fn subresource(mut self, parent: GroupVersionResource, subresource: Subresource) -> Self {
        self.subresources.push((parent, subresource));
        self
    }

    /// Builds the registry.
    pub fn build(self) -> Registry {
        let inner = Inner {
            storage: self.storage,
            ambient: self.ambient,
            recorder: self.recorder,
            release: self.release,
            admission: self.admission,
            authorizer: self.authorizer,
            outgoing: self.outgoing,
            expression_pool: self.expression_pool,
            components: self.components,
            is_store_shared: AtomicBool::default(),
            kinds: ArcSwap::default(),
            kinds_changed: Notify::new(),
            store_root: self.store_root,
            extensions: ArcSwap::default(),
        };
        let registry = Registry { inner: Arc::new(inner) };
        registry.change_kinds(|kinds| {
            for strategy in &self.strategies {
                let root = registry.inner.store_root.as_ref();
                let mut kind = resolve(strategy, &self.strategies, root);
                let resource = kind.gvr();
                let own = self.computed.iter().find(|(of, _)| *of == resource);
                kind.computed = own.map(|(_, computed)| Arc::clone(computed));
                let more = self.subresources.iter().filter(|(of, _)| *of == resource);
                kind.subresources.extend(more.map(|(_, subresource)| subresource.clone()));
                kinds.insert(kind);
            }
        });
        registry
    }
}

/// The kind of a strategy, with its hub among `all`.
fn resolve(strategy: &Arc<dyn Strategy>, all: &[Arc<dyn Strategy>], root: Option<&Arc<str>>) -> Kind {
    let row = &strategy.spec().row;
    let is_hub = |other: &&Arc<dyn Strategy>| other.spec().row.resource() == row.stored_as;
    let found = || strategy.hub().or_else(|| all.iter().find(is_hub).cloned());
    let hub = if strategy.spec().is_converted() { found() } else { None };
    let stored = hub.as_ref().unwrap_or(strategy);
    let name = row.resource().group_resource();
    let directory = stored.spec().store_directory.clone();
    let store = Resource::new(name, directory, row.scope == coracle_meta::Scope::Namespaced);
    let mut store = foreign_values::readable(store, stored, all);
    if let Some(root) = root {
        store.root = Arc::clone(root);
    }
    store.selectable = stored.selectable_fields().into_iter().flatten().map(str::to_owned).collect();
    store.indexed = stored.spec().indexed.iter().map(|field| (*field).to_owned()).collect();
    let reader = Arc::clone(stored);
    store.field = Box::new(move |object, field| reader.spec().field_value(object, field));
    Kind::new(Arc::clone(strategy), hub, Arc::new(store))
}

impl Registry {
    /// The release of the API server.
    pub fn release(&self) -> &Release {
        &self.inner.release
    }

    /// A builder of a registry over `storage`.
    pub fn builder(storage: Storage, ambient: Ambient, recorder: Recorder) -> RegistryBuilder {
        RegistryBuilder {
            storage,
            ambient,
            recorder,
            release: Release::default(),
            strategies: Vec::new(),
            admission: Vec::new(),
            computed: Vec::new(),
            subresources: Vec::new(),
            store_root: None,
            authorizer: None,
            outgoing: None,
            expression_pool: None,
            components: None,
        }
    }

    /// The current kinds.
    pub fn kinds(&self) -> Arc<Kinds> {
        self.inner.kinds.load_full()
    }

    /// The kind behind a resource.
    pub fn kind(&self, resource: &GroupVersionResource) -> Option<Arc<Kind>> {
        self.inner.kinds.load().resource(resource).cloned()
    }

    /// Waits until the kinds differ from those of `version`.
    pub async fn kinds_changed(&self, version: u64) -> Arc<Kinds> {
        loop {
            let changed = self.inner.kinds_changed.notified();
            let kinds = self.kinds();
            if kinds.version != version {
                return kinds;
            }
            changed.await;
        }
    }

    /// Adds or replaces a served kind.
    pub fn add_kind(&self, strategy: &Arc<dyn Strategy>) {
        if let Some(before) = self.kind(&strategy.spec().row.resource())
            && before.store.selectable != strategy.selectable_fields().unwrap_or_default()
        {
            // The cached selector fields of objects are those of the previous kind.
            self.inner.storage.forget(&before.store);
        }
        self.change_kinds(|kinds| {
            let all: Vec<_> = kinds.iter().map(|kind| Arc::clone(kind.strategy())).collect();
            kinds.insert(resolve(strategy, &all, self.inner.store_root.as_ref()));
        });
    }

    /// Removes a served kind; its watches end.
    pub fn remove_kind(&self, resource: &GroupVersionResource) {
        let Some(kind) = self.kind(resource) else { return };
        self.change_kinds(|kinds| kinds.remove(resource));
        self.inner.storage.forget(&kind.store);
    }

    /// The current extension API servers by group and version.
    pub fn extensions(&self) -> Arc<Extensions> {
        self.inner.extensions.load_full()
    }

    /// Replaces the extension API servers. They never replace built-in kinds.
    pub fn set_extensions(&self, all: impl IntoIterator<Item = Arc<Extension>>) {
        let kinds = self.kinds();
        let all: Vec<_> = all.into_iter().filter(|extension| !kinds.are_built_in(&extension.version)).collect();
        self.inner.extensions.rcu(|before| Extensions::after(before, &all));
    }

    fn change_kinds(&self, change: impl Fn(&mut Kinds)) {
        self.inner.kinds.rcu(|kinds| {
            let mut kinds = Kinds::clone(kinds);
            change(&mut kinds);
            kinds.find_versions();
            kinds.version += 1;
            kinds
        });
        self.inner.kinds_changed.notify_waiters();
    }

    pub(crate) fn outgoing(&self) -> Option<&dyn Outgoing> {
        self.inner.outgoing.as_deref()
    }

    /// The threads that run costly work, if there are any.
    pub fn expression_pool(&self) -> Option<&dyn ExpressionPool> {
        self.inner.expression_pool.as_deref()
    }

    pub(crate) fn has_expression_pool(&self) -> bool {
        self.inner.expression_pool.is_some()
    }

    /// Authorizes a request. Without an authorizer everything is allowed.
    pub async fn authorize(&self, attributes: &Attributes) -> Result<Decision, Status> {
        match &self.inner.authorizer {
            Some(authorizer) => authorizer.authorize(self, attributes).await,
            None => Ok(Decision::Allow(String::new())),
        }
    }

    /// The rules of `user` in `namespace`.
    pub async fn rules(&self, user: &User, namespace: &str) -> Result<Rules, Status> {
        match &self.inner.authorizer {
            Some(authorizer) => authorizer.rules(self, user, namespace).await,
            None => Ok(Rules::default()),
        }
    }

    /// Clock and randomness.
    pub fn ambient(&self) -> &Ambient {
        &self.inner.ambient
    }

    /// The event log.
    pub fn recorder(&self) -> &Recorder {
        &self.inner.recorder
    }

    /// The key prefix of all objects in the store, if it is not the default one.
    pub fn store_root(&self) -> Option<&Arc<str>> {
        self.inner.store_root.as_ref()
    }

    /// The storage.
    pub fn storage(&self) -> &Storage {
        &self.inner.storage
    }

    /// The kind of a request; 404 if it is not served.
    pub(crate) fn kind_of(&self, request: &Request) -> Result<Arc<Kind>, Status> {
        let wrong = coracle_meta::names::path_segment(&request.at.name);
        if !wrong.is_empty() {
            let message = format!("Name parameter invalid: {:?}: {}", request.at.name, wrong.join(";"));
            return Err(Status::bad_request(message));
        }
        let kind = self.kind(&request.at.resource).ok_or_else(not_served)?;
        let asks_rules =
            self.has_expression_pool() && matches!(request.verb, Verb::Create | Verb::Update | Verb::Patch);
        Ok(kind.for_request(asks_rules))
    }
}

/// The 404 for a resource that is not served.
pub(crate) fn not_served() -> Status {
    Status::failure(404, coracle_meta::reason::NOT_FOUND, "the server could not find the requested resource")
}
