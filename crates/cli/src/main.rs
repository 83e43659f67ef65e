//! `coracle`: one program for everything. This file reads the command line and hands over.
//!
//! ```text
//! argv --clap--> a command of `commands` --> cluster (up and the single components) | scenario (run, story)
//! ```
//! Exit codes are in [`exit`]. Not here: anything that a test could not do by calling a library function.

mod commands;
mod descriptions;
mod exit;
mod interrupt;
mod live;
mod state;

use std::process::ExitCode;

use clap::Parser;

use commands::Command;

/// The Kubernetes control plane in one small program.
#[derive(Debug, Parser)]
#[command(name = "coracle", version, about, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  coracle run scenarios/delete-a-pod.yaml      watch a deleted pod come back
  coracle up                                   a cluster to play with; then, in another terminal:
  coracle kubectl get pods -A                  your own kubectl, pointed at it
  coracle exec -- go test ./...                any program, with KUBECONFIG set

Exit codes: 0 all well, 1 a check failed, 2 bad usage or scenario, 3 not in time, 4 nothing matched,
            70 Coracle or the system failed, 130 interrupted";

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { exit::USAGE } else { exit::PASS });
        }
    };
    match arguments.command.run() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("coracle: {error:#}");
            let usage = error.downcast_ref::<exit::Usage>().is_some();
            ExitCode::from(if usage { exit::USAGE } else { exit::FAILED })
        }
    }
}
