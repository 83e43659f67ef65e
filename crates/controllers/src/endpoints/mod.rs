//! Keeps the Endpoints of each Service with a selector: the addresses of its pods.
//!
//! Watches Services, pods and Endpoints; a pod concerns the Services whose selectors match it, before and after a
//! change.
//! In Kubernetes: `pkg/controller/endpoint`.

mod decide;

use coracle_api::core_v1::{Endpoints, Pod, Service};
use coracle_client::DeleteParams;
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler, key_of,
};
use coracle_informer::{Lister, Notification};
use coracle_meta::{ObjectKey, Resource};
use futures_util::future::BoxFuture;

use crate::Config;
use crate::selecting::Selecting;
use crate::service_endpoints::{LEADER, TriggerTimes, chosen_pods, concerned_services, is_filled, pod_selector};

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let services = process.informers.informer::<Service>();
    let pods = process.informers.informer::<Pod>();
    let endpoints = process.informers.informer::<Endpoints>();
    let reconciler = EndpointsKeeper {
        services: services.lister(),
        pods: pods.lister(),
        endpoints: endpoints.lister(),
        times: TriggerTimes::default(),
        events: EventRecorder::new(process, decide::MANAGER),
    };
    let selecting = Selecting::of(&services, &process.actor("endpoints"), pod_selector);
    let controller = Controller::new(process, "endpoints", reconciler)
        .client(config.client(process))
        .watches(&services, key_of)
        .watches_after(config.endpoint_updates_batch_period, &pods, move |change| {
            concerned_services(&selecting, change)
        })
        .watches(&endpoints, gone_or_left_over)
        .workers(5)
        .max_retries(15);
    Box::pin(controller.run())
}

/// Deleted Endpoints, and those that existed before the controller started: their Service may be gone.
fn gone_or_left_over(notification: &Notification<Endpoints>) -> Vec<ObjectKey> {
    match notification {
        Notification::Deleted { object, .. } => vec![object.key()],
        Notification::Added { object, initial: true } if !object.metadata.annotations.contains_key(LEADER) => {
            vec![object.key()]
        }
        Notification::Added { .. } | Notification::Updated { .. } => Vec::new(),
    }
}

struct EndpointsKeeper {
    services: Lister<Service>,
    pods: Lister<Pod>,
    endpoints: Lister<Endpoints>,
    times: TriggerTimes,
    events: EventRecorder,
}

impl Reconciler for EndpointsKeeper {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let current = self.endpoints.get(key);
        let Some(service) = self.services.get(key) else {
            self.times.forget(key);
            if current.is_some() {
                pass.decided(|| "the Service is gone: delete");
                pass.delete_if_there::<Endpoints>(key, &DeleteParams::default()).await?;
                return Ok(Action::Done);
            }
            return pass.done(|| "the Service is gone: nothing to do");
        };
        if !is_filled(&service) {
            return pass.done(|| "it selects no pods: nothing to do");
        }
        let pods = chosen_pods(&self.pods, &service);
        let trigger = self.times.observe(&service, &pods);
        let wanted = decide::wanted(&service, &pods, current.as_deref(), trigger);
        pass.decided(|| decide::sentence(pods.len(), wanted.as_ref()));
        let Some(wanted) = wanted else { return Ok(Action::Done) };
        let endpoints = pass.api::<Endpoints>();
        let (written, reason, verb) = match current {
            Some(_) => (endpoints.update(&wanted).await, "FailedToUpdateEndpoint", "update endpoint"),
            None => (endpoints.create(&wanted).await, "FailedToCreateEndpoint", "create endpoint for service"),
        };
        match written {
            Ok(_) => Ok(Action::Done),
            Err(error) if error.is_namespace_terminating() => Ok(Action::Done),
            Err(error) => {
                let message = format!("Failed to {verb} {}/{}: {error}", key.namespace, key.name);
                self.events.in_pass(pass).event(&wanted, EventType::Warning, reason, message);
                Err(error.into())
            }
        }
    }
}
