//! The commands, one file each.

mod admission_configuration;
mod advertise_flags;
mod api_flags;
mod apiserver;
mod audit_flags;
mod certificate_file;
mod completion;
mod component;
mod diff;
mod down;
mod env;
mod etcd;
mod etcd_servers;
mod exec;
mod flag_table;
mod front_proxy_flags;
mod import;
mod kube_apiserver;
mod kubectl;
mod kubelet;
mod kubelet_client_flags;
mod learn;
mod node;
mod node_flags;
mod run;
mod scheduler_configuration;
mod server_flags;
mod service_account_flags;
mod snapshot;
mod store;
mod story;
mod up;
mod view;
mod webhook_flags;
mod what_if;
mod why;

use anyhow::Result;
use clap::Subcommand;

pub(crate) use etcd::Etcd;
pub(crate) use flag_table::sift;
pub(crate) use kube_apiserver::KubeApiserver;

/// What `coracle` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run scenarios in clusters of their own, and check what has to hold
    Run(run::Run),
    /// Teach how the control plane works: a question, a run, and what there is to see in it
    Learn(learn::Learn),
    /// Tell what a deletion (or any object) set in motion, from an events file
    Story(story::Story),
    /// Say why an object, or an event, is there, as a chain of causes, from an events file
    Why(why::Why),
    /// Compare two runs by their events files: the first event that differs, why, and what follows
    Diff(diff::Diff),
    /// Show a run on a page in the browser, or write reports of it, from an events file
    View(view::View),
    /// Start a cluster on this machine and keep it until Ctrl-C
    Up(Box<up::Up>),
    /// Stop the cluster that `up` started
    Down(down::Down),
    /// Print the environment that points programs at the cluster, for `eval "$(coracle env)"`
    Env(env::Env),
    /// Your kubectl, pointed at the cluster
    Kubectl(kubectl::Kubectl),
    /// Any program, with KUBECONFIG set; a cluster is started for it if none runs
    Exec(exec::Exec),
    /// Make objects of another cluster anew, from what `kubectl get -o yaml` printed
    Import(import::Import),
    /// Save a cluster into a file, whether it runs or not, or make one of such a file
    Snapshot(snapshot::Snapshot),
    /// Add, start, stop, kill, cut off or drain simulated nodes of the cluster
    Node(node::Node),
    /// Only the store, speaking etcd's protocol
    Store(Box<store::StoreCommand>),
    /// Only the API server
    Apiserver(Box<apiserver::Apiserver>),
    /// Only the controllers, of the cluster of a kubeconfig
    ControllerManager(component::ControllerManager),
    /// Only the scheduler, of the cluster of a kubeconfig
    Scheduler(component::Scheduler),
    /// Only simulated nodes, of the cluster of a kubeconfig
    Kubelet(kubelet::SimulatedNodes),
    /// Print a completion script for a shell
    Completion(completion::Completion),
}

impl Command {
    /// Runs the command, and returns the exit code.
    pub(crate) fn run(self) -> Result<u8> {
        match self {
            Self::Run(command) => command.run(),
            Self::Learn(command) => command.run(),
            Self::Story(command) => command.run(),
            Self::Why(command) => command.run(),
            Self::Diff(command) => command.run(),
            Self::View(command) => command.run(),
            Self::Up(command) => command.run(),
            Self::Down(command) => command.run(),
            Self::Env(command) => command.run(),
            Self::Kubectl(command) => command.run(),
            Self::Exec(command) => command.run(),
            Self::Import(command) => command.run(),
            Self::Snapshot(command) => command.run(),
            Self::Node(command) => command.run(),
            Self::Store(command) => command.run(),
            Self::Apiserver(command) => command.run(),
            Self::ControllerManager(command) => command.run(),
            Self::Scheduler(command) => command.run(),
            Self::Kubelet(command) => command.run(),
            Self::Completion(command) => command.run(),
        }
    }
}
