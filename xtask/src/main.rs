//! Code that writes code: `cargo xtask release VERSION` writes the data of a release, `cargo xtask api` the typed kinds,
//! `cargo xtask descriptions FILE` what `kubectl explain` says of them, `cargo xtask viewer` the page that shows a run,
//! `cargo xtask lab FOLDER` the page of the lab.
//! `cargo xtask dist` writes the archive of a release, `cargo xtask notices TARGET` prints the licences of its crates.

mod api;
#[cfg(feature = "descriptions")]
mod descriptions;
#[cfg(feature = "dist")]
mod dist;
mod failure;
mod lab;
#[cfg(feature = "proto")]
mod proto;
mod release;
mod viewer;

use std::process::ExitCode;

fn main() -> ExitCode {
    let task = std::env::args().nth(1).unwrap_or_default();
    let result = match task.as_str() {
        "release" => release::write(),
        "api" => api::write(),
        "viewer" => viewer::write(),
        "lab" => lab::write(),
        #[cfg(feature = "descriptions")]
        "descriptions" => descriptions::write(),
        #[cfg(not(feature = "descriptions"))]
        "descriptions" => with_feature("descriptions"),
        #[cfg(feature = "dist")]
        "dist" => dist::write(),
        #[cfg(feature = "dist")]
        "notices" => dist::print_notices(),
        #[cfg(not(feature = "dist"))]
        "dist" | "notices" => with_feature("dist"),
        #[cfg(feature = "proto")]
        "proto" => proto::write(),
        _ => {
            eprintln!(
                "usage: cargo xtask release VERSION | api | descriptions FILE | viewer | lab FOLDER | dist | notices TARGET"
            );
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Does the task with more compiled into this program, which most tasks do not need.
#[cfg(not(all(feature = "descriptions", feature = "dist")))]
fn with_feature(task: &str) -> Result<(), failure::Failure> {
    let run = ["run", "-q", "-p", "xtask", "--features", task, "--"];
    let status = std::process::Command::new(env!("CARGO")).args(run).args(std::env::args_os().skip(1)).status()?;
    if status.success() { Ok(()) } else { Err(format!("{task} failed").into()) }
}
