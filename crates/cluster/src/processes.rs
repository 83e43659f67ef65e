use std::pin::pin;
use std::sync::Arc;

use coracle_ambient::Ambient;
use coracle_client::Client;
use coracle_controllers::{ControllerSet, Identities};
use coracle_journal::Recorder;
use coracle_kubelet::Kubelet;
use coracle_registry::User;
use coracle_stages::{StageRunner, StageSet};
use coracle_supervisor::ComponentWork;
use futures_util::FutureExt;
use futures_util::future::{OptionFuture, select};
use parking_lot::Mutex;

use crate::builder::TransportLayer;
use crate::component::Component;
use crate::component_clients::{Accounts, Instances, component_transport, layered};
use crate::own_informers::OwnInformers;
use crate::skews::Skews;
use crate::{Instance, Requester, Transport};

/// What the components of a control plane run, and what each start of one needs.
pub(crate) struct Processes {
    /// The transport to the API server.
    pub(crate) front: Transport,
    pub(crate) layer: Option<TransportLayer>,
    pub(crate) ambient: Ambient,
    pub(crate) recorder: Recorder,
    pub(crate) controllers: coracle_controllers::Config,
    pub(crate) scheduler: coracle_scheduler::Config,
    pub(crate) kubelet: Arc<Kubelet>,
    pub(crate) stages: Option<Arc<StageSet>>,
    pub(crate) own_informers: OwnInformers,
    pub(crate) skews: Skews,
    /// The starts of all components.
    pub(crate) instances: Instances,
    /// The controllers of the component `controller-manager`.
    pub(crate) set: Mutex<ControllerSet>,
}

impl Processes {
    /// What an instance of a component runs, with the stream of randomness of this name.
    pub(crate) fn of(&self, component: Component, instance: &Instance, stream: &str) -> ComponentWork {
        let ambient = self.skews.ambient_of(stream, &self.ambient.split(stream));
        let recorder = self.recorder.clone();
        let client = self.client(component, instance, &ambient);
        match component {
            Component::ControllerManager => {
                let controllers = Arc::new(self.controllers(client, ambient, instance.clone()));
                if stream == component.word() {
                    *self.set.lock() = controllers.set.clone();
                }
                Box::new(move |stop| {
                    let controllers = Arc::clone(&controllers);
                    async move { controllers.run(stop.asked()).await }.boxed()
                })
            }
            Component::Scheduler => {
                let config = self.scheduler.clone();
                Box::new(move |stop| {
                    let (config, client, ambient) = (config.clone(), client.clone(), ambient.clone());
                    coracle_scheduler::run(config, client, ambient, recorder.clone(), stop.asked()).map(drop).boxed()
                })
            }
            Component::Kubelet => {
                let kubelet = Kubelet::clone(&self.kubelet);
                let stage_runner = self.stage_runner(&ambient, recorder, instance.clone()).map(Arc::new);
                Box::new(move |stop| {
                    let (kubelet, stage_runner) = (kubelet.clone(), stage_runner.clone());
                    async move {
                        let run_stages = OptionFuture::from(stage_runner.as_deref().map(StageRunner::run)).map(drop);
                        let run_stages = run_stages.then(|()| std::future::pending::<()>());
                        select(pin!(kubelet.run(stop.asked())), pin!(run_stages)).await;
                    }
                    .boxed()
                })
            }
            Component::CsiDriver => Box::new(move |stop| {
                coracle_csi_driver::run(client.clone(), ambient.clone(), recorder.clone(), stop.asked()).boxed()
            }),
        }
    }

    /// The client of an instance of a component.
    fn client(&self, component: Component, instance: &Instance, ambient: &Ambient) -> Client {
        let transport = component_transport(&self.front, component, instance, self.layer.as_ref());
        Client::new(transport, ambient).with_recorder(self.recorder.clone())
    }

    /// The component `controller-manager` does not run.
    pub(crate) fn forget_controller_set(&self) {
        *self.set.lock() = ControllerSet::default();
    }

    /// What plays the Stages by which nodes and pods live, if there are any: they may say anything of any object.
    fn stage_runner(&self, ambient: &Ambient, recorder: Recorder, instance: Instance) -> Option<StageRunner> {
        let stages = self.stages.clone()?;
        let user = User::new("system:coracle:stages", ["system:masters"]);
        let requester = Requester::component(Component::Kubelet.word(), instance);
        let front = layered(self.front.clone(), &requester, self.layer.as_ref()).asking_as(Arc::new(user));
        let client = Client::new(front, ambient);
        let kubelet = Kubelet::clone(&self.kubelet);
        let acts = move |node: &str| kubelet.acts(node);
        Some(StageRunner::new(stages, client, ambient.split("stages"), recorder, acts))
    }

    /// What runs all controllers, each with its own identity.
    fn controllers(&self, client: Client, ambient: Ambient, instance: Instance) -> Controllers {
        let accounts = Accounts {
            transport: self.front.clone(),
            layer: self.layer.clone(),
            ambient: ambient.clone(),
            instance,
            instances: self.instances.clone(),
            own_identity_for_all: self.controllers.own_identity_for_all,
        };
        let (config, recorder) = (self.controllers.clone(), self.recorder.clone());
        let set = ControllerSet::with_own_informers(self.own_informers.controllers.iter().cloned());
        Controllers { config, client, accounts: Arc::new(accounts), set, ambient, recorder }
    }

    /// The controllers of the component `controller-manager`, as it was started last.
    pub(crate) fn controller_set(&self) -> ControllerSet {
        self.set.lock().clone()
    }
}

/// The controller-manager, ready to run.
pub(crate) struct Controllers {
    config: coracle_controllers::Config,
    client: Client,
    accounts: Arc<Accounts>,
    set: ControllerSet,
    ambient: Ambient,
    recorder: Recorder,
}

impl Controllers {
    pub(crate) async fn run(&self, stop: impl Future<Output = ()> + Send) {
        let Self { config, client, accounts, set, ambient, recorder } = self;
        let (config, client, ambient, recorder) = (config.clone(), client.clone(), ambient.clone(), recorder.clone());
        let identities = Arc::clone(accounts) as Arc<dyn Identities>;
        coracle_controllers::run(config, client, identities, set, ambient, recorder, stop).map(drop).await;
    }
}
