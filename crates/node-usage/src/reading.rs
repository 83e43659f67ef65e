use coracle_ambient::Timestamp;
use coracle_meta::ObjectKey;

/// The usage of one running container at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerReading {
    /// The name of the container.
    pub name: String,
    /// When its run began.
    pub started: Timestamp,
    /// The CPU time that it has used since then, in nanoseconds of one core.
    pub cpu: u64,
    /// Its CPU usage at that moment, in billionths of a core.
    pub cpu_now: u64,
    /// Memory, in bytes.
    pub memory: u64,
    /// Disk of the node, in bytes.
    pub storage: u64,
    /// Processes.
    pub pids: u64,
}

/// The usage of one pod at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodReading {
    /// The pod.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: String,
    /// When the node first saw it.
    pub started: Timestamp,
    /// The CPU time of all runs of its containers, in nanoseconds of one core.
    pub cpu: u64,
    /// Its running containers, in the order of their names.
    pub containers: Vec<ContainerReading>,
}

impl PodReading {
    /// The sum of an amount over all containers.
    pub fn total(&self, amount: impl Fn(&ContainerReading) -> u64) -> u64 {
        self.containers.iter().map(amount).sum()
    }
}

/// The usage of a node at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeReading {
    /// The moment.
    pub at: Timestamp,
    /// When the meters of the node were started.
    pub started: Timestamp,
    /// The CPU time of the system and of all pods that ever ran there, in nanoseconds of one core.
    pub cpu: u64,
    /// Its CPU usage at that moment, in billionths of a core.
    pub cpu_now: u64,
    /// Memory of the system and of pods, in bytes.
    pub memory: u64,
    /// Disk, in bytes.
    pub storage: u64,
    /// Processes.
    pub pids: u64,
    /// Its pods with a running container, in the order of their keys.
    pub pods: Vec<PodReading>,
}
