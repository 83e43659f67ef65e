//! Extension API servers: the registered ones, their availability, and their discovery and OpenAPI documents.
//!
//! ```text
//! APIServices, Services, slices --check (pure)--> Checked --Servers (pure)--> due probes --documents--> Registry
//!                                                             \--> conditions `Available`, Registry::set_extensions
//! ```
//! In Kubernetes: `AvailableConditionController` for local and remote servers, `DiscoveryManager` and the OpenAPI
//! aggregation controllers of kube-aggregator.
//! Not here: the proxy (`apiserver`), the transport (`cluster`).

mod check;
mod condition;
mod documents;
mod local;
mod servers;

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use coracle_meta::fields::Fields;
use coracle_meta::{Object, Status, format_time};
use coracle_registry::{Derived, Registry, Request, Verb};
use futures_util::future::{Either, pending, ready, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

pub use self::local::LocalApiServices;

use self::check::{Checked, api_services, checked};
use self::condition::Condition;
use self::documents::DiscoveryResult;
use self::servers::{RETRY, Servers};

/// The state of extension API servers.
#[derive(Debug)]
pub(crate) struct Aggregation {
    checked: Derived<Vec<Checked>>,
}

impl Default for Aggregation {
    fn default() -> Self {
        Self { checked: checked() }
    }
}

impl Aggregation {
    /// Publishes the known state without probes: requests are forwarded to servers that were available last.
    pub(crate) async fn sync(&self, registry: &Registry) -> Result<(), Status> {
        let mut servers = Servers::default();
        servers.take(&self.checked.current(registry).await?, |service| registry.is_named(service), Instant::now());
        registry.set_extensions(servers.extensions());
        write(registry, &servers).await
    }

    /// Probes extension API servers when they are due, and writes the results, until it is dropped.
    pub(crate) async fn run(&self, registry: Registry) -> Infallible {
        let (latest, changed) = (Mutex::new(self.checked.latest()), Notify::new());
        let follow = self.checked.follow(&registry, |_, checked| {
            *latest.lock() = checked;
            changed.notify_one();
            ready(Ok(()))
        });
        match select(pin!(follow), pin!(ask(&registry, &latest, &changed))).await {
            Either::Left((never, _)) | Either::Right((never, _)) => never,
        }
    }
}

/// Probes each server separately, so that an unresponsive one does not delay others. `changed` keeps a permit for a
/// change that happens while this does not wait.
async fn ask(registry: &Registry, latest: &Mutex<Arc<Vec<Checked>>>, changed: &Notify) -> Infallible {
    let mut servers = Servers::default();
    let mut asked = FuturesUnordered::new();
    loop {
        let checked = Arc::clone(&latest.lock());
        servers.take(&checked, |service| registry.is_named(service), Instant::now());
        asked.extend(servers.due(Instant::now()).into_iter().map(|question| documents::ask(registry, question)));
        registry.set_extensions(servers.extensions());
        let written = write(registry, &servers).await;
        let wake = match (servers.next(), written) {
            (Some(next), Ok(())) => Some(next),
            (next, Err(_)) => Some(next.map_or(Instant::now() + RETRY, |next| next.min(Instant::now() + RETRY))),
            (None, Ok(())) => None,
        };
        let sleeping = async {
            match wake {
                Some(wake) => sleep_until(wake).await,
                None => pending().await,
            }
        };
        let answered = async {
            match asked.next().await {
                Some(answer) => answer,
                None => pending::<DiscoveryResult>().await,
            }
        };
        let (changed, sleeping) = (pin!(changed.notified()), pin!(sleeping));
        match select(pin!(answered), select(changed, sleeping)).await {
            Either::Left((answer, _)) => servers.answered(answer, Instant::now()),
            Either::Right(_) => {}
        }
    }
}

/// Writes the conditions that differ from the desired ones.
async fn write(registry: &Registry, servers: &Servers) -> Result<(), Status> {
    for (object, condition) in servers.conditions() {
        write_one(registry, object, condition).await?;
    }
    Ok(())
}

async fn write_one(registry: &Registry, object: &Arc<Object>, condition: &Condition) -> Result<(), Status> {
    let now = registry.ambient().clock.now();
    let mut new = Object::clone(object);
    new.set("status.conditions", condition.among(object.list("status.conditions"), &format_time(now)));
    if new == **object {
        return Ok(());
    }
    let request = Request::new(Verb::Update, api_services(), now).object("", object.name()).subresource("status");
    match registry.update(&request, new).await {
        // A conflicting write changes the object, which triggers another update.
        Err(status) if !status.is_not_found() && !status.is_conflict() => Err(status),
        _ => Ok(()),
    }
}
