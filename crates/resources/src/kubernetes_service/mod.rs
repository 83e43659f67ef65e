//! The service `kubernetes`, by which pods reach the API, and its endpoints: the API servers.
//!
//! In Kubernetes: `pkg/controlplane/controller/kubernetesservice`, with the reconciler of type `lease`.
//! Unlike Kubernetes: a change by a client is repaired when it happens. An API server that does not share its store
//! renews no lease, so an idle one does nothing.

mod endpoints;
mod master_leases;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use coracle_meta::{GroupVersionResource, Object, ObjectKey, Status};
use coracle_registry::{DeleteOptions, GetOptions, ListOptions, Registry, Request, ServedWatch, Verb};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, select, select_all};

use self::endpoints::DesiredEndpoints;
use self::master_leases::{INTERVAL, MasterLeases};
use crate::create_if_missing::create_if_missing;

/// Maintains the service and its endpoints for one API server.
pub struct KubernetesService {
    registry: Registry,
    service: Object,
    key: ObjectKey,
    public: SocketAddr,
    /// Only where there may be other API servers.
    leases: Option<MasterLeases>,
    has_begun: AtomicBool,
}

impl KubernetesService {
    /// For the API server that others reach at `public`. `shared`: other API servers may use its store.
    pub fn new(registry: &Registry, service: Object, public: SocketAddr, shared: bool) -> Self {
        Self {
            registry: registry.clone(),
            key: service.key(),
            service,
            public,
            leases: shared.then(|| MasterLeases::new(registry)),
            has_begun: AtomicBool::new(false),
        }
    }

    /// Writes the service and its endpoints, so that they exist when the server is ready. [`Self::run_until`] retries
    /// what fails.
    pub async fn begin(&self) {
        report(self.sync().await);
    }

    /// Follows changes of the objects and of the other API servers until `stop`. Then it removes this server's address.
    pub async fn run_until(&self, stop: impl Future<Output = ()> + Send) {
        let followed = pin!(self.follow());
        select(followed, pin!(stop)).await;
        // A store that does not answer must not keep the server from stopping.
        if let Ok(done) = tokio::time::timeout(2 * INTERVAL, self.withdraw()).await {
            report(done);
        }
    }

    async fn follow(&self) -> Infallible {
        loop {
            // Before anything is read, so that no change is missed.
            let kept = match self.watches().await {
                Ok(watches) => self.keep(watches).await,
                Err(status) => Err(status),
            };
            if kept.is_err() {
                report(kept);
                tokio::time::sleep(INTERVAL).await;
            }
        }
    }

    /// Brings everything up to date again and again, until a watch ends.
    async fn keep(&self, mut watches: Vec<ServedWatch>) -> Result<(), Status> {
        loop {
            self.sync().await?;
            let mut happens: Vec<BoxFuture<'_, bool>> =
                watches.iter_mut().map(|watch| watch.next().map(|event| event.is_some()).boxed()).collect();
            if self.leases.is_some() {
                happens.push(tokio::time::sleep(INTERVAL).map(|()| true).boxed());
            }
            if !select_all(happens).await.0 {
                return Ok(());
            }
        }
    }

    /// Brings service and endpoints up to date.
    async fn sync(&self) -> Result<(), Status> {
        create_if_missing(&self.registry, self.service.clone()).await?;
        let own = self.public.ip().to_string();
        let addresses = match &self.leases {
            None => BTreeSet::from([own]),
            Some(leases) => {
                leases.renew(&own).await?;
                leases.list().await?
            }
        };
        self.write(addresses, !self.has_begun.load(Ordering::Relaxed)).await?;
        self.has_begun.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Removes this API server from the endpoints, if others may remain.
    async fn withdraw(&self) -> Result<(), Status> {
        let Some(leases) = &self.leases else { return Ok(()) };
        leases.remove(&self.public.ip().to_string()).await?;
        self.write(leases.list().await?, true).await
    }

    async fn write(&self, addresses: BTreeSet<String>, sets_port: bool) -> Result<(), Status> {
        let existing = self.read(endpoints()).await?;
        let wanted = DesiredEndpoints { addresses, port: self.public.port(), sets_port };
        let wanted = endpoints::endpoints(&self.key, existing.as_ref(), &wanted);
        self.put(endpoints(), existing, &wanted).await?;
        let existing = self.read(endpoint_slices()).await?;
        let slice = endpoints::slice(existing.as_ref(), &wanted);
        self.put(endpoint_slices(), existing, &slice).await
    }

    async fn read(&self, resource: GroupVersionResource) -> Result<Option<Object>, Status> {
        let request = self.request(Verb::Get, resource);
        let found = self.registry.find(&request, &GetOptions::default()).await?;
        Ok(found.map(|stored| Object::clone(&stored.object())))
    }

    /// Writes an object if it differs from the existing one. A new object replaces the existing one.
    async fn put(
        &self,
        resource: GroupVersionResource,
        existing: Option<Object>,
        wanted: &Object,
    ) -> Result<(), Status> {
        if existing.as_ref() == Some(wanted) {
            return Ok(());
        }
        let is_new = wanted.resource_version().is_empty();
        if is_new && existing.is_some() {
            let request = self.request(Verb::Delete, resource.clone());
            self.registry.delete(&request, &DeleteOptions::default()).await?;
        }
        let put = if is_new {
            self.registry.create(&self.request(Verb::Create, resource), wanted.clone()).await.map(drop)
        } else {
            self.registry.update(&self.request(Verb::Update, resource), wanted.clone()).await.map(drop)
        };
        match put {
            // The watch shows what the other client wrote.
            Err(status) if status.is_conflict() || status.is_already_exists() || status.is_not_found() => Ok(()),
            put => put,
        }
    }

    async fn watches(&self) -> Result<Vec<ServedWatch>, Status> {
        let mut watches = Vec::new();
        for resource in [services(), endpoints(), endpoint_slices()] {
            let from_now = ListOptions {
                send_initial_events: Some(false),
                resource_version_match: "NotOlderThan".to_owned(),
                ..ListOptions::default()
            };
            watches.push(self.registry.watch(&self.request(Verb::Watch, resource), &from_now).await?);
        }
        Ok(watches)
    }

    fn request(&self, verb: Verb, resource: GroupVersionResource) -> Request {
        let name = if verb == Verb::Create { "" } else { &self.key.name };
        Request::new(verb, resource, self.registry.ambient().clock.now()).object(&self.key.namespace, name)
    }
}

impl std::fmt::Debug for KubernetesService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KubernetesService").field("public", &self.public).finish_non_exhaustive()
    }
}

fn report(done: Result<(), Status>) {
    if let Err(status) = done {
        tracing::warn!(%status, "the endpoints of the service kubernetes could not be written");
    }
}

fn services() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "services")
}

fn endpoints() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "endpoints")
}

fn endpoint_slices() -> GroupVersionResource {
    GroupVersionResource::new("discovery.k8s.io", "v1", "endpointslices")
}
