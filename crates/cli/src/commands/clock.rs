//! `coracle clock`: the time of a running cluster.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use coracle_meta::format_duration;
use http::Method;
use serde_json::{Value, json};

use crate::cluster_api::control;
use crate::commands::env::ClusterArgs;
use crate::exit;
use crate::flags::values::duration;
use crate::input::read_text;
use crate::output::out;
use crate::runtime::runtime;

const EXAMPLES: &str = "Examples:
  coracle up --ephemeral --time stepped        then, in another terminal:
  coracle clock
  coracle clock advance 24h
  echo '{apiVersion: v1, kind: Pod, metadata: {labels: {app: web}}, status: {phase: Running}}' |
    coracle clock until - --within 10m";

/// Shows the time of a cluster, and advances it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Clock {
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Advance the clock of a cluster with --time stepped; all timers up to then fire in their order
    Advance {
        /// How far, such as 90s, 1h30m or 24h
        #[arg(value_parser = duration)]
        duration: std::time::Duration,
    },
    /// Advance the clock until an object holds
    Until(Until),
}

#[derive(Debug, Args)]
struct Until {
    /// A file with a part of an object, in YAML or JSON, with its apiVersion and kind; `-` for standard input
    file: PathBuf,
    /// Advance until no such object exists
    #[arg(long)]
    absent: bool,
    /// How far at most
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = duration)]
    within: std::time::Duration,
}

impl Clock {
    pub(crate) fn run(self) -> Result<u8> {
        let (path, body) = match &self.action {
            None => ("clock", None),
            Some(Action::Advance { duration }) => {
                ("clock/advance", Some(json!({"duration": format_duration(*duration)})))
            }
            Some(Action::Until(until)) => ("clock/advance", Some(until.body()?)),
        };
        let server = self.cluster.connect()?;
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let answer = runtime()?.block_on(control(&server, method, path, body))?;
        let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        match self.action {
            None => out!("{}  {}", text("now"), text("time"))?,
            Some(_) => out!("{}  advanced {}", text("now"), text("advanced"))?,
        }
        Ok(exit::PASS)
    }
}

impl Until {
    fn body(&self) -> Result<Value> {
        let unread = |error: String| exit::Usage(format!("{}: {error}", self.file.display()));
        let text = read_text(&self.file).map_err(|error| unread(format!("cannot be read: {error}")))?;
        let object: Value =
            coracle_scenario::parse::yaml(&self.file, &text).map_err(|problem| exit::Usage(problem.to_string()))?;
        Ok(json!({"until": {"object": object, "absent": self.absent}, "within": format_duration(self.within)}))
    }
}
