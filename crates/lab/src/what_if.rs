use std::path::Path;

use coracle_journal::{EntryId, Recorder};
use coracle_scenario::{BuiltIn, ChangeOutcome, parse_change, rerun};
use coracle_viewer::{RunPair, data_of_pair, how_they_differ};
use serde::Deserialize;
use serde_json::json;

use crate::answer::LabAnswer;
use crate::clusters::Clusters;
use crate::error::LabError;
use crate::message::Message;
use crate::runs::{KEPT_ENTRIES, Runnable, WantedRun, described};

/// The name of the step in messages.
const FILE: &str = "step.yaml";
/// The links at either end of a chain of causes that are shown.
const LINKS: usize = 3;
/// The names of the runs.
const CALLED: [&str; 2] = ["as it was", "as it is"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Changed {
    /// The scenario.
    run: WantedRun,
    /// The event after which the step is taken.
    at: u64,
    /// A step, an operation, or a list of operations, as YAML.
    step: String,
}

/// Runs a scenario with a step in addition, and without it. The payload is the data of the page for both.
pub(crate) fn answer(_: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let Changed { run, at, step } = message.fields()?;
    let Runnable { scenario, path, options } = run.read()?;
    let change = parse_change(Path::new(FILE), &step, EntryId(at), &scenario, &BuiltIn::default())?;
    let both = rerun(&scenario, &path, &options, &change, None, |_| Recorder::ring(KEPT_ENTRIES))?;
    if let Some(ChangeOutcome::Refused { why }) = &both.new.fate {
        return Err(LabError::new(why.clone()).at(FILE, 1));
    }
    let pair = RunPair::of(&both.was, both.new.events(), CALLED);
    let mut result = described(&both.new);
    (result["same"], result["differs"]) = (json!(both.divergence.same), json!(how_they_differ(&pair, LINKS)));
    Ok(LabAnswer { result, payload: data_of_pair(&pair).into_bytes() })
}
