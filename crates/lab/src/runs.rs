use std::cell::OnceCell;
use std::path::PathBuf;

use coracle_journal::{Recorder, events_file};
use coracle_scenario::{BuiltIn, Mode, Options, Report, Scenario, execute, parse};
use coracle_viewer::{Summary, data};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::answer::LabAnswer;
use crate::cluster_spec::release;
use crate::clusters::Clusters;
use crate::error::LabError;
use crate::message::Message;
use crate::scenarios::scenario_named;

/// The entries of a run that are kept, as by `coracle run`.
pub(crate) const KEPT_ENTRIES: usize = 1_000_000;

/// What to run: the text of a scenario, or the name of one that is built in.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WantedRun {
    name: Option<String>,
    scenario: Option<String>,
    path: Option<PathBuf>,
    seed: Option<u64>,
    kubernetes: Option<String>,
    #[serde(default)]
    strict: bool,
    most_events: Option<u64>,
}

/// A scenario that can run.
pub(crate) struct Runnable {
    pub(crate) scenario: Scenario,
    pub(crate) path: PathBuf,
    pub(crate) options: Options,
}

impl WantedRun {
    pub(crate) fn read(self) -> Result<Runnable, LabError> {
        let Self { name, scenario, path, seed, kubernetes, strict, most_events } = self;
        let (text, usual) = match (scenario, name) {
            (Some(text), None) => (text, "scenario.yaml".to_owned()),
            (None, Some(name)) => (scenario_named(&name)?.to_owned(), format!("scenarios/{name}.yaml")),
            _ => return Err(LabError::new("a run needs either `scenario`, the text of one, or `name`")),
        };
        let path = path.unwrap_or_else(|| PathBuf::from(usual));
        let scenario = parse::parse_all(&path, &text, &BuiltIn::default())?;
        let kubernetes = kubernetes.map(|version| release("kubernetes", &version)).transpose()?;
        // A run that does not end must not take the memory of the page.
        let most_events = most_events.or(Some(KEPT_ENTRIES as u64));
        // There is no other time than virtual time.
        let options =
            Options { mode: Some(Mode::Virtual), seed, kubernetes, strict, most_events, ..Options::default() };
        Ok(Runnable { scenario, path, options })
    }
}

/// What a page shows of a report.
pub(crate) fn described(report: &Report) -> Value {
    json!({"passed": report.passed(), "seed": report.seed, "summary": Summary::of(report.events())})
}

#[derive(Deserialize)]
struct Run {
    /// Whether the payload is the data of the page of the run.
    #[serde(default)]
    page: bool,
    #[serde(flatten)]
    wanted: Map<String, Value>,
}

/// Runs a scenario to its end in a cluster of its own. The payload is its events file, byte for byte as
/// `coracle run --events FILE` writes it, or the data of its page, as `--report` embeds it.
pub(crate) fn run(_: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let Run { page, wanted } = message.fields()?;
    let wanted: WantedRun =
        serde_json::from_value(wanted.into()).map_err(|why| LabError::new(format!("run: {why}")))?;
    let Runnable { scenario, path, options } = wanted.read()?;
    let log = OnceCell::new();
    let report = execute(&scenario, &path, &options, |header| {
        log.get_or_init(|| (Recorder::ring(KEPT_ENTRIES), header.clone())).0.clone()
    })?;
    let events_file = || log.get().map(|(recorder, header)| events_file(header, recorder)).unwrap_or_default();
    let payload = if page { data(report.events()).into_bytes() } else { events_file() };
    Ok(LabAnswer { result: described(&report), payload })
}
