use std::path::PathBuf;

use coracle_scenario::Scenario;
pub use coracle_scenario::file::Metadata;
use coracle_scenario::file::Spec as ScenarioSpec;
use serde::Deserialize;
use serde_saphyr::Spanned;

/// A lesson file.
///
/// Expressions are CEL with Kubernetes' libraries. A caption's name stands for the entry that it is about, which has `id`, `at` (a
/// duration since the log began), `actor`, `stage`, `subject`, `causes`, `revision` (0 for none) and `data`, as in `docs/events.md`; and,
/// where it speaks of a change of an object, the `object` since, what it was `before`, and the `managers` of its fields. `entries` are
/// all from the first step on; what is under `values` has names of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Lesson {
    /// `coracle.dev/v1alpha1`.
    pub api_version: Spanned<String>,
    /// `Lesson`.
    pub kind: Spanned<String>,
    /// The name.
    pub metadata: Metadata,
    /// What is taught.
    pub spec: Spec,
    /// The scenario of the run, and that of the contrast, as they were read, each with the file that it stands in.
    #[serde(skip)]
    pub(crate) scenarios: Option<Box<[(Scenario, PathBuf); 2]>>,
}

/// What a lesson teaches.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spec {
    /// Its place in the list, from 1.
    pub number: u32,
    /// What it is about, in a line.
    pub title: String,
    /// What to guess at before the run is seen.
    pub question: String,
    /// Two to four answers, of which one is right.
    pub answers: Spanned<Vec<Answer>>,
    /// What to know beside the run: where Coracle differs, or where the words come from.
    #[serde(default)]
    pub note: String,
    /// What is run.
    pub scenario: Spanned<Source>,
    /// Values with names, for texts and claims; each may use those above it.
    #[serde(default)]
    pub values: Vec<Named>,
    /// What there is to see in the run, in the order in which it is told.
    pub captions: Spanned<Vec<Caption>>,
    /// A run in which claims are false.
    pub contrast: Contrast,
}

/// An answer to guess at.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The answer.
    pub text: String,
    /// Whether it is the right one.
    #[serde(default)]
    pub right: bool,
    /// Why it is right, or what is wrong with it.
    pub why: String,
}

/// A scenario: a file, or written here.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// A scenario file, relative to the lesson's.
    #[serde(default)]
    pub file: Option<Spanned<String>>,
    /// The `spec` of a scenario.
    #[serde(default)]
    pub spec: Option<ScenarioSpec>,
}

/// A value with a name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// The name.
    pub name: Spanned<String>,
    /// What it is.
    pub cel: Spanned<String>,
}

/// A sentence about an entry.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caption {
    /// The name by which expressions know the entry.
    pub name: Spanned<String>,
    /// Which entry it is about.
    pub at: Pattern,
    /// What it says; an expression between braces stands for its value.
    pub text: Spanned<String>,
    /// What has to be true for that to be said.
    pub claim: Spanned<String>,
}

/// Which entry a caption is about: the first, from the first step on, of which all of this is so.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pattern {
    /// Its stage.
    pub stage: Spanned<String>,
    /// Its actor; `*` stands for any text.
    #[serde(default)]
    pub actor: Option<String>,
    /// Its subject; `*` stands for any text.
    #[serde(default)]
    pub subject: Option<String>,
    /// What else is true of it, which is called `entry` here.
    #[serde(default, rename = "where")]
    pub condition: Option<Spanned<String>>,
    /// The caption after whose entry it comes.
    #[serde(default)]
    pub after: Option<Spanned<String>>,
    /// The caption before whose entry it comes.
    #[serde(default)]
    pub before: Option<Spanned<String>>,
    /// The caption whose entry is among its causes, or the causes of those, and so on.
    #[serde(default)]
    pub caused_by: Option<Spanned<String>>,
    /// Which of them, if not the first: 2 is the second, -1 the last.
    #[serde(default)]
    pub nth: Option<Spanned<i64>>,
}

/// A run in which claims of the lesson are false.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contrast {
    /// What is different, in a line.
    pub title: String,
    /// What is run.
    pub scenario: Spanned<Source>,
    /// Names of captions whose claims are false there.
    pub refutes: Spanned<Vec<Spanned<String>>>,
    /// Values with names that are of use there alone.
    #[serde(default)]
    pub values: Vec<Named>,
    /// What there is to see.
    pub captions: Spanned<Vec<Caption>>,
}
