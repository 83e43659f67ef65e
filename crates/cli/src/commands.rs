//! The commands, one file each.

mod admission_configuration;
mod advertise_flags;
mod api_flags;
mod apiserver;
mod audit_flags;
mod budget;
mod certificate_file;
mod check;
mod check_files;
mod check_output;
mod checked_process;
mod checked_program;
mod clock;
mod completion;
mod component;
mod detached;
mod diff;
mod dist;
mod down;
mod env;
mod etcd;
mod etcd_servers;
mod exec;
mod exercise;
mod fault;
mod fork;
mod front_proxy_flags;
mod greeting;
mod import;
mod in_network;
mod kube_apiserver;
mod kubeconfig;
mod kubectl;
mod kubelet;
mod kubelet_client_flags;
mod kustomization;
mod lab;
mod learn;
mod learn_in_browser;
mod mcp;
mod new;
mod node;
mod node_flags;
mod plan_files;
mod prepared_cluster;
mod program_networks;
mod program_temp;
mod release_flags;
mod replay;
mod reset;
mod run;
mod scheduler_configuration;
mod schema;
mod server_flags;
mod service_account_flags;
mod settle;
mod snapshot;
mod status;
mod store;
mod story;
mod time_flag;
mod up;
mod validate;
mod validate_manifests;
mod version;
mod versions;
mod view;
mod wait_for_ready;
mod webhook_flags;
mod what_if;
mod why;

use anyhow::Result;
use clap::Subcommand;

pub(crate) use etcd::Etcd;
pub(crate) use in_network::{NAME as IN_NETWORK, run as run_in_network};
pub(crate) use kube_apiserver::KubeApiserver;

/// What `coracle` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run scenarios, each in its own cluster, and check their expectations
    Run(run::Run),
    /// Write a first scenario to a file
    New(new::New),
    /// Check scenarios, lessons and manifests without running them: all problems, with their places
    Validate(validate::Validate),
    /// Print the JSON Schema of scenarios, lessons, plans or exercises, for an editor
    Schema(schema::SchemaCommand),
    /// Find the faults that break a controller in any language, with nothing configured
    Check(check::CheckCommand),
    /// Show how the control plane works, by lessons: a question, a run, and an explanation of the run
    Learn(learn::Learn),
    /// Serve the lab: a control plane that runs in a browser tab
    Lab(lab::LabCommand),
    /// Practise: start a broken cluster, repair it with kubectl, and check the repair
    Exercise(exercise::ExerciseCommand),
    /// Serve the Model Context Protocol on standard input and output: clusters and exercises for agents and graders
    Mcp(mcp::Mcp),
    /// Show what a deletion (or any object) caused, from an events file
    Story(story::Story),
    /// Show the chain of causes of an object or an event, from an events file
    Why(why::Why),
    /// Compare two runs by their events files: the first event that differs, its causes, and what follows
    Diff(diff::Diff),
    /// Show a run in the browser, or write reports of it, from an events file
    View(view::View),
    /// Start a cluster on this machine and keep it until Ctrl-C
    Up(Box<up::Up>),
    /// Show the cluster that runs: its address, nodes, pods and faults
    Status(status::Status),
    /// Stop the cluster that `up` started
    Down(down::Down),
    /// Print the environment variables that programs need to use the cluster, for `eval "$(coracle env)"`
    Env(env::Env),
    /// Run your kubectl against the cluster
    Kubectl(kubectl::Kubectl),
    /// Run a program with KUBECONFIG set, and start a cluster for it if none is running
    Exec(exec::Exec),
    /// Import objects of another cluster from the output of `kubectl get -o yaml`
    Import(import::Import),
    /// Save a running or stopped cluster to a file, restore a cluster from it, or check its objects
    Snapshot(snapshot::Snapshot),
    /// Add, start, stop, kill, partition or drain simulated nodes of the cluster
    Node(node::Node),
    /// Add, list or remove faults between the API server and those that use it: lost answers, late watches, stale reads
    Fault(fault::FaultCommand),
    /// Show the time of a cluster with --time stepped, and advance it
    Clock(clock::Clock),
    /// Wait until nothing moves in the cluster; a stepped clock advances as far as that needs
    Settle(settle::SettleCommand),
    /// Reset a cluster in memory to the state in which it started, or to one that was kept
    Reset(reset::Reset),
    /// Start a second cluster that continues from a state of the first, or from a revision
    Fork(fork::ForkCommand),
    /// Write a kubeconfig for a program, with a user of its own that faults can select
    Kubeconfig(kubeconfig::Kubeconfig),
    /// Run only the store, with etcd's protocol
    Store(Box<store::StoreCommand>),
    /// Run only the API server
    Apiserver(Box<apiserver::Apiserver>),
    /// Run only the controllers, against the cluster of a kubeconfig
    ControllerManager(component::ControllerManager),
    /// Run only the scheduler, against the cluster of a kubeconfig
    Scheduler(component::Scheduler),
    /// Run only simulated nodes, in the cluster of a kubeconfig
    Kubelet(kubelet::SimulatedNodes),
    /// Print the version of this program, and the version of Kubernetes as which it answers
    Version(version::VersionCommand),
    /// List the Kubernetes releases that --kubernetes chooses from
    Versions(versions::VersionsCommand),
    /// Print a completion script for a shell
    Completion(completion::Completion),
    /// Write files from which others install Coracle: archives for setup-envtest, manual pages
    Dist(dist::DistCommand),
}

impl Command {
    /// Runs the command, and returns the exit code.
    pub(crate) fn run(self) -> Result<u8> {
        match self {
            Self::Run(command) => command.run(),
            Self::New(command) => command.run(),
            Self::Validate(command) => command.run(),
            Self::Schema(command) => command.run(),
            Self::Check(command) => command.run(),
            Self::Learn(command) => command.run(),
            Self::Lab(command) => command.run(),
            Self::Exercise(command) => command.run(),
            Self::Mcp(command) => command.run(),
            Self::Story(command) => command.run(),
            Self::Why(command) => command.run(),
            Self::Diff(command) => command.run(),
            Self::View(command) => command.run(),
            Self::Up(command) => command.run(),
            Self::Status(command) => command.run(),
            Self::Down(command) => command.run(),
            Self::Env(command) => command.run(),
            Self::Kubectl(command) => command.run(),
            Self::Exec(command) => command.run(),
            Self::Import(command) => command.run(),
            Self::Snapshot(command) => command.run(),
            Self::Node(command) => command.run(),
            Self::Fault(command) => command.run(),
            Self::Clock(command) => command.run(),
            Self::Settle(command) => command.run(),
            Self::Reset(command) => command.run(),
            Self::Fork(command) => command.run(),
            Self::Kubeconfig(command) => command.run(),
            Self::Store(command) => command.run(),
            Self::Apiserver(command) => command.run(),
            Self::ControllerManager(command) => command.run(),
            Self::Scheduler(command) => command.run(),
            Self::Kubelet(command) => command.run(),
            Self::Version(command) => command.run(),
            Self::Versions(command) => command.run(),
            Self::Completion(command) => command.run(),
            Self::Dist(command) => command.run(),
        }
    }
}
