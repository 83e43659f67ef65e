//! Computes how many pods of each disruption budget may be evicted now.
//!
//! Watches budgets and pods: a pod concerns the budgets whose selectors match it. [`scales`] looks up the sizes of
//! the pods' controllers, [`decide`] counts. [`stale`] clears the condition `DisruptionTarget` of a pod that was not
//! deleted. In Kubernetes: `pkg/controller/disruption`. The API server handles evictions themselves.

mod decide;
mod scales;
mod stale;

use std::sync::Arc;

use coracle_ambient::Clock;
use coracle_api::core_v1::Pod;
use coracle_api::meta_v1;
use coracle_api::policy_v1::{PodDisruptionBudget, PodDisruptionBudgetStatus};
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler, key_of, unless_gone,
};
use coracle_informer::{Lister, Notification};
use coracle_meta::{LabelSelector, ObjectKey};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join};

use self::scales::Scales;
use crate::Config;
use crate::again::again;
use crate::gathering::gathered;
use crate::selecting::Selecting;

const NAME: &str = "disruption";

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let budgets = process.informers.informer::<PodDisruptionBudget>();
    let pods = process.informers.informer::<Pod>();
    let events = EventRecorder::new(process, "controllermanager");
    let selecting = Selecting::of(&budgets, &process.actor(NAME), selector);
    let sizes = budgets.lister();
    let disruption = Disruption {
        budgets: budgets.lister(),
        pods: pods.lister(),
        scales: Scales::new(process),
        events: events.clone(),
        clock: process.ambient.clock.clone(),
    };
    let controller =
        Controller::new(process, NAME, disruption).client(config.client(process)).watches(&budgets, key_of).watches_by(
            &pods,
            move |notification| concerned(notification, &selecting, &events),
            move |_, key| {
                let pods = sizes.get(key).map_or(0, |budget| budget.status.expected_pods);
                gathered(usize::try_from(pods).unwrap_or(0))
            },
        );
    let controller = Scales::read_by(process, controller);
    join(controller.run(), stale::start(process, config)).map(drop).boxed()
}

fn selector(budget: &PodDisruptionBudget) -> LabelSelector {
    meta_v1::LabelSelector::of_object(budget.spec.selector.as_deref())
}

/// The budgets whose selectors match a pod. There should be at most one; several are reported in an event.
fn concerned(notification: &Notification<Pod>, selecting: &Selecting, events: &EventRecorder) -> Vec<ObjectKey> {
    let pod = notification.object();
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let budgets = selecting.matching(namespace, &pod.metadata.labels);
    if let [first, _, ..] = budgets.as_slice() {
        let (name, chosen) = (pod.name(), &first.name);
        let message =
            format!("Pod {namespace:?}/{name:?} matches multiple PodDisruptionBudgets.  Chose {chosen:?} arbitrarily.");
        events.event(pod.as_ref(), EventType::Warning, "MultiplePodDisruptionBudgets", message);
    }
    budgets
}

struct Disruption {
    budgets: Lister<PodDisruptionBudget>,
    pods: Lister<Pod>,
    scales: Scales,
    events: EventRecorder,
    clock: Clock,
}

impl Reconciler for Disruption {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(budget) = self.budgets.get(key) else { return pass.gone() };
        let selector = selector(&budget);
        let mut pods = self.pods.list_namespace(&key.namespace);
        pods.retain(|pod| selector.matches(&pod.metadata.labels));
        let events = self.events.in_pass(pass);
        if pods.is_empty() {
            events.event(budget.as_ref(), EventType::Normal, "NoPods", "No matching pods found");
        }
        let expected = match self.expected(pass, &budget, &pods, &events).await {
            Ok(expected) => expected,
            Err(why) => {
                let message = format!("Failed to calculate the number of expected pods: {why}");
                events.event(budget.as_ref(), EventType::Warning, "CalculateExpectedPodCountFailed", message);
                pass.decided(|| format!("allow 0: {why}"));
                write(pass, &budget, decide::failed(&budget, &why, self.clock.now())).await?;
                return Ok(Action::Done);
            }
        };
        let now = self.clock.now();
        let disrupted = decide::disrupted(&budget, &pods, now);
        for pod in &disrupted.overdue {
            let namespace = &key.namespace;
            let message = format!("Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't");
            events.event(pod.as_ref(), EventType::Warning, "NotDeleted", message);
        }
        let status = decide::status(&budget, &pods, expected, &disrupted, now);
        pass.decided(|| decide::sentence(&status));
        write(pass, &budget, status).await?;
        Ok(again(disrupted.recheck))
    }
}

impl Disruption {
    async fn expected(
        &self,
        pass: &Pass,
        budget: &PodDisruptionBudget,
        pods: &[Arc<Pod>],
        events: &EventRecorder,
    ) -> Result<decide::Expected, String> {
        if !decide::needs_scale(budget) {
            return decide::expected(budget, pods.len(), 0);
        }
        let (scale, unmanaged) = self.scales.of_pods(pass, pods).await?;
        let expected = decide::expected(budget, pods.len(), scale)?;
        if unmanaged {
            events.event(budget, EventType::Warning, "UnmanagedPods", decide::unmanaged(budget));
        }
        Ok(expected)
    }
}

/// Writes a status that has changed. On a conflict an eviction has used the budget meanwhile, and everything is
/// counted again.
async fn write(
    pass: &Pass,
    budget: &PodDisruptionBudget,
    status: PodDisruptionBudgetStatus,
) -> Result<(), ReconcileError> {
    if status == budget.status {
        return Ok(());
    }
    let written = PodDisruptionBudget { status, ..budget.clone() };
    Ok(unless_gone(pass.api().update_status(&written).await)?)
}
