use coracle_ambient::Timestamp;
use coracle_meta::ObjectKey;

/// What one running container uses at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerReading {
    /// Which.
    pub name: String,
    /// When its run began.
    pub started: Timestamp,
    /// Processor time that it has used since then, in nanoseconds of one core.
    pub cpu: u64,
    /// How much of it just then, in billionths of a core.
    pub cpu_now: u64,
    /// Memory, in bytes.
    pub memory: u64,
    /// Disk of the node, in bytes.
    pub storage: u64,
    /// Processes.
    pub pids: u64,
}

/// What one pod uses at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodReading {
    /// Which.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: String,
    /// When the node first saw it.
    pub started: Timestamp,
    /// Processor time of all runs of its containers, in nanoseconds of one core.
    pub cpu: u64,
    /// Its running containers, in the order of their names.
    pub containers: Vec<ContainerReading>,
}

impl PodReading {
    /// One of its amounts over all containers.
    pub fn total(&self, amount: impl Fn(&ContainerReading) -> u64) -> u64 {
        self.containers.iter().map(amount).sum()
    }
}

/// What a node uses at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeReading {
    /// The moment.
    pub at: Timestamp,
    /// When the node began to count.
    pub started: Timestamp,
    /// Processor time of all pods that ever ran there, and of what runs beside them, in nanoseconds of one core.
    pub cpu: u64,
    /// How much of it just then, in billionths of a core.
    pub cpu_now: u64,
    /// Memory of pods and of what runs beside them, in bytes.
    pub memory: u64,
    /// Disk, in bytes.
    pub storage: u64,
    /// Processes.
    pub pids: u64,
    /// Its pods with a running container, in the order of their keys.
    pub pods: Vec<PodReading>,
}
