//! `coracle`: one program with all components. This file parses the command line and runs the command.
//!
//! ```text
//! argv --clap--> a command of `commands` --> cluster (up and the single components) | scenario (run, story)
//! ```
//! Under the names `kube-apiserver` and `etcd` it behaves like that program, for test environments that start it. So it does
//! with such a name as its first argument, for scripts, which cannot choose the name of what they execute.
//! Exit codes are in [`exit`]. Not here: functionality that a test could not call as a library.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod ascii;
mod cluster_api;
mod colours;
mod commands;
mod control_path;
mod course;
mod descriptions;
mod envtest_archive;
mod excerpt;
mod exec_folder;
mod exercise_api;
mod exit;
mod faults_api;
#[cfg(test)]
mod flag_document;
mod flags;
mod go_flags;
mod handed_on;
mod input;
mod interrupt;
mod kubeconfig_file;
mod lab_files;
mod layout;
mod live_view;
#[cfg(target_os = "linux")]
mod loopback;
mod open_files;
mod output;
mod page_socket;
mod parent_death;
mod progress;
mod random;
mod readiness;
mod readiness_api;
mod relay;
mod reports;
mod runtime;
mod screen;
mod seeds;
mod shell;
mod simulated;
mod snapshot;
mod snapshot_api;
mod state;
mod state_release;
mod terminal;
mod yaml_files;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, FromArgMatches, Parser};

use commands::{Command, Etcd, IN_NETWORK, KubeApiserver, run_in_network};
use output::{Unwritten, note};

/// Objects are trees of many small allocations, created and dropped with every write: an allocator for this pattern
/// saves a quarter of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The Kubernetes control plane in one small program.
#[derive(Debug, Parser)]
#[command(name = "coracle", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  coracle run scenarios/delete-a-pod.yaml      watch a deleted pod come back
  coracle learn                                lessons, a few minutes each
  coracle up                                   a cluster to play with; then, in another terminal:
  coracle kubectl get pods -A                  your own kubectl, pointed at it
  coracle exec -- go test ./...                any program, with KUBECONFIG set

Exit codes: 0 all well, 1 a check failed, 2 bad usage or scenario, 3 not in time, 4 nothing matched,
            70 Coracle or the system failed (a full disk, too), 130 interrupted,
            141 the reader of the output has gone, as in `coracle learn | head -1`";

fn main() -> ExitCode {
    let ended = run().and_then(|code| output::flush().map(|()| code).map_err(Into::into));
    ExitCode::from(ended.unwrap_or_else(|error| explain(&error)))
}

/// Runs the program for the name of the executable.
fn run() -> Result<u8> {
    let mut arguments = std::env::args();
    let called = arguments.next().unwrap_or_default();
    let mut arguments: Vec<String> = arguments.collect();
    let mut name = Path::new(&called).file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    if arguments.first().is_some_and(|first| matches!(first.as_str(), "kube-apiserver" | "etcd")) {
        name = arguments.remove(0);
    }
    match name.as_str() {
        "kube-apiserver" => KubeApiserver::run(arguments),
        "etcd" => Etcd::run(arguments),
        IN_NETWORK => run_in_network(&arguments),
        _ => {
            let arguments = std::iter::once(called).chain(normalized(arguments));
            let matches = program().try_get_matches_from(arguments)?;
            Arguments::from_arg_matches(&matches)?.command.run()
        }
    }
}

/// The command line of `coracle`. `-h` shows the flags of a command without a heading, `--help` shows all.
fn program() -> clap::Command {
    Arguments::command().mut_subcommands(flags::shorten)
}

/// The arguments, with the names of flags as Kubernetes' programs accept them if the command is one of those.
fn normalized(arguments: Vec<String>) -> Vec<String> {
    const PROGRAMS: [&str; 6] = ["up", "apiserver", "controller-manager", "scheduler", "kubelet", "store"];
    match arguments.first() {
        Some(name) if PROGRAMS.contains(&name.as_str()) => go_flags::dashes(arguments),
        _ => arguments,
    }
}

/// Prints the error, or the requested output (`--help`), and returns the exit code.
fn explain(error: &anyhow::Error) -> u8 {
    if let Some(clap) = error.downcast_ref::<clap::Error>() {
        return match output::print_clap(clap) {
            Err(unwritten) => explain(&unwritten.into()),
            Ok(()) if clap.use_stderr() => exit::USAGE,
            Ok(()) => exit::PASS,
        };
    }
    if error.downcast_ref::<Unwritten>().is_some_and(Unwritten::is_reader_gone) {
        return exit::READER_GONE;
    }
    note!("coracle: {error:#}");
    if error.downcast_ref::<exit::NotInTime>().is_some() {
        return exit::NOT_IN_TIME;
    }
    let refused = matches!(error.downcast_ref(), Some(coracle_cluster::Error::Options(_)));
    if refused || error.downcast_ref::<exit::Usage>().is_some() { exit::USAGE } else { exit::FAILED }
}
