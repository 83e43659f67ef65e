//! A run of a controller that has a bug, or of its fixed twin, with or without faults.

use std::sync::Arc;
use std::time::Duration;

use coracle::api::apiextensions_v1::CustomResourceDefinition;
use coracle::api::core_v1::ServiceAccount;
use coracle::journal::Recorder;
use coracle::meta::{GroupVersionResource, Object, ObjectKey};
use coracle::runtime::controller::{Controller, Process, Reconciler};
use coracle::runtime::{Api, Client, DeleteParams, ListParams, Patch};
use coracle::simulation::faults::{Fault, FaultKind, FaultRequest, FaultTarget, Injector, Lasts, fault_kind};
use coracle::simulation::{ClockMode, Latency, Moment, Selector, Senders, Wire, World, run_in};
use coracle::{Cluster, ControllerCheck, User};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// The user as which the controllers run.
pub(super) const OPERATOR: &str = "operator";
/// The user whose wishes they carry out.
pub(super) const USER: &str = "alice";

pub(super) const SECOND: Duration = Duration::from_secs(1);

/// Which of the two controllers runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Twin {
    Buggy,
    Fixed,
}

/// A controller with a bug, its fixed twin, and the faults that show the bug.
pub(super) trait Bug {
    /// The custom kinds that it uses.
    const KINDS: &'static [&'static str];
    /// What is wrong in the end, if the bug shows.
    const WRONG: &'static str;

    /// The faults; empty if the bug shows without one.
    fn faults() -> Vec<Fault>;

    /// What alice does while the controller runs, and what is wrong in the end.
    async fn run(trial: &Trial, twin: Twin) -> Result<(), String>;
}

/// A bug that `coracle::check` finds, too.
pub(super) trait Searched: Bug {
    /// What the controller acts on; without any, there is a workload.
    const SAMPLES: &'static [&'static str] = &[];
    /// Objects that exist before.
    const GIVEN: Option<&'static str> = None;

    /// The check with what a sample does not say: a workload, or properties.
    fn check(check: ControllerCheck, _: Twin) -> ControllerCheck {
        check
    }

    /// The controller, which ends when it is dropped.
    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static;
}

/// Shows that a bug needs its faults to be seen, and that the fixed twin survives them.
pub(super) fn prove<B: Bug>() {
    let wrong = Err(B::WRONG.to_owned());
    assert_eq!(outcome::<B>(Twin::Buggy, B::faults()), wrong, "the buggy one, with the faults");
    assert_eq!(outcome::<B>(Twin::Fixed, B::faults()), Ok(()), "the fixed one, with the faults");
    assert_eq!(outcome::<B>(Twin::Fixed, Vec::new()), Ok(()), "the fixed one, without a fault");
    if !B::faults().is_empty() {
        assert_eq!(outcome::<B>(Twin::Buggy, Vec::new()), Ok(()), "the buggy one, without a fault");
    }
}

fn outcome<B: Bug>(twin: Twin, faults: Vec<Fault>) -> Result<(), String> {
    let run = async {
        let trial = Trial::start(B::KINDS, faults).await;
        let outcome = B::run(&trial, twin).await;
        let missed: Vec<String> = trial.injector.verdicts().iter().filter_map(|it| it.strike.near_miss()).collect();
        assert!(missed.is_empty(), "a fault did not strike: {missed:?}");
        trial.follower.abort();
        trial.cluster.shutdown().await;
        outcome
    };
    run_in(ClockMode::Virtual, run).unwrap()
}

/// What is wrong, unless this holds.
pub(super) fn check(holds: bool, wrong: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(wrong.to_owned()) }
}

/// An API server in virtual time, behind a wire with faults.
pub(super) struct Trial {
    pub(super) cluster: Cluster,
    injector: Injector,
    follower: JoinHandle<()>,
}

impl Trial {
    async fn start(kinds: &[&str], faults: Vec<Fault>) -> Self {
        let latency = Latency { request: Duration::from_millis(2), watch: Duration::ZERO };
        let wire = Wire::with(latency.rules(Senders::Named(OPERATOR.to_owned())));
        let builder = Cluster::builder().seed(1).api_server_only().transport_layer_for_all(wire.layer());
        let cluster = builder.start().await.unwrap();
        let world = World::new(cluster.store(), "default", Arc::new(cluster.plurals()), Vec::new());
        let (seen, followed) = (world.clone(), world);
        let follower = tokio::spawn(async move { drop(followed.follow().await) });
        let injector = Injector::new(&wire, Recorder::off(), move || seen.revision()).operating(cluster.handle());
        let trial = Self { cluster, injector, follower };
        trial.serve(kinds).await;
        for fault in faults {
            trial.injector.start(trial.injector.add(fault), None);
        }
        trial
    }

    async fn serve(&self, kinds: &[&str]) {
        let client = self.client(USER);
        let account: ServiceAccount = serde_json::from_value(service_account()).unwrap();
        Api::of(&client).create(&account).await.unwrap();
        for kind in kinds {
            let definition: CustomResourceDefinition = serde_json::from_value(definition(kind)).unwrap();
            Api::of(&client).create(&definition).await.unwrap();
        }
        sleep(SECOND).await;
    }

    /// A client with the identity of a user.
    fn client(&self, user: &str) -> Client {
        self.cluster.client_as(User::new(user, ["system:masters"]))
    }

    /// The operator's client. Faults select it by this agent, or as a whole as [`OPERATOR`].
    pub(super) fn operator(&self, agent: &str) -> Client {
        self.client(OPERATOR).with_user_agent(agent)
    }

    /// A program with caches and queues, which runs as the operator.
    pub(super) fn process(&self) -> Process {
        Process::new(OPERATOR, &self.operator(OPERATOR), self.cluster.ambient(), &Recorder::off())
    }

    /// Runs a program as a component of the cluster, which faults kill and pause. It runs as the operator, and is
    /// started again after it was killed.
    pub(super) fn component<F>(&self, name: &'static str, run: impl Fn(Client) -> F + Send + Sync + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let ambient = self.cluster.ambient().split(name);
        let user = User::new(OPERATOR, ["system:masters"]);
        let run = move |transport| run(Client::new(transport, &ambient).with_user_agent(name));
        self.cluster.add_component(name, user, run).unwrap();
    }

    /// Runs a controller as the component [`OPERATOR`]; `start` creates it for each start.
    pub(super) fn operate<F>(&self, start: impl Fn(Process) -> F + Send + Sync + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let ambient = self.cluster.ambient().clone();
        self.component(OPERATOR, move |client| start(Process::new(OPERATOR, &client, &ambient, &Recorder::off())));
    }

    /// What alice sees of a kind.
    pub(super) fn of(&self, kind: &str) -> Api<Object> {
        objects(&self.client(USER), kind)
    }

    pub(super) async fn create(&self, object: Object) -> Object {
        self.of(object.kind()).create(&object).await.unwrap()
    }

    pub(super) async fn patch(&self, kind: &str, name: &str, patch: Value) -> Object {
        self.of(kind).patch(&key(name), &Patch::Merge(patch)).await.unwrap()
    }

    pub(super) async fn delete(&self, kind: &str, name: &str) {
        self.of(kind).delete(&key(name), &DeleteParams::now()).await.unwrap();
    }

    pub(super) async fn find(&self, kind: &str, name: &str) -> Option<Object> {
        self.of(kind).find(&key(name)).await.unwrap()
    }

    pub(super) async fn all(&self, kind: &str) -> Vec<Object> {
        self.of(kind).list(&ListParams::default()).await.unwrap().items
    }
}

/// The account of the pods. In Kubernetes: the service account controller creates it.
pub(super) fn service_account() -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": "default", "name": "default"}})
}

/// The definition of a custom kind.
pub(super) fn definition(kind: &str) -> Value {
    let plural = resource(kind).resource;
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    })
}

/// A program that runs. Dropping it kills it: a request that it has sent may land.
pub(super) struct Program(JoinHandle<()>);

impl Program {
    pub(super) fn start(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }
}

/// A controller and its caches.
pub(super) async fn running<R: Reconciler>(process: Process, controller: Controller<R>) {
    tokio::join!(biased; controller.run(), process.run());
}

impl Drop for Program {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The resource of a kind.
pub(super) fn resource(kind: &str) -> GroupVersionResource {
    let ending = if kind.ends_with(['s', 'h']) { "es" } else { "s" };
    let plural = format!("{}{ending}", kind.to_lowercase());
    match kind {
        "Pod" | "ConfigMap" | "PersistentVolumeClaim" => GroupVersionResource::new("", "v1", &plural),
        _ => GroupVersionResource::new("example.com", "v1", &plural),
    }
}

/// The objects of a kind in the default namespace.
pub(super) fn objects(client: &Client, kind: &str) -> Api<Object> {
    Api::dynamic(client, resource(kind)).within("default")
}

pub(super) fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

/// An object with these fields. The API server completes a name that ends with `-`.
pub(super) fn object(kind: &str, name: &str, fields: Value) -> Object {
    let GroupVersionResource { group, version, .. } = resource(kind);
    let api_version = if group.is_empty() { version } else { format!("{group}/{version}") };
    let mut object = Object::from_value(fields).expect("the fields of an object");
    object.set("apiVersion", api_version);
    object.set("kind", kind);
    object.set("metadata.namespace", "default");
    object.set(if name.ends_with('-') { "metadata.generateName" } else { "metadata.name" }, name);
    object
}

/// A pod, which no node runs.
pub(super) fn pod(name: &str, labels: Value) -> Object {
    let containers = json!([{"name": "main", "image": "main:1"}]);
    object("Pod", name, json!({"metadata": {"labels": labels}, "spec": {"containers": containers}}))
}

/// The object, owned by another.
pub(super) fn owned_by(mut object: Object, owner: &Object) -> Object {
    let reference = json!({
        "apiVersion": owner.api_version(), "kind": owner.kind(), "name": owner.name(), "uid": owner.uid(),
        "controller": true,
    });
    object.set("metadata.ownerReferences", json!([reference]));
    object
}

pub(super) fn is_owned_by(object: &Object, owner: &Object) -> bool {
    object.owner_references().iter().any(|reference| reference.uid == owner.uid())
}

/// The first request of a kind by a user, a program's agent, or the operator.
pub(super) fn first(by: &str, verb: &str, kind: &str) -> FaultRequest {
    let selector = Selector {
        from: Senders::Named(by.to_owned()),
        verb: Some(verb.to_owned()),
        resource: Some(resource(kind).resource),
        ..Selector::default()
    };
    FaultRequest { selector, nth: 1, moment: Moment::Sent }
}

/// A fault of one request.
pub(super) fn strike(request: FaultRequest, word: &str, argument: impl Into<Value>) -> Fault {
    let kind = fault_kind(word).filter(|kind| kind.target == FaultTarget::Requests).expect("a fault of requests");
    Fault { request: Some(request), lasts: Lasts::Requests(1), ..fault(kind, argument.into(), Selector::default()) }
}

/// A fault of the operator's watches of a kind, from the start.
pub(super) fn watches(kind: &str, word: &str, argument: Value) -> Fault {
    let target = Selector {
        from: Senders::Named(OPERATOR.to_owned()),
        verb: Some("watch".to_owned()),
        resource: Some(resource(kind).resource),
        ..Selector::default()
    };
    fault(fault_kind(word).expect("one of the words of docs/faults.md"), argument, target)
}

/// A fault of all that a program sends and receives.
pub(super) fn program(agent: &str, word: &str) -> Fault {
    let target = Selector { from: Senders::Named(agent.to_owned()), ..Selector::default() };
    fault(fault_kind(word).expect("one of the words of docs/faults.md"), json!(agent), target)
}

/// A fault of all that the second start of a component sends and receives, as of the moment at which it begins.
pub(super) fn restarted(component: &str, word: &str) -> Fault {
    let target = Selector { from: Senders::Instance(component.to_owned(), 2), ..Selector::default() };
    Fault { target, ..program(component, word) }
}

/// A fault of a component: `kill` or `pause`.
pub(super) fn of_component(component: &str, word: &str) -> Fault {
    let kind = fault_kind(word).filter(|kind| kind.target == FaultTarget::Cluster).expect("a fault of a component");
    fault(kind, json!(component), Selector::default())
}

/// The request, once the API server has carried it out and before its sender gets the answer.
pub(super) fn landed(request: FaultRequest) -> FaultRequest {
    FaultRequest { moment: Moment::Landed, ..request }
}

/// The fault, which begins with this request.
pub(super) fn when(request: FaultRequest, fault: Fault) -> Fault {
    Fault { request: Some(request), ..fault }
}

/// The fault, which lasts for some seconds.
pub(super) fn lasting(seconds: u32, fault: Fault) -> Fault {
    Fault { lasts: Lasts::For(SECOND * seconds), ..fault }
}

fn fault(kind: &'static FaultKind, argument: Value, target: Selector) -> Fault {
    Fault { name: kind.word.to_owned(), kind, argument, request: None, target, lasts: Lasts::UntilEnded }
}
