use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_ambient::{Panics, SignedDuration};
use coracle_journal::{Detail, EntryId, Stage};
use coracle_storage_backend::{OpenStore, StoreControl};
use coracle_supervisor::{Running, TaskEnd, Tasks};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::api_server::ApiServer;
use crate::component::Component;
use crate::component_name::ComponentName;
use crate::component_panics::{ComponentPanic, ComponentPanics};
use crate::own_component::OwnComponent;
use crate::processes::Processes;
use crate::running_components::RunningComponents;

/// The parts of a cluster that are started, stopped and killed by name while it runs.
pub(crate) struct Parts {
    pub(crate) api_server: ApiServer,
    pub(crate) store: Arc<StoreControl>,
    pub(crate) processes: Processes,
    pub(crate) tasks: Tasks,
    pub(crate) running: Arc<RunningComponents>,
    /// Second instances of components.
    doubles: RunningComponents,
    /// The components of the caller.
    pub(crate) own: Mutex<BTreeMap<String, OwnComponent>>,
    /// Notified when the caller has added a component.
    pub(crate) added: Arc<Notify>,
    pub(crate) panics: ComponentPanics,
    /// What was started in addition to the components; stops with the cluster.
    pub(crate) additional: Mutex<Vec<Running>>,
}

impl Parts {
    /// The parts of a cluster; no component runs.
    pub(crate) fn new(
        api_server: ApiServer,
        store: &OpenStore,
        processes: Processes,
        tasks: Tasks,
        running: Arc<RunningComponents>,
    ) -> Self {
        let store = api_server.new_store_control(store, &processes.recorder, &tasks);
        Self {
            api_server,
            store: Arc::new(store),
            processes,
            tasks,
            running,
            doubles: RunningComponents::default(),
            own: Mutex::default(),
            added: Arc::default(),
            panics: ComponentPanics::default(),
            additional: Mutex::default(),
        }
    }

    /// Starts a component that does not run; one that runs is left alone. Returns whether it was started.
    pub(crate) fn start(&self, name: &str, cause: Option<EntryId>) -> bool {
        match ComponentName::of(name) {
            ComponentName::Whole(name) => self.running.start(name, || self.begin(name, name, cause)),
            ComponentName::Controller(controller) => {
                self.started(name, self.processes.controller_set().start(controller), cause)
            }
            ComponentName::Node(node) => {
                let kubelet = &self.processes.kubelet;
                kubelet.has_node(node) && !kubelet.acts(node) && kubelet.start_node(node)
            }
        }
    }

    /// Whether a component runs: it was neither stopped nor killed.
    pub(crate) fn runs(&self, name: &str) -> bool {
        match ComponentName::of(name) {
            ComponentName::Whole(name) => self.running.contains(name),
            ComponentName::Controller(controller) => self.processes.controller_set().runs(controller),
            ComponentName::Node(node) => self.processes.kubelet.has_node(node) && self.processes.kubelet.acts(node),
        }
    }

    /// Starts a second instance of a component that can have one; returns whether it was started.
    pub(crate) fn double(&self, name: &str, cause: Option<EntryId>) -> bool {
        match ComponentName::of(name) {
            // Two kubelets would manage the containers of one machine.
            ComponentName::Node(_) => false,
            ComponentName::Whole(name) if name == Component::Kubelet.word() => false,
            ComponentName::Whole(name) => {
                self.doubles.start(name, || self.begin(name, &format!("{name}/double"), cause))
            }
            ComponentName::Controller(controller) => {
                self.started(name, self.processes.controller_set().double(controller), cause)
            }
        }
    }

    /// Records the start of a part of a component, if it has started.
    fn started(&self, name: &str, has_started: bool, cause: Option<EntryId>) -> bool {
        if has_started {
            self.record(name, Stage::ComponentStart, |detail| detail.caused_by(cause));
        }
        has_started
    }

    /// Starts an instance of a component; `None` if there is no such component.
    fn begin(&self, name: &str, stream: &str, cause: Option<EntryId>) -> Option<Running> {
        let instance = self.processes.instances.of(name).begin_next();
        let work = match Component::named(name) {
            Some(component) => self.processes.of(component, &instance, stream),
            None => {
                let own = self.own.lock().get(name).cloned()?;
                own.work(name, &instance, &self.processes.front, self.processes.layer.as_ref())
            }
        };
        self.record(name, Stage::ComponentStart, |detail| detail.caused_by(cause));
        let ended = {
            let (name, recorder) = (name.to_owned(), self.processes.recorder.clone());
            let (panics, unseen) = (self.tasks.panics().clone(), self.panics.clone());
            move |end| {
                let why = report(&name, end, &panics, &unseen);
                recorder.record(&name, Stage::ComponentStop, || Detail::default().with("why", why));
            }
        };
        let restarted = {
            let (name, recorder): (Arc<str>, _) = (name.into(), self.processes.recorder.clone());
            move || {
                recorder.record(&name, Stage::ComponentStart, Detail::default);
            }
        };
        Some(Running::supervised(&self.tasks, instance, work, ended, restarted))
    }

    /// Kills a component like `kill -9`; returns whether it ran.
    pub(crate) fn kill(&self, name: &str, cause: Option<EntryId>) -> bool {
        match ComponentName::of(name) {
            ComponentName::Whole(name) => self.killed(name, self.remove(name).is_some(), cause),
            ComponentName::Controller(controller) => {
                self.killed(name, self.processes.controller_set().kill(controller), cause)
            }
            ComponentName::Node(node) => self.runs(name) && self.processes.kubelet.stop_node(node),
        }
    }

    /// Removes a running component, which the caller then stops or drops.
    fn remove(&self, name: &str) -> Option<Running> {
        let running = self.running.remove(name);
        if running.is_some() && name == Component::ControllerManager.word() {
            // Its tasks end later.
            self.processes.forget_controller_set();
        }
        running
    }

    /// Kills the second instance of a component; returns whether there was one.
    pub(crate) fn end_double(&self, name: &str, cause: Option<EntryId>) -> bool {
        let was_there = match ComponentName::of(name) {
            ComponentName::Controller(controller) => self.processes.controller_set().kill_double(controller),
            ComponentName::Node(_) | ComponentName::Whole(_) => self.doubles.remove(name).is_some(),
        };
        self.killed(name, was_there, cause)
    }

    /// Stops a component, as by SIGSTOP; returns whether it ran. A controller or a node can be paused if it has informers
    /// of its own.
    pub(crate) fn pause(&self, name: &str) -> bool {
        match ComponentName::of(name) {
            ComponentName::Whole(name) => self.running.instance(name).is_some_and(|instance| instance.pause()),
            ComponentName::Controller(controller) => self.processes.controller_set().pause(controller),
            ComponentName::Node(node) => self.processes.kubelet.pause_node(node),
        }
    }

    /// Continues a component that was paused; returns whether it was.
    pub(crate) fn resume(&self, name: &str) -> bool {
        match ComponentName::of(name) {
            ComponentName::Whole(name) => self.running.instance(name).is_some_and(|instance| instance.resume()),
            ComponentName::Controller(controller) => self.processes.controller_set().resume(controller),
            ComponentName::Node(node) => self.processes.kubelet.resume_node(node),
        }
    }

    /// Sets the wall clock of a component, or of a node with informers of its own, forward or back; returns whether it has
    /// a clock of its own. A controller has the clock of the controller-manager.
    pub(crate) fn shift_clock(&self, name: &str, duration: SignedDuration) -> bool {
        match ComponentName::of(name) {
            ComponentName::Whole(name) => self.processes.skews.shift(name, duration),
            ComponentName::Controller(_) => false,
            ComponentName::Node(node) => self.processes.kubelet.shift_clock(node, duration),
        }
    }

    fn killed(&self, name: &str, has_run: bool, cause: Option<EntryId>) -> bool {
        if has_run {
            self.record(name, Stage::ComponentStop, |detail| detail.caused_by(cause).with("why", "killed"));
        }
        has_run
    }

    /// Stops a component in order, and waits until it has stopped. A part of a component has no order in which it stops.
    pub(crate) async fn stop(&self, name: &str) {
        if !matches!(ComponentName::of(name), ComponentName::Whole(_)) {
            self.kill(name, None);
        }
        for running in [self.remove(name), self.doubles.remove(name)].into_iter().flatten() {
            running.stop().await;
            self.record(name, Stage::ComponentStop, |detail| detail.with("why", "asked"));
        }
    }

    /// The names of all components, running or not.
    pub(crate) fn names(&self) -> Vec<String> {
        let all = [Component::ControllerManager, Component::Scheduler, Component::Kubelet, Component::CsiDriver];
        let part = |component: Component, name: &str| format!("{}/{name}", component.word());
        let controllers = coracle_controllers::component_names().map(|name| part(Component::ControllerManager, name));
        let nodes = self.processes.kubelet.nodes().into_iter().map(|name| part(Component::Kubelet, &name));
        let own = self.own.lock().keys().cloned().collect::<Vec<_>>();
        all.map(|component| component.word().to_owned())
            .into_iter()
            .chain(controllers)
            .chain(nodes)
            .chain(own)
            .collect()
    }

    /// What is notified when there may be a new component: one of the caller, or a node.
    pub(crate) fn changes(&self) -> (Arc<Notify>, Arc<Notify>) {
        (Arc::clone(&self.added), self.processes.kubelet.changed())
    }

    fn record(&self, name: &str, stage: Stage, more: impl FnOnce(Detail) -> Detail) {
        self.processes.recorder.record(name, stage, || more(Detail::default()));
    }
}

/// Reports how a component ended, and returns it in one word, with the message of a panic.
fn report(name: &str, end: TaskEnd, panics: &Panics, unseen: &ComponentPanics) -> String {
    let TaskEnd::Panicked(panic) = end else { return "exited".to_owned() };
    let message = Panics::message(&*panic);
    if panics.are_survived() {
        panics.caught(&format!("the component {name}"), panic);
    } else {
        unseen.add(ComponentPanic { component: name.to_owned(), message: message.clone() });
    }
    format!("panicked: {message}")
}
