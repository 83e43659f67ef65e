//! Calculates the usage of a namespace's quotas.
//!
//! Admission counts created objects. This controller recalculates all usage when a quota changes, when a tracked
//! object is deleted or finishes, and every five minutes. [`monitors`] keeps a cache of every countable kind;
//! [`decide`] computes the sums. In Kubernetes: `pkg/controller/resourcequota`.

mod changes;
mod decide;
mod monitors;

use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Clock;
use coracle_api::core_v1::ResourceQuota;
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler, unless_gone};
use coracle_informer::{Lister, Notification};
use coracle_meta::{ObjectKey, Resource};
use futures_util::future::{BoxFuture, join};

use self::monitors::{Monitors, Tracked};
use crate::Config;
use crate::served_kinds::ServedKinds;

const NAME: &str = "resourcequota";
/// How long changes of the usage by others are batched before a recalculation.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let quotas = process.informers.informer::<ResourceQuota>();
    let queue = process.queue(NAME, Default::default());
    let tracked = Arc::new(Tracked::new(process));
    let counting = Counting {
        quotas: quotas.lister(),
        tracked: tracked.clone(),
        clock: process.ambient.clock.clone(),
        period: config.resource_quota_sync_period,
    };
    let controller = Controller::on_queue(process, NAME, queue.clone(), counting)
        .client(config.client(process))
        .watches(&quotas, when_limits_change)
        .watches_after(LOOK_AGAIN, &quotas, when_usage_changes)
        .workers(5);
    let kinds = ServedKinds::new(process, NAME);
    let mut monitors = Monitors::new(process, NAME, tracked, quotas.lister(), queue);
    Box::pin(async move {
        monitors.update(&kinds.now().await);
        monitors.synced().await;
        let follow = async {
            loop {
                kinds.changed().await;
                monitors.update(&kinds.now().await);
            }
        };
        join(controller.run(), follow).await;
    })
}

/// Only changed limits need a recalculation: the status is written by this controller and by admission, which has
/// counted.
fn when_limits_change(notification: &Notification<ResourceQuota>) -> Vec<ObjectKey> {
    match notification {
        Notification::Updated { old, new } if old.spec.hard == new.spec.hard => Vec::new(),
        Notification::Deleted { .. } => Vec::new(),
        Notification::Added { object, .. } | Notification::Updated { new: object, .. } => vec![object.key()],
    }
}

/// An object that admission counted may have been deleted before its usage was seen here, when there was nothing to
/// subtract yet.
fn when_usage_changes(notification: &Notification<ResourceQuota>) -> Vec<ObjectKey> {
    match notification {
        Notification::Updated { old, new } if old.status.used != new.status.used => vec![new.key()],
        _ => Vec::new(),
    }
}

struct Counting {
    quotas: Lister<ResourceQuota>,
    tracked: Arc<Tracked>,
    clock: Clock,
    period: Duration,
}

impl Reconciler for Counting {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(quota) = self.quotas.get(key) else { return pass.gone() };
        let (counts, unknown) = self.tracked.count(&quota, self.clock.now());
        if let Some(status) = decide::status(&quota, &counts) {
            pass.decided(|| decide::sentence(&quota, &status));
            let mut counted = ResourceQuota::clone(&quota);
            counted.status = status;
            // On a conflict admission has counted meanwhile, so this count is outdated: everything is counted again.
            unless_gone(pass.api().update_status(&counted).await)?;
        } else {
            pass.decided(|| "it is used as it says: nothing to do");
        }
        match unknown {
            Some(kind) => Err(ReconcileError::Object(format!("{kind} not yet synced"))),
            None if self.period.is_zero() => Ok(Action::Done),
            None => Ok(Action::RequeueAfter(self.period)),
        }
    }
}
