use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_ambient::Clock;
use coracle_api::coordination_v1::Lease;
use coracle_api::core_v1::{Node, ObjectReference, Pod};
use coracle_client::{Api, Client, Error, Origin};
use coracle_controller_runtime::{EventRecorder, EventType};
use coracle_informer::Lister;
use coracle_meta::{ObjectKey, Resource};
use jiff::SignedDuration;
use tokio::time::Instant;

use super::decide::{Health, NO_EXECUTE, NOT_READY, UNREACHABLE, no_execute, swapped, unknown_conditions, zone_of};
use super::lease_check::LeaseCheck;
use super::signs::Signs;
use super::ticks::Ticks;
use super::zones::{Disruption, Zones};
use super::{HealthMap, mark_not_ready, patch_taints};
use crate::Config;
use crate::index::on_node;

/// The namespace of node Leases.
const LEASES: &str = "kube-node-lease";
/// Nodes with this label do not count for the state of a zone.
const EXCLUDED: &str = "node.kubernetes.io/exclude-disruption";
/// How often a write to a concurrently changed node is tried.
const TRIES: usize = 5;

/// Checks all nodes when something may have changed: which are unreachable, and the state of the zones.
///
/// In Kubernetes: a check every five seconds. Unlike Kubernetes: only at those of these times at which a node has
/// changed, or a heartbeat may be overdue.
pub(super) struct Monitor {
    pub(super) actor: String,
    pub(super) client: Client,
    pub(super) config: Config,
    pub(super) nodes: Lister<Node>,
    pub(super) pods: Lister<Pod>,
    pub(super) leases: Lister<Lease>,
    pub(super) lease_check: Option<LeaseCheck>,
    pub(super) health: Arc<HealthMap>,
    pub(super) signs: Arc<Signs>,
    pub(super) events: EventRecorder,
    pub(super) clock: Clock,
}

/// What the monitor remembers between two checks, in addition to the nodes' health.
#[derive(Debug)]
struct Memory {
    looked: Ticks,
    /// Whether something failed, so that the next check is at the next tick.
    is_unsettled: bool,
    /// The nodes by name, with their uids.
    known: BTreeMap<String, String>,
    zones: Zones,
    /// Nodes with pods that could not be marked.
    retry: BTreeSet<String>,
}

/// The result of a check of a node.
#[derive(Debug)]
enum Judged {
    /// Its readiness.
    Ready(Option<String>),
    /// The cache of Leases is known to be late, so that nothing is known.
    LeasesAreLate,
}

impl Memory {
    fn new(looked: Ticks) -> Self {
        Self { looked, is_unsettled: false, known: BTreeMap::new(), zones: Zones::default(), retry: BTreeSet::new() }
    }
}

impl Monitor {
    pub(super) async fn run(self) {
        let mut memory = Memory::new(self.ticks());
        let mut next_look = Some(Instant::now());
        loop {
            if next_look.is_some_and(|next_look| next_look <= Instant::now()) {
                memory.is_unsettled = false;
                self.look(&mut memory).await;
                memory.looked = self.ticks();
                next_look = self.next_look(&memory);
            }
            self.taint_waiting(&mut memory).await;
            let now = Instant::now();
            let waiting = memory.zones.by_name.values().filter_map(|zone| zone.next_at(now)).min();
            let due = next_look.into_iter().chain(waiting).min();
            if self.signs.node_changed_before(due).await {
                next_look = next_look.into_iter().chain([memory.looked.at_or_after(Instant::now())]).min();
            }
        }
    }

    fn ticks(&self) -> Ticks {
        Ticks { began: Instant::now(), time: self.clock.now(), period: self.config.node_monitor_period }
    }

    /// The next time at which a heartbeat may be overdue, if no node changes before.
    fn next_look(&self, memory: &Memory) -> Option<Instant> {
        if memory.is_unsettled || !memory.retry.is_empty() {
            return Some(memory.looked.at_or_after(Instant::now()));
        }
        let now = self.clock.now();
        let grace = |health: &Health| match health.ready {
            Some(_) => self.config.node_monitor_grace_period,
            None => self.config.node_startup_grace_period,
        };
        let health = self.health.lock();
        // A node that is already unknown cannot become overdue.
        let speaking = health.values().filter(|health| health.ready.as_deref() != Some("Unknown"));
        let left = speaking.map(|health| grace(health).saturating_sub(now.duration_since(health.heard).unsigned_abs()));
        Some(memory.looked.at_or_after(Instant::now() + left.min()?))
    }

    /// Checks all nodes. In Kubernetes: `monitorNodeHealth`.
    async fn look(&self, memory: &mut Memory) {
        let nodes = self.nodes.list();
        self.welcome(memory, &nodes).await;
        let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for node in &nodes {
            let ready = match self.judge(memory, node).await {
                Ok(Judged::Ready(ready)) => ready,
                Ok(Judged::LeasesAreLate) => {
                    memory.is_unsettled = true;
                    continue;
                }
                Err(error) => {
                    tracing::debug!(%error, node = %node.key(), "a node could not be judged");
                    memory.is_unsettled = true;
                    continue;
                }
            };
            if !node.metadata.labels.contains_key(EXCLUDED) {
                let (well, not_well) = counts.entry(zone_of(node)).or_default();
                *(if ready.as_deref() == Some("True") { well } else { not_well }) += 1;
            }
        }
        match memory.zones.update(&counts, &self.config, Instant::now()) {
            Disruption::None => {}
            Disruption::Begins => {
                for node in &nodes {
                    self.reachable(memory, node).await;
                }
            }
            Disruption::Ends => {
                let now = self.clock.now();
                self.health.lock().values_mut().for_each(|health| health.heard = now);
            }
        }
    }

    /// Adds new nodes and forgets deleted ones.
    async fn welcome(&self, memory: &mut Memory, nodes: &[Arc<Node>]) {
        let present: BTreeSet<String> = nodes.iter().map(|node| node.key().name).collect();
        for node in nodes {
            let name = node.key().name;
            let uid = node.metadata.uid.clone().unwrap_or_default();
            if memory.known.insert(name.clone(), uid.clone()).is_none() {
                self.tell(&name, &uid, "RegisteredNode", &format!("Registered Node {name} in Controller"));
                self.reachable(memory, node).await;
            }
        }
        let gone: Vec<String> = memory.known.keys().filter(|name| !present.contains(*name)).cloned().collect();
        for name in gone {
            let uid = memory.known.remove(&name).unwrap_or_default();
            self.tell(&name, &uid, "RemovingNode", &format!("Removing Node {name} from Controller"));
            self.health.lock().remove(&name);
            self.signs.forget(&name);
            memory.retry.remove(&name);
        }
    }

    fn tell(&self, name: &str, uid: &str, reason: &str, event: &str) {
        self.events.event_on(reference(name, uid), EventType::Normal, reason, format!("Node {name} event: {event}"));
    }

    /// Checks one node and acts on the result.
    async fn judge(&self, memory: &mut Memory, node: &Node) -> Result<Judged, Error> {
        let name = node.key().name;
        let said = node.condition("Ready").map_or_else(|| "Unknown".to_owned(), |condition| condition.status.clone());
        let judged = self.check_silence(memory, node).await?;
        let Judged::Ready(Some(ready)) = judged else { return Ok(judged) };
        match no_execute(&ready) {
            None => self.reachable(memory, node).await,
            Some((taint, opposite)) if node.taint(opposite, NO_EXECUTE).is_some() => {
                self.swap(&name, &[(taint, NO_EXECUTE)], &[(opposite, NO_EXECUTE)]).await?;
            }
            Some((taint, _)) => {
                let zone = memory.zones.zone(&zone_of(node), &self.config, Instant::now());
                if node.taint(taint, NO_EXECUTE).is_none() { zone.add(&name) } else { zone.remove(&name) }
            }
        }
        let fell_silent = ready != "True" && said == "True";
        if fell_silent {
            let uid = node.metadata.uid.as_deref().unwrap_or_default();
            let message = format!("Node {name} status is now: NodeNotReady");
            self.events.event_on(reference(&name, uid), EventType::Normal, "NodeNotReady", message);
        }
        if fell_silent || (ready != "True" && memory.retry.contains(&name)) {
            memory.retry.remove(&name);
            if let Err(error) = self.mark_pods(&name).await {
                tracing::debug!(%error, node = name, "the pods of a node could not all be marked");
                memory.retry.insert(name);
            }
        }
        Ok(Judged::Ready(Some(ready)))
    }

    /// Sets the conditions of an unreachable node to `Unknown`; returns its readiness then.
    async fn check_silence(&self, memory: &Memory, node: &Node) -> Result<Judged, Error> {
        if self.lease_check.as_ref().is_some_and(LeaseCheck::is_late) {
            return Ok(Judged::LeasesAreLate);
        }
        let (name, now) = (node.key().name, self.clock.now());
        let lease_key = ObjectKey::new(LEASES, name.as_str());
        let lease = self.leases.get(&lease_key);
        let before = self.health.lock().get(&name).cloned();
        let renewed = self.signs.renewed(&name).map_or(now, |seen| memory.looked.time_at_or_after(seen).min(now));
        let mut health = Health::observe(before.as_ref(), node, lease.as_deref(), renewed, now);
        let signed = |duration| SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX);
        let grace = signed(self.config.node_monitor_grace_period);
        let silent = health.is_silent(grace, signed(self.config.node_startup_grace_period), now);
        self.health.lock().insert(name.clone(), health.clone());
        if let Some(conditions) = unknown_conditions(node, now).filter(|_| silent) {
            if let Some(check) = &self.lease_check
                && !check.is_current(self.api(&name).client(), &lease_key, lease.as_deref()).await?
            {
                return Ok(Judged::LeasesAreLate);
            }
            let mut changed = node.clone();
            changed.status.conditions = conditions;
            let written = self.api(&name).update_status(&changed).await?;
            health.ready = written.condition("Ready").map(|condition| condition.status.clone());
            self.health.lock().insert(name, health.clone());
        }
        Ok(Judged::Ready(health.ready))
    }

    /// Removes the `NoExecute` taints of a healthy node, or of one that must be treated as healthy.
    async fn reachable(&self, memory: &mut Memory, node: &Node) {
        let name = node.key().name;
        memory.zones.zone(&zone_of(node), &self.config, Instant::now()).remove(&name);
        let taints = [(UNREACHABLE, NO_EXECUTE), (NOT_READY, NO_EXECUTE)];
        if taints.iter().any(|(key, effect)| node.taint(key, effect).is_some())
            && let Err(error) = self.swap(&name, &[], &taints).await
        {
            tracing::debug!(%error, node = name, "a node could not be freed of its taints");
            memory.is_unsettled = true;
        }
    }

    /// Taints the nodes whose turn it is with `NoExecute`.
    async fn taint_waiting(&self, memory: &mut Memory) {
        let names: Vec<String> = memory.zones.by_name.keys().cloned().collect();
        for zone in names {
            while let Some(name) = memory.zones.zone(&zone, &self.config, Instant::now()).next(Instant::now()) {
                let node = self.nodes.get(&ObjectKey::cluster(name.as_str()));
                let ready = node.and_then(|node| node.condition("Ready").map(|condition| condition.status.clone()));
                let Some((taint, opposite)) = ready.as_deref().and_then(no_execute) else { continue };
                if let Err(error) = self.swap(&name, &[(taint, NO_EXECUTE)], &[(opposite, NO_EXECUTE)]).await {
                    tracing::debug!(%error, node = name, "a node could not be tainted");
                    memory.zones.zone(&zone, &self.config, Instant::now()).add(&name);
                    break;
                }
            }
        }
    }

    /// Changes a node's taints; a concurrently changed node is read again.
    async fn swap(&self, name: &str, add: &[(&str, &str)], remove: &[(&str, &str)]) -> Result<(), Error> {
        let api = self.api(name);
        let key = ObjectKey::cluster(name);
        for attempt in 1.. {
            let node = match api.get(&key).await {
                Err(error) if error.is_not_found() => return Ok(()),
                read => read?,
            };
            let Some(taints) = swapped(&node, add, remove, self.clock.now()) else { return Ok(()) };
            match patch_taints(&api, &node, &taints).await {
                Err(error) if error.is_conflict() && attempt < TRIES => {}
                written => return written,
            }
        }
        Ok(())
    }

    async fn mark_pods(&self, node: &str) -> Result<(), Error> {
        let api: Api<Pod> = Api::of(self.api(node).client());
        let mut failure = None;
        for pod in on_node(&self.pods, node) {
            if let Err(error) = mark_not_ready(&api, &pod, &self.events, self.clock.now()).await {
                failure.get_or_insert(error);
            }
        }
        failure.map_or(Ok(()), Err)
    }

    fn api(&self, node: &str) -> Api<Node> {
        Api::of(&self.client.on_behalf_of(Origin::new(&self.actor, node, self.signs.causes(node))))
    }
}

/// The reference to a node in this controller's events.
fn reference(name: &str, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        ..ObjectReference::default()
    }
}
