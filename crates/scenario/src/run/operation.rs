use std::sync::Arc;

use coracle_cluster::NodeSwitch;
use coracle_journal::EntryId;
use coracle_sim::Polarity;
use coracle_yaml::Spanned;
use futures_util::future::BoxFuture;

use super::ScenarioRun;
use super::stop::{Stop, late, refused};
use crate::file::{Assert, Drain, Fault, Heal, Joins, Operation, Part};
use crate::maintenance::node_spec;
use crate::objects::{CATCH_UP, Refusal, owned};
use crate::question::question;
use crate::wait;

impl ScenarioRun<'_> {
    /// Executes one operation; a check returns the revision at which it held.
    pub(super) fn operation<'a>(&'a mut self, operation: &'a Operation) -> BoxFuture<'a, Result<Option<i64>, Stop>> {
        // Boxed, so that its code is compiled once, and not in each crate that awaits it.
        Box::pin(self.run_operation(operation))
    }

    async fn run_operation(&mut self, operation: &Operation) -> Result<Option<i64>, Stop> {
        match operation {
            Operation::Create(create) => {
                let owner = create.owned_by.as_ref().map(|name| self.known(name)).transpose()?;
                for object in self.objects.read(create, &self.folder)? {
                    let object = owner.iter().fold(object, |object, owner| owned(object, owner));
                    self.objects.create(object).await?;
                }
            }
            Operation::Apply(apply) => self.objects.apply(apply, &self.folder).await?,
            Operation::Get(get) => {
                let found = self.objects.get(get).await?;
                self.bind(Some(&get.binding), Some(found));
            }
            Operation::Update(update) => {
                let read = self.known(&update.from)?;
                self.objects.update(update, &read).await?;
            }
            Operation::Patch(patch) => {
                let first = self.objects.patch(patch, &self.world).await?;
                self.bind(patch.binding.as_ref(), first);
            }
            Operation::Scale(scale) => self.objects.scale(scale).await?,
            Operation::Delete(delete) => {
                let first = self.objects.delete(delete, &self.world).await?;
                self.bind(delete.binding.as_ref(), first);
            }
            Operation::Wait(wait) => {
                let timeout = wait.timeout.unwrap_or(self.scenario.spec.timeout);
                let namespace = wait.namespace.as_deref().unwrap_or(&self.scenario.spec.namespace);
                let (wait, namespace) = (wait.clone(), namespace.to_owned());
                let seen = self.world.until_seen(timeout, move |cluster| wait::look(&wait, &namespace, cluster)).await;
                return seen.map(|held| Some(held.revision)).map_err(late);
            }
            Operation::Assert(assert) => return self.until(assert, Polarity::Always).await.map(Some),
            Operation::Error(assert) => return self.until(assert, Polarity::Never).await.map(Some),
            Operation::Cordon(on) => self.objects.cordon(&on.node.value, true).await?,
            Operation::Uncordon(on) => self.objects.cordon(&on.node.value, false).await?,
            Operation::Taint(taint) => self.objects.taint(taint).await?,
            Operation::Evict(evict) => {
                let first = self.objects.evict(evict, &self.world).await?;
                self.bind(evict.binding.as_ref(), first);
            }
            Operation::Drain(drain) => self.drain(drain).await?,
            Operation::Rollout(rollout) => {
                let now = coracle_meta::format_time(self.cluster.ambient().clock.now());
                self.objects.rollout(rollout, now).await?;
            }
            Operation::Sleep(sleep) => tokio::time::sleep(sleep.duration).await,
            Operation::Stop(part) => self.stop(part).await?,
            Operation::Start(part) => self.start(part).await?,
            Operation::Kill(part) => self.kill(part).await?,
            Operation::Partition(on) => self.partition(&on.node.value)?,
            Operation::Fault(fault) => self.cause(fault),
            Operation::Heal(heal) => self.heal(heal)?,
        }
        Ok(None)
    }

    /// The object to which a step has given a name.
    fn known(&self, name: &Spanned<String>) -> Result<Arc<coracle_meta::Object>, Refusal> {
        let known = self.bound.lock().get(&name.value).cloned();
        known.ok_or_else(|| Refusal::new(format!("no step has read `{}`", name.value)))
    }

    async fn until(&self, assert: &Assert, wanted: Polarity) -> Result<i64, Stop> {
        let question = question(assert.resource.as_ref(), assert.cel.as_ref());
        let timeout = assert.timeout.unwrap_or(self.scenario.spec.timeout);
        self.world.until(&question, wanted, timeout).await.map(|held| held.revision).map_err(late)
    }

    async fn drain(&mut self, drain: &Drain) -> Result<(), Stop> {
        let timeout = drain.timeout.unwrap_or(self.scenario.spec.timeout);
        if drain.wait {
            return Ok(self.objects.drain(drain, timeout).await?);
        }
        let (objects, drain) = (Arc::clone(&self.objects), drain.clone());
        self.drains.spawn(async move { objects.drain(&drain, timeout).await });
        Ok(())
    }

    /// Operations in the background have to succeed as well.
    pub(super) async fn join(&mut self) -> Result<(), Stop> {
        while let Some(ended) = self.drains.join_next().await {
            ended.map_err(|error| Refusal::new(error.to_string()))??;
        }
        Ok(())
    }

    async fn kill(&mut self, part: &Part) -> Result<(), Stop> {
        match target(part) {
            Target::Component(component) if !self.cluster.kill_component(component) => {
                return Err(Stop::Refused(Refusal::new(format!("`{component}` does not run"))));
            }
            Target::Component(_) => {}
            Target::Node(node) => self.node(node, coracle_cluster::Kubelet::kill_node)?,
            Target::Store | Target::BrokenController(_) => self.stop(part).await?,
        }
        Ok(())
    }

    async fn stop(&mut self, part: &Part) -> Result<(), Stop> {
        match target(part) {
            Target::Component(component) => self.cluster.stop_component(component).await,
            Target::Store => {
                // The store loses acknowledged writes that it has not announced yet, and checks have to be evaluated
                // while it is down.
                self.world.current(CATCH_UP).await.map_err(late)?;
                self.cluster.kill_store().map_err(refused)?;
            }
            Target::Node(node) => self.node(node, coracle_cluster::Kubelet::stop_node)?,
            Target::BrokenController(name) => self.broken_controllers.stop(name).map_err(Refusal::new)?,
        }
        Ok(())
    }

    async fn start(&mut self, part: &Part) -> Result<(), Stop> {
        match target(part) {
            Target::Component(component) => drop(self.cluster.start_component(component)),
            Target::Store => self.cluster.start_store().map_err(refused)?,
            Target::Node(node) => {
                let shapes = self.scenario.spec.cluster.nodes.value.shapes();
                if let Some(shape) = shapes.iter().find(|shape| shape.name == node && shape.joins == Joins::Later) {
                    self.cluster.kubelet().add_node(node_spec(shape));
                }
                self.node(node, coracle_cluster::Kubelet::start_node)?;
            }
            Target::BrokenController(name) => self.broken_controllers.start(name).await.map_err(Refusal::new)?,
        }
        Ok(())
    }

    fn partition(&self, node: &str) -> Result<(), Stop> {
        self.node(node, coracle_cluster::Kubelet::has_node)?;
        self.faults.begin_on_node(node, NodeSwitch::Partition, self.step_entry());
        Ok(())
    }

    fn cause(&self, fault: &Fault) {
        self.faults.cause(fault, self.step_entry());
    }

    /// The first entry of the step.
    fn step_entry(&self) -> Option<EntryId> {
        self.steps.last().map(|(_, entry)| *entry).filter(|entry| entry.0 > 0)
    }

    fn heal(&self, heal: &Heal) -> Result<(), Stop> {
        if let Some(fault) = &heal.fault {
            self.faults.heal(&fault.value);
        }
        let Some(node) = &heal.node else { return Ok(()) };
        let ended = self.faults.end_on_node(&node.value, NodeSwitch::Partition);
        if ended.is_some_and(|ended| ended.had_struck) {
            return Ok(());
        }
        self.node(&node.value, |kubelet, name| kubelet.partition_node(name, false))
    }

    fn node(&self, name: &str, change: fn(&coracle_cluster::Kubelet, &str) -> bool) -> Result<(), Stop> {
        if change(self.cluster.kubelet(), name) {
            Ok(())
        } else {
            Err(Stop::Refused(Refusal::new(format!("there is no simulated node `{name}`"))))
        }
    }

    fn bind(&mut self, name: Option<&Spanned<String>>, object: Option<Arc<coracle_meta::Object>>) {
        if let (Some(name), Some(object)) = (name, object) {
            self.world.bind(&name.value, &object);
            self.bound.lock().insert(name.value.clone(), object);
        }
    }
}

/// What an operation stops or starts.
enum Target<'a> {
    Component(&'a str),
    Store,
    Node(&'a str),
    BrokenController(&'a str),
}

/// What an operation stops or starts, which was validated when the file was read.
fn target(part: &Part) -> Target<'_> {
    if let Some(toy) = &part.toy {
        return Target::BrokenController(&toy.value);
    }
    match (&part.component, &part.node) {
        (Some(word), _) if word.value == "store" => Target::Store,
        (Some(word), _) => Target::Component(&word.value),
        (None, Some(node)) => Target::Node(&node.value),
        (None, None) => unreachable!("the reader demands a component, a node or a toy"),
    }
}
