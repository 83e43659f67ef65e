//! `coracle settle`: waits until nothing moves in a running cluster.

use anyhow::Result;
use clap::Args;
use coracle_meta::format_duration;
use http::Method;
use serde_json::{Map, Value};

use crate::cluster_api::control;
use crate::commands::env::ClusterArgs;
use crate::exit;
use crate::flags::values::duration;
use crate::output::out;
use crate::progress::Progress;
use crate::runtime::runtime;

/// Waits until nothing moves: no object changes, and no controller has work left. A stepped clock advances as far as
/// that needs. Exits with 3 if the cluster does not settle.
#[derive(Debug, Args)]
pub(crate) struct SettleCommand {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// How long no object changes, in the time of the cluster [default: 1m in stepped time, 500ms in other time]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    quiet: Option<std::time::Duration>,
    /// How long to wait at most, in the time of the cluster [default: 1h in stepped time, 30s in other time]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    within: Option<std::time::Duration>,
}

impl SettleCommand {
    pub(crate) fn run(self) -> Result<u8> {
        let given = [("quiet", self.quiet), ("within", self.within)];
        let given =
            given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), format_duration(value?).into())));
        let body: Map<String, Value> = given.collect();
        let server = self.cluster.connect()?;
        let waiting = Progress::of("waiting until nothing moves");
        let answer = runtime()?.block_on(control(&server, Method::POST, "settle", Some(body.into())))?;
        drop(waiting);
        let now = answer["now"].as_str().unwrap_or_default();
        if answer["settled"] == true {
            out!("{now}  settled at revision {}", answer["revision"])?;
            return Ok(exit::PASS);
        }
        out!("{now}  not settled; the last change is {}", answer["lastChange"].as_str().unwrap_or("none"))?;
        for work in answer["pending"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            out!("  {work}")?;
        }
        Ok(exit::NOT_IN_TIME)
    }
}
