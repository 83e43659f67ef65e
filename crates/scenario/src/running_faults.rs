use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::{ApiServer, Cluster, ClusterHandle, OpenStore, SwitchedNode};
use coracle_journal::Recorder;
use coracle_sim::faults::{FaultId, FaultProgress};
use coracle_sim::{NotInTime, Wire, World};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::task::JoinSet;

use crate::component_words::nearest_component;
use crate::fault_list::{FaultContext, FaultList, PluralsOfKinds, UncheckedFaults};
use crate::faults::Faults;
use crate::faulty_server::FaultyServer;
use crate::parse::Problem;
use crate::written_fault::{needs_own_informers, requesters_of};

/// How long the first fault may wait until all objects of the cluster were read.
const PATIENCE: Duration = Duration::from_secs(30);

/// The faults of a running cluster, which are added and removed at any time. Clones are the same faults.
///
/// The objects of the cluster are followed from the first fault on.
#[derive(Clone)]
pub struct RunningFaults {
    shared: Arc<Shared>,
}

struct Shared {
    faults: Faults,
    world: World,
    cluster: ClusterHandle,
    server: FaultyServer,
    kinds: Box<dyn Fn() -> PluralsOfKinds + Send + Sync>,
    listed: Mutex<Listed>,
    /// The task that follows the objects.
    following: Mutex<JoinSet<()>>,
}

#[derive(Default)]
struct Listed {
    /// How many faults were added.
    count: u64,
    faults: Vec<Entry>,
}

impl Listed {
    fn add(&mut self, id: FaultId, names: Vec<String>, alone: Option<String>) -> Entry {
        self.count += 1;
        let entry = Entry { number: self.count, id, names, alone };
        self.faults.push(entry.clone());
        entry
    }
}

#[derive(Clone)]
struct Entry {
    number: u64,
    id: FaultId,
    /// The names of requesters and components in it.
    names: Vec<String>,
    /// The controller or node on which it acts alone.
    alone: Option<String>,
}

/// A fault of a running cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FaultStatus {
    /// The number by which it can be removed.
    pub id: u64,
    /// Its name; without one, its text.
    pub name: String,
    /// `waiting` before it has struck, `active` while it can strike again, and `ended`.
    pub state: &'static str,
    /// Whether its effect applies now. It may apply before it strikes.
    #[serde(skip)]
    pub has_begun: bool,
    /// How often it has struck: requests, and watches that it ended. Events that it holds count once.
    pub struck: u64,
    /// The revision at its first strike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// How near it came, if it has not struck.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near_miss: Option<String>,
    /// The component that was possibly meant, if it has not struck and names no component of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub did_you_mean: Option<String>,
}

impl fmt::Debug for RunningFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningFaults").field("listed", &self.list()).finish_non_exhaustive()
    }
}

impl RunningFaults {
    /// No faults in this cluster, whose layer for all transports is `wire`.
    pub fn new(cluster: &Cluster, wire: &Wire) -> Self {
        let world = World::new(cluster.store(), "default", Arc::new(cluster.plurals()), Vec::new());
        let faults = Faults::new(PluralsOfKinds::new(), wire, cluster.handle(), cluster.recorder(), &world);
        let faults = Self::of(faults, world, cluster.handle(), cluster.api_server(), true);
        let switching = Arc::downgrade(&faults.shared);
        cluster
            .kubelet()
            .switched_by(move |switched| switching.upgrade().is_some_and(|shared| Self { shared }.switch(switched)));
        faults
    }

    /// No faults in this API server alone, whose clients are behind `wire`. It has no components and no nodes, so faults
    /// of these are refused.
    pub fn of_api_server(api_server: &ApiServer, store: &OpenStore, recorder: &Recorder, wire: &Wire) -> Self {
        let world = World::new(Arc::clone(&store.store), "default", Arc::new(api_server.plurals()), Vec::new());
        let handle = ClusterHandle::of_api_server(api_server, store, recorder);
        let faults = Faults::new(PluralsOfKinds::new(), wire, handle.clone(), recorder, &world);
        Self::of(faults, world, handle, api_server, false)
    }

    fn of(faults: Faults, world: World, cluster: ClusterHandle, api_server: &ApiServer, has_components: bool) -> Self {
        let server = FaultyServer { has_components, has_store_in_memory: cluster.has_store_in_memory() };
        let registry = api_server.registry().clone();
        let kinds = move || {
            let served = registry.kinds();
            let of = |kind: &coracle_meta::GroupVersionKind| (kind.group_version().to_string(), kind.kind.clone());
            served.iter().map(|kind| (of(kind.gvk()), kind.row().plural.clone())).collect()
        };
        let (listed, following) = (Mutex::default(), Mutex::default());
        let shared = Shared { faults, world, cluster, server, kinds: Box::new(kinds), listed, following };
        Self { shared: Arc::new(shared) }
    }

    /// Adds or removes the fault that an annotation of a simulated node stands for; false if the node has to be switched
    /// without it.
    fn switch(&self, switched: &SwitchedNode) -> bool {
        let faults = &self.shared.faults;
        let mut listed = self.shared.listed.lock();
        if switched.is_usual {
            let Some(ended) = faults.end_on_node(&switched.name, switched.switch) else { return false };
            listed.faults.retain(|entry| entry.id != ended.id);
            return ended.had_struck;
        }
        let begun = faults.begin_on_node(&switched.name, switched.switch, faults.commit(switched.revision));
        if let Some(id) = begun {
            listed.add(id, Vec::new(), None);
        }
        true
    }

    /// No faults, on the wire of these ones: a wire has one injector. `custom` are the plurals of custom kinds.
    pub(crate) fn others(&self, custom: PluralsOfKinds, world: &World) -> Faults {
        self.shared.faults.sharing(custom, world)
    }

    /// The plurals of the kinds that the cluster serves now, by `apiVersion` and kind.
    pub fn kinds(&self) -> PluralsOfKinds {
        (self.shared.kinds)()
    }

    /// The faults of a text, if they can be added now; `path` is for messages.
    ///
    /// # Errors
    /// What is wrong with one of them, with its line and column in `text`.
    pub fn check(&self, faults: UncheckedFaults, path: &Path, text: &str) -> Result<FaultList, Problem> {
        let context = FaultContext { kinds: self.kinds(), sharing: self.sharing(), server: self.shared.server };
        faults.checked(path, text, context)
    }

    /// Adds faults. They wait for their conditions, or begin at once.
    ///
    /// # Errors
    /// If the objects of the cluster cannot be read; no fault was added then.
    pub async fn add(&self, list: &FaultList) -> Result<Vec<FaultStatus>, NotInTime> {
        let Shared { faults, world, listed, .. } = &*self.shared;
        self.follow();
        world.caught_up(PATIENCE).await?;
        let mut listed = listed.lock();
        let mut added = Vec::new();
        for fault in &list.faults {
            let Some(id) = faults.run(fault, &list.custom) else { continue };
            let (names, alone) = (requesters_of(fault, &list.custom), needs_own_informers(fault, &list.custom));
            added.push(listed.add(id, names, alone));
        }
        Ok(added.iter().filter_map(|entry| self.status(entry)).collect())
    }

    fn follow(&self) {
        let mut following = self.shared.following.lock();
        if following.is_empty() {
            let world = self.shared.world.clone();
            following.spawn(async move {
                // It ends with the store; a fault that waits for an object then waits forever.
                let _ = world.follow().await;
            });
        }
    }

    /// All faults, in the order in which they were added.
    pub fn list(&self) -> Vec<FaultStatus> {
        let entries = self.shared.listed.lock().faults.clone();
        entries.iter().filter_map(|entry| self.status(entry)).collect()
    }

    /// Ends and removes the faults that `is_chosen` chooses, and returns how they went.
    pub fn remove(&self, is_chosen: impl Fn(&FaultStatus) -> bool) -> Vec<FaultStatus> {
        let mut removed = Vec::new();
        self.shared.listed.lock().faults.retain(|entry| {
            let status = self.status(entry).filter(&is_chosen);
            if status.is_some() {
                self.shared.faults.injector().end(entry.id);
            }
            let stays = status.is_none();
            removed.extend(status);
            stays
        });
        removed
    }

    /// The component that was possibly meant by one of these names, if it is no component of the cluster.
    fn meant(&self, names: &[String]) -> Option<String> {
        let known = self.shared.cluster.component_names();
        let mut unknown = names.iter().filter(|name| !known.contains(name));
        unknown.find_map(|name| nearest_component(name, &known))
    }

    /// The controllers and nodes that share informers.
    fn sharing(&self) -> BTreeSet<String> {
        let cluster = &self.shared.cluster;
        let names = cluster.component_names().into_iter();
        names.filter(|name| name.contains('/') && !cluster.has_own_informers(name)).collect()
    }

    /// Why a fault cannot act on a node alone that was added after it.
    fn shares_informers(&self, alone: Option<&String>) -> Option<String> {
        let name = alone.filter(|name| self.sharing().contains(*name))?;
        let remedy = "to act on it alone, start the cluster with a fault of it in `coracle up --faults`";
        Some(format!("`{name}` shares its informers with others; {remedy}"))
    }

    fn status(&self, Entry { number, id, names, alone }: &Entry) -> Option<FaultStatus> {
        let FaultProgress { verdict, strikes, has_begun, has_ended } = self.shared.faults.progress(*id)?;
        let state = match (has_ended, strikes) {
            (true, _) => "ended",
            (false, 0) => "waiting",
            (false, _) => "active",
        };
        let (name, near_miss, revision) = (verdict.name, verdict.strike.near_miss(), verdict.strike.revision());
        let near_miss = near_miss.map(|near| self.shares_informers(alone.as_ref()).unwrap_or(near));
        let did_you_mean = if strikes == 0 { self.meant(names) } else { None };
        Some(FaultStatus { id: *number, name, state, has_begun, struck: strikes, revision, near_miss, did_you_mean })
    }
}
