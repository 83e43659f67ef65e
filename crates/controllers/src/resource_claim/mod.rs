//! Creates the ResourceClaims that pods request by templates, and frees those that no pod uses any more.
//!
//! ```text
//! a pod with claims --> Pod key:   claims from templates, recorded in the pod's status; reserved if the pod is bound
//! a pod that ends  --> Claim keys: reservations of pods that are done or gone removed; the last one frees what was
//! a claim changes  --> Claim key   allocated, and a claim that was made for such a pod is deleted
//! ```
//! In Kubernetes: `pkg/controller/resourceclaim`. Unlike Kubernetes: deleted pods are not remembered, so a pod that
//! is missing in the cache is read live; and the pod's status keeps the claims that it listed before.

mod claims;
mod decide;
mod pods;

use std::fmt;

use coracle_api::core_v1::Pod;
use coracle_api::resource_v1::{ResourceClaim, ResourceClaimTemplate};
use coracle_client::WriteParams;
use coracle_controller_runtime::{Action, Controller, EventRecorder, Pass, Process, ReconcileError, Reconciler};
use coracle_informer::{Lister, Notification, SharedInformer};
use coracle_meta::{ObjectKey, Resource};
use futures_util::future::BoxFuture;

use self::claims::Claims;
use self::pods::{BY_POD, Pods};
use crate::Config;

pub(crate) use self::decide::reserved_claims;

/// The index of pods by the claims that they mean.
const BY_CLAIM: &str = "resource claim";

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let pods = process.informers.informer::<Pod>();
    let claims = process.informers.informer::<ResourceClaim>();
    let templates = process.informers.informer::<ResourceClaimTemplate>();
    index(&pods, &claims);
    let reconciler = ResourceClaims {
        of_pods: Pods {
            pods: pods.lister(),
            claims: claims.lister(),
            templates: templates.lister(),
            events: EventRecorder::new(process, "resource_claim"),
            write: WriteParams { field_manager: "ResourceClaimController".to_owned(), ..WriteParams::default() },
        },
        of_claims: Claims { pods: pods.lister(), claims: claims.lister() },
    };
    let (known, users) = (claims.lister(), pods.lister());
    let known_too = claims.lister();
    let controller = Controller::new(process, "resourceclaim", reconciler)
        .client(config.client(process))
        .watches(&pods, move |change| of_pod(change.object(), matches!(change, Notification::Deleted { .. }), &known))
        .watches(&claims, move |change| of_claim(change, &users, &known_too))
        .reads(&templates)
        .workers(10);
    Box::pin(controller.run())
}

fn index(pods: &SharedInformer<Pod>, claims: &SharedInformer<ResourceClaim>) {
    pods.add_index(BY_CLAIM, |pod| decide::claims_of(pod).iter().map(ToString::to_string).collect());
    claims.add_index(BY_POD, |claim| decide::owning_pod(claim).map(|owner| owner.uid.clone()).into_iter().collect());
}

/// A queue key: the claims of a pod, or a claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Pod(ObjectKey),
    Claim(ObjectKey),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod(key) => write!(f, "pod:{key}"),
            Self::Claim(key) => write!(f, "claim:{key}"),
        }
    }
}

/// The keys for an added, changed or deleted pod. In Kubernetes: `enqueuePod`.
fn of_pod(pod: &Pod, is_gone: bool, claims: &Lister<ResourceClaim>) -> Vec<Key> {
    if pod.spec.resource_claims.is_empty() && pod.status.extended_resource_claim_status.is_none() {
        return Vec::new();
    }
    let frees = is_gone || decide::is_done(pod);
    let mut keys: Vec<Key> =
        if frees { decide::claims_of(pod).into_iter().map(Key::Claim).collect() } else { Vec::new() };
    let key = pod.key();
    let find = |name: &str| claims.get(&ObjectKey::new(key.namespace.as_str(), name));
    if !is_gone && decide::needs_work(pod, find) {
        keys.push(Key::Pod(key.clone()));
    }
    keys
}

/// The keys for an added, changed or deleted claim: itself, and the pods that use it.
fn of_claim(change: &Notification<ResourceClaim>, pods: &Lister<Pod>, claims: &Lister<ResourceClaim>) -> Vec<Key> {
    let key = change.object().key();
    let users = pods.by_index(BY_CLAIM, &key.to_string());
    let of_users = users.iter().flat_map(|pod| of_pod(pod, false, claims));
    let own = (!matches!(change, Notification::Deleted { .. })).then_some(Key::Claim(key));
    own.into_iter().chain(of_users).collect()
}

struct ResourceClaims {
    of_pods: Pods,
    of_claims: Claims,
}

impl Reconciler<Key> for ResourceClaims {
    async fn reconcile(&self, pass: &Pass, key: &Key) -> Result<Action, ReconcileError> {
        match key {
            Key::Pod(key) => self.of_pods.sync(pass, key).await?,
            Key::Claim(key) => self.of_claims.sync(pass, key).await?,
        }
        Ok(Action::Done)
    }
}
