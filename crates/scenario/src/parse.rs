mod check;
mod document_kind;
mod known;
mod problem;
mod vocabulary;

use std::path::Path;

use coracle_yaml::{Spanned, YamlNode};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

pub(crate) use self::check::Checker;
pub use self::document_kind::DocumentKind;
pub(crate) use self::known::Known;
use self::known::bound;
pub use self::problem::Problem;
pub use self::vocabulary::Vocabulary;
use crate::file::{Operation, Scenario, Step};
use crate::word::did_you_mean;
pub use crate::word::{nearest, unknown_word};
pub use crate::word_lists::API_VERSION;

/// Reads and checks a scenario file. A scenario runs only after this has succeeded.
pub fn read(path: &Path, vocabulary: &dyn Vocabulary) -> Result<Scenario, Problem> {
    parse(path, &read_text(path)?, vocabulary)
}

/// The text of a file.
///
/// # Errors
/// If it cannot be read.
pub fn read_text(path: &Path) -> Result<String, Problem> {
    std::fs::read_to_string(path).map_err(|error| Problem {
        file: path.to_owned(),
        line: 0,
        column: 0,
        message: format!("cannot be read: {error}"),
    })
}

/// Like [`read`], for a text that was read already; `path` is for messages and for files named in the scenario.
///
/// ```
/// use coracle_scenario::{BuiltIn, parse};
///
/// let text = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: a}\nspec: {stepps: []}\n";
/// let problem = parse::parse("a.yaml".as_ref(), text, &BuiltIn::default()).unwrap_err();
/// assert_eq!((problem.line, problem.column), (4, 8));
/// ```
pub fn parse(path: &Path, text: &str, vocabulary: &dyn Vocabulary) -> Result<Scenario, Problem> {
    let mut problems = match parse_all(path, text, vocabulary) {
        Ok(scenario) => return Ok(scenario),
        Err(problems) => problems,
    };
    Err(problems.swap_remove(0))
}

/// Like [`parse`], with all problems: the first one of each operation, expectation and fault.
///
/// # Errors
/// At least one problem. If the text does not have the format of a scenario, only the first place that shows it.
pub fn parse_all(path: &Path, text: &str, vocabulary: &dyn Vocabulary) -> Result<Scenario, Vec<Problem>> {
    let read = DocumentKind::Scenario.expect(path, text).and_then(|()| yaml::<Scenario>(path, text));
    let mut scenario = read.map_err(|problem| vec![problem])?;
    let problems = checker(path, text, &scenario, vocabulary).problems(&scenario);
    if !problems.is_empty() {
        return Err(problems);
    }
    scenario.hash = hash(text);
    Ok(scenario)
}

/// Reads any YAML file, with the same errors as [`parse`]. Texts and numbers are what they are in JSON: `5` is no text, and
/// `'5'` is no number.
///
/// # Errors
/// If the text is not valid YAML, or does not have this format.
pub fn yaml<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, Problem> {
    let read = YamlNode::parse_core_schema(text).and_then(|node| node.read());
    read.map_err(|error| {
        let (line, column) = (error.location.line(), error.location.column());
        Problem { file: path.to_owned(), line, column, message: with_suggestion(&error.message) }
    })
}

/// Checks a scenario that is part of another file, which is at `path` and has this text.
///
/// # Errors
/// The errors of [`parse`].
pub fn check(path: &Path, text: &str, scenario: &Scenario, vocabulary: &dyn Vocabulary) -> Result<(), Problem> {
    checker(path, text, scenario, vocabulary).problems(scenario).into_iter().next().map_or(Ok(()), Err)
}

fn checker<'c>(path: &'c Path, text: &'c str, scenario: &Scenario, vocabulary: &'c dyn Vocabulary) -> Checker<'c> {
    Checker { path, text, vocabulary, known: Known::of(scenario, path) }
}

/// The hash of a text: `sha256:` and 64 hexadecimal digits.
pub fn hash(text: &str) -> String {
    let digest = Sha256::digest(text);
    digest.iter().fold("sha256:".to_owned(), |hash, byte| format!("{hash}{byte:02x}"))
}

impl Scenario {
    /// The names that steps give to objects.
    pub fn bindings(&self) -> Vec<String> {
        self.spec.steps.iter().flat_map(Step::bindings).collect()
    }
}

impl Step {
    /// The names that it gives to objects.
    pub(crate) fn bindings(&self) -> Vec<String> {
        let name = |operation: &Spanned<Operation>| bound(&operation.value).map(|(name, _)| name);
        self.operations.iter().filter_map(name).collect()
    }
}

/// Adds the most similar of the words that serde expected.
fn with_suggestion(message: &str) -> String {
    let suggestion = || {
        let (found, expected) = message.split_once("`, expected ")?;
        let found = found.rsplit('`').next()?;
        let words = expected.trim_start_matches("one of ").split(", ").map(|word| word.trim_matches('`'));
        Some(did_you_mean(found, words))
    };
    format!("{message}{}", suggestion().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BuiltIn;
    use proptest::prelude::*;

    const HEAD: &str = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x}\nspec:\n";

    fn problem(rest: &str) -> String {
        parse(Path::new("x.yaml"), &format!("{HEAD}{rest}"), &BuiltIn::default()).unwrap_err().to_string()
    }

    #[test]
    fn a_misspelt_key_is_refused_with_its_place_and_the_nearest_one() {
        assert_eq!(
            problem("  steps:\n  - name: a\n    try:\n    - slep: {duration: 1s}\n"),
            "x.yaml:8:7: unknown variant `slep`, expected one of create, apply, get, update, patch, scale, delete, wait, assert, \
             error, cordon, uncordon, taint, evict, drain, rollout, sleep, stop, start, kill, partition, fault, heal; did you mean `sleep`?"
        );
        assert_eq!(
            problem("  cluster: {noodes: 2}\n  steps: []\n"),
            "x.yaml:5:13: unknown field `noodes`, expected one of nodes, kubernetes, mode, seed, latency, metricsServer, leaderElection, images, ownInformers; did you mean `nodes`?"
        );
    }

    #[test]
    fn a_static_pod_of_an_invalid_node_is_refused() {
        let node = |pod: &str| {
            let text = format!("{HEAD}  cluster: {{nodes: [{{name: a, staticPods: [{pod}]}}]}}\n  steps: []\n");
            parse(Path::new("x.yaml"), &text, &BuiltIn::default()).map(drop).map_err(|problem| problem.to_string())
        };
        let spec = "metadata: {name: web}, spec: {containers: [{name: c, image: i}]}";
        assert_eq!(node(&format!("{{apiVersion: v1, kind: Pod, {spec}}}")), Ok(()));
        let refused = node(&format!("{{apiVersion: v1, kind: Service, {spec}}}")).unwrap_err();
        assert!(refused.contains("staticPods[0]: invalid pod: apiVersion \"v1\", kind \"Service\""), "{refused}");
    }

    #[test]
    fn wrong_types_kinds_durations_and_expressions_are_refused_where_they_stand() {
        assert!(problem("  cluster: {nodes: many}\n  steps: []\n").starts_with("x.yaml:5:13: "));
        let step = |operation: &str| format!("  steps:\n  - name: a\n    try:\n    - {operation}\n");
        for (operation, message) in [
            ("sleep: {duration: soon}", "x.yaml:8:25: `soon` is not a duration"),
            (
                "create: {resource: {apiVersion: v1, kind: Pood}}",
                "x.yaml:8:26: no kind `Pood` in `v1`; did you mean `Pod`?",
            ),
            ("create: {resource: {kind: Pod}}", "x.yaml:8:26: the object has no `apiVersion`"),
            ("assert: {cel: '#'}", "x.yaml:8:21: bad expression: ERROR: <input>:1:1: Syntax error"),
            ("assert: {}", "x.yaml:8:7: needs either `resource` or `cel`"),
            ("delete: {ref: {apiVersion: v1, kind: Pod}}", "x.yaml:8:7: `ref` needs a `name` or `labels`"),
            ("stop: {component: scheduller}", "x.yaml:8:25: unknown component `scheduller`"),
            (
                "start: {toy: edge-trigered}",
                "x.yaml:8:20: unknown toy `edge-trigered`, expected one of edge-triggered, counting; did you",
            ),
            ("start: {toy: edge-triggered, node: n}", "x.yaml:8:7: needs one of `component`, `node` and `toy`"),
            ("update: {from: mine}", "x.yaml:8:22: no step gives an object the name `mine`"),
            (
                "create: {resource: {apiVersion: v1, kind: Pod}, ownedBy: mine}",
                "x.yaml:8:64: no step gives an object the name `mine`",
            ),
            ("get: {ref: {apiVersion: v1, kind: Pod}, as: mine}", "x.yaml:8:7: `ref` needs a `name`"),
            (
                "apply: {resource: {apiVersion: v1, kind: Pod}, refused: true}",
                "x.yaml:8:7: what is forced is not refused: `refused` needs `force: false`",
            ),
        ] {
            let found = problem(&step(operation));
            assert!(found.starts_with(message), "{operation}: {found}");
        }
        let never = problem("  steps:\n  - name: a\n    times: 0\n    try: []\n");
        let none = problem(&step("delete: {ref: {apiVersion: v1, kind: Pod, labels: {a: b}}, pick: 0}"));
        for found in [never, none] {
            assert!(found.contains("expected a number of at least 1, found 0"), "{found}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[ -~\n]{0,200}") {
            let _ = parse(Path::new("x.yaml"), &text, &BuiltIn::default());
            let _ = parse(Path::new("x.yaml"), &format!("{HEAD}{text}"), &BuiltIn::default());
        }
    }
}
