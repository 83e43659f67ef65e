use std::borrow::Cow;
use std::path::{Path, PathBuf};

use coracle_journal::Stage;
pub use coracle_scenario::file::Metadata;
use coracle_scenario::file::Spec as ScenarioSpec;
use coracle_scenario::parse::DocumentKind;
use coracle_scenario::{Scenario, file_schema, schema_of_words};
use coracle_yaml::Spanned;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::Value;

/// A lesson file.
///
/// Expressions are CEL with the Kubernetes libraries. The name of a caption stands for its entry, with the fields `id`,
/// `at` (a duration since the log began), `actor`, `stage`, `subject`, `causes`, `revision` (0 for none) and `data`, as
/// in `docs/events.md`. An entry about a change of an object also has the `object` after it, the object `before`, and
/// the `managers` of its fields. `entries` is the list of all entries from the first step on. Entries of `values` have
/// names of their own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Lesson {
    /// `coracle.dev/v1alpha1`.
    #[schemars(with = "String")]
    pub api_version: Spanned<String>,
    /// `Lesson`.
    #[schemars(with = "String")]
    pub kind: Spanned<String>,
    /// The name.
    pub metadata: Metadata,
    /// The contents of the lesson.
    pub spec: Spec,
    /// The scenarios of the run and of the contrast, each with the path of its file.
    #[serde(skip)]
    pub(crate) scenarios: Option<Box<[(Scenario, PathBuf); 2]>>,
}

impl Lesson {
    /// The scenario of the run, and the path of its file.
    ///
    /// # Panics
    /// If the lesson was not read by [`read`](crate::read).
    pub fn scenario(&self) -> (&Scenario, &Path) {
        let [(scenario, path), _] = &**self.scenarios.as_ref().expect("a lesson that was read has its scenarios");
        (scenario, path)
    }
}

/// The contents of a lesson.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spec {
    /// Its position in the list, from 1.
    pub number: u32,
    /// Its subject, in one line.
    pub title: String,
    /// The question to think about before the run is shown.
    pub question: String,
    /// Two to four answers, of which one is right.
    #[schemars(with = "Vec<Answer>", length(min = 2, max = 4))]
    pub answers: Spanned<Vec<Answer>>,
    /// Additional information: where Coracle differs, or where terms come from.
    #[serde(default)]
    pub note: String,
    /// The scenario to run.
    #[schemars(with = "Source")]
    pub scenario: Spanned<Source>,
    /// Named values for texts and claims; each may use those before it.
    #[serde(default)]
    pub values: Vec<Named>,
    /// The captions of the run, in order.
    #[schemars(with = "Vec<Caption>", length(min = 1))]
    pub captions: Spanned<Vec<Caption>>,
    /// A run in which claims are false.
    pub contrast: Contrast,
}

/// A possible answer to the question.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The answer.
    pub text: String,
    /// Whether it is the right one.
    #[serde(default)]
    pub right: bool,
    /// Why it is right or wrong.
    pub why: String,
    /// Where the answer is drawn into the picture; without it, only the time of the guess is drawn.
    #[serde(default)]
    pub place: Option<AnswerPlace>,
}

/// The place of an answer in the picture.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerPlace {
    /// The component that would have acted, as entries name it: `apiserver`, `kubelet`, `controller-manager/replicaset`.
    #[schemars(with = "String")]
    pub component: Spanned<String>,
    /// The caption at whose entry it would have acted; the first caption if absent.
    #[serde(default)]
    #[schemars(with = "String")]
    pub at: Option<Spanned<String>>,
}

/// A scenario, in a file or inline.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["file"]}, {"required": ["spec"]}]))]
pub struct Source {
    /// A scenario file, relative to the lesson's.
    #[serde(default)]
    #[schemars(with = "String")]
    pub file: Option<Spanned<String>>,
    /// The `spec` of a scenario.
    #[serde(default)]
    pub spec: Option<ScenarioSpec>,
}

/// A named value.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// The name.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// The expression.
    #[schemars(with = "String")]
    pub cel: Spanned<String>,
}

/// A sentence about an entry.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Caption {
    /// The name of the entry in expressions.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// The entry that it is about.
    pub at: Pattern,
    /// The sentence; an expression in braces is replaced by its value.
    #[schemars(with = "String")]
    pub text: Spanned<String>,
    /// The condition that proves the sentence.
    #[schemars(with = "String")]
    pub claim: Spanned<String>,
}

/// The word of a stage.
enum StageWord {}

impl JsonSchema for StageWord {
    fn schema_name() -> Cow<'static, str> {
        "StageWord".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema_of_words("A stage.", Stage::ALL.iter().map(|stage| (stage.word(), stage.about())))
    }
}

/// The JSON Schema of lesson files.
pub fn lesson_schema() -> Value {
    file_schema::<Lesson>(DocumentKind::Lesson)
}

/// Selects the entry of a caption: the first, from the first step on, for which all of this holds.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pattern {
    /// Its stage.
    #[schemars(with = "StageWord")]
    pub stage: Spanned<String>,
    /// Its actor; `*` matches any text.
    #[serde(default)]
    pub actor: Option<String>,
    /// Its subject; `*` matches any text.
    #[serde(default)]
    pub subject: Option<String>,
    /// A condition on the entry, which is named `entry` in it.
    #[serde(default, rename = "where")]
    #[schemars(with = "String")]
    pub condition: Option<Spanned<String>>,
    /// The caption whose entry comes before it.
    #[serde(default)]
    #[schemars(with = "String")]
    pub after: Option<Spanned<String>>,
    /// The caption whose entry comes after it.
    #[serde(default)]
    #[schemars(with = "String")]
    pub before: Option<Spanned<String>>,
    /// The caption whose entry is one of its direct or indirect causes.
    #[serde(default)]
    #[schemars(with = "String")]
    pub caused_by: Option<Spanned<String>>,
    /// Which of the matching entries, if not the first: 2 is the second, -1 the last.
    #[serde(default)]
    #[schemars(with = "i64")]
    pub nth: Option<Spanned<i64>>,
    /// Whether it is the first entry in which the run and its contrast in another release differ: in the time since the
    /// first step, the actor, the stage or the subject.
    #[serde(default)]
    #[schemars(with = "bool")]
    pub differs: Option<Spanned<bool>>,
}

/// A run in which claims of the lesson are false.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["scenario"]}, {"required": ["kubernetes"]}]))]
pub struct Contrast {
    /// What is different, in one line.
    #[schemars(with = "String")]
    pub title: Spanned<String>,
    /// The scenario to run.
    #[serde(default)]
    #[schemars(with = "Source")]
    pub scenario: Option<Spanned<Source>>,
    /// The Kubernetes release in which to run the scenario of the lesson: its minor version, such as `1.35`.
    #[serde(default)]
    #[schemars(with = "String")]
    pub kubernetes: Option<Spanned<String>>,
    /// The captions whose claims are false there.
    #[schemars(with = "Vec<Refutation>", length(min = 1))]
    pub refutes: Spanned<Vec<Refutation>>,
    /// Named values that only the contrast uses.
    #[serde(default)]
    pub values: Vec<Named>,
    /// The captions of the run.
    #[schemars(with = "Vec<Caption>", length(min = 1))]
    pub captions: Spanned<Vec<Caption>>,
}

/// A caption whose claim is false in the contrast.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Refutation {
    /// The name of the caption.
    #[schemars(with = "String")]
    pub caption: Spanned<String>,
    /// What is true there instead, as a sentence like a caption's text.
    #[schemars(with = "String")]
    pub instead: Spanned<String>,
}
