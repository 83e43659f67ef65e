use std::borrow::Cow;
use std::path::{Path, PathBuf};

use coracle_scenario::file::Fault;
use coracle_scenario::parse::{self, API_VERSION, DocumentKind, Problem, unknown_word, yaml};
use coracle_scenario::{BuiltIn, UncheckedFaults, file_schema, schema_of_words};
use coracle_sim::checks::CHECKS;
use coracle_yaml::{Location, Spanned};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::Value;

/// The component that is checked with a scenario if nothing else is said.
pub(crate) const COMPONENT: &str = "controller-manager";

/// The start of a plan. Other fields are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    api_version: Option<Spanned<String>>,
    kind: Option<Spanned<String>>,
}

/// A plan as it is in a file.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PlanDocument {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(default, rename = "metadata")]
    _metadata: Value,
    pub(crate) spec: PlanSpec,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanSpec {
    #[schemars(with = "PlanSubject")]
    pub(crate) of: Spanned<PlanSubject>,
    #[serde(default)]
    pub(crate) finds: PlanFinding,
    #[schemars(with = "Vec<Fault>", length(min = 1))]
    pub(crate) faults: Spanned<Vec<Value>>,
    #[serde(default)]
    pub(crate) writes: Vec<String>,
}

/// The run in which the plan broke a controller.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("anyOf" = [{"required": ["component"]}, {"required": ["scenario"]}]))]
pub(crate) struct PlanSubject {
    #[serde(default)]
    #[schemars(with = "String")]
    pub(crate) component: Option<Spanned<String>>,
    #[serde(default)]
    #[schemars(with = "String")]
    pub(crate) scenario: Option<Spanned<PathBuf>>,
    pub(crate) coracle: Option<String>,
    #[serde(default = "first_seed")]
    pub(crate) seed: u64,
    pub(crate) work: Option<String>,
    pub(crate) log: Option<String>,
}

fn first_seed() -> u64 {
    1
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanFinding {
    #[serde(default)]
    #[schemars(with = "CheckWord")]
    pub(crate) check: Option<Spanned<String>>,
    pub(crate) what: Option<String>,
}

/// The word of a check.
enum CheckWord {}

impl JsonSchema for CheckWord {
    fn schema_name() -> Cow<'static, str> {
        "CheckWord".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema_of_words("A check.", CHECKS.iter().map(|check| (check.word, check.about)))
    }
}

/// The JSON Schema of plan files.
pub fn plan_schema() -> Value {
    file_schema::<PlanDocument>(DocumentKind::Plan)
}

/// The faults of a plan, with their places.
#[derive(Deserialize)]
struct Faults {
    spec: FaultsOfSpec,
}

#[derive(Deserialize)]
struct FaultsOfSpec {
    faults: UncheckedFaults,
}

fn problem(path: &Path, place: Option<Location>, message: String) -> Problem {
    let (line, column) = place.map_or((1, 1), |place| (place.line(), place.column()));
    Problem { file: path.to_owned(), line, column, message }
}

/// Reads a text with the format of a plan of this version, whose meaning is not checked.
///
/// # Errors
/// The first place that shows that it has another format.
pub(crate) fn read_document(path: &Path, text: &str) -> Result<PlanDocument, Vec<Problem>> {
    let Head { api_version, kind } = yaml(path, text).map_err(|problem| vec![problem])?;
    let is_kind = kind.as_ref().is_some_and(|kind| kind.value == DocumentKind::Plan.name());
    let version = api_version.filter(|_| is_kind);
    if version.as_ref().is_none_or(|version| version.value != API_VERSION) {
        let found = version.as_ref().map(|version| format!(", but one of {}", version.value)).unwrap_or_default();
        let place = version.map(|version| version.location);
        return Err(vec![problem(path, place, format!("it is not a Plan of {API_VERSION}{found}"))]);
    }
    yaml(path, text).map_err(|problem| vec![problem])
}

impl PlanDocument {
    /// The problems of its words and faults: of each fault the first one.
    pub(crate) fn problems(&self, path: &Path, text: &str) -> Vec<Problem> {
        let PlanSpec { of, finds, faults, .. } = &self.spec;
        let mut problems = Vec::new();
        if of.value.component.is_none() && of.value.scenario.is_none() {
            let message = "`of` names a `component`, or a `scenario` with a component of the cluster".to_owned();
            problems.push(problem(path, Some(of.location), message));
        }
        let words: Vec<&str> = CHECKS.iter().map(|check| check.word).collect();
        let unknown = finds.check.as_ref().and_then(|check| {
            let message = unknown_word(&check.value, &words, "check")?;
            Some(problem(path, Some(check.location), message))
        });
        problems.extend(unknown);
        if faults.value.is_empty() {
            problems.push(problem(path, Some(faults.location), "a plan has at least one fault".to_owned()));
        } else {
            problems.extend(self.problems_of_faults(path, text));
        }
        problems
    }

    fn problems_of_faults(&self, path: &Path, text: &str) -> Vec<Problem> {
        let faults = match yaml::<Faults>(path, text) {
            Ok(Faults { spec }) => spec.faults,
            Err(problem) => return vec![problem],
        };
        let of = &self.spec.of.value;
        let Some(scenario) = &of.scenario else { return faults.problems_for_a_program(path, text) };
        let built_in = BuiltIn::default();
        let at = beside(path, &scenario.value);
        let read = match parse::read(&at, &built_in) {
            Ok(read) => read,
            Err(why) => {
                let message = format!("the scenario {} of this plan cannot be read: {why}", at.display());
                return vec![problem(path, Some(scenario.location), message)];
            }
        };
        let component = of.component.as_ref().and_then(|component| {
            let message = built_in.check_component(&component.value).err()?;
            Some(problem(path, Some(component.location), message))
        });
        component.into_iter().chain(faults.problems_in(&read, &at, path, text)).collect()
    }
}

/// A path that is relative to a file.
pub(crate) fn beside(file: &Path, path: &Path) -> PathBuf {
    file.parent().map_or_else(|| path.to_owned(), |folder| folder.join(path))
}
