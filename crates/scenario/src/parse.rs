use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_saphyr::{Location, Spanned};
use sha2::{Digest, Sha256};

use crate::file::{Assert, Invariant, Nodes, Operation, Part, Reference, Rollout, RolloutAction, Scenario, Step};
use crate::manifests::manifests_of;
use crate::mode::Mode;
use crate::taint::TaintChange;
use crate::toy::TOYS;

/// Something in a scenario file that cannot be run, and where it stands. Exit code 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1; 0 if the problem has no place.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// What is wrong, and the nearest valid word if there is one.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match self.line {
            0 => write!(f, "{file}: {}", self.message),
            line => write!(f, "{file}:{line}:{}: {}", self.column, self.message),
        }
    }
}

impl std::error::Error for Problem {}

/// What the reader of a scenario has to know of the cluster: which kinds there are, and which expressions are good.
pub trait Vocabulary {
    /// The plural of a kind that the cluster serves; `None` if it serves no such kind.
    fn plural(&self, api_version: &str, kind: &str) -> Option<String>;
    /// All kinds, for a suggestion.
    fn kinds(&self) -> Vec<String>;
    /// Why an expression is not good, given the names bound by the steps.
    fn expression_problem(&self, text: &str, bindings: &[String]) -> Option<String>;
}

/// Reads and checks a scenario file; nothing runs before this succeeds.
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

/// As [`read`], for a text that was read already; `path` is for messages and for files named in the scenario.
///
/// ```
/// use coracle_scenario::{BuiltIn, parse};
///
/// let text = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: a}\nspec: {stepps: []}\n";
/// let problem = parse::parse("a.yaml".as_ref(), text, &BuiltIn::default()).unwrap_err();
/// assert_eq!((problem.line, problem.column), (4, 8));
/// ```
pub fn parse(path: &Path, text: &str, vocabulary: &dyn Vocabulary) -> Result<Scenario, Problem> {
    let mut scenario: Scenario = yaml(path, text)?;
    check(path, &scenario, vocabulary)?;
    scenario.hash = hash(text);
    Ok(scenario)
}

/// Reads a YAML file of any form, and says what is wrong with it as [`parse`] does.
///
/// # Errors
/// Where the text is no YAML, or not of this form.
pub fn yaml<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, Problem> {
    serde_saphyr::from_str(text).map_err(|error| {
        let (line, column) = error.location().map_or((0, 0), |place| (place.line(), place.column()));
        let message = error.without_snippet().to_string();
        let message = message.split(" at line ").next().unwrap_or(&message);
        Problem { file: path.to_owned(), line, column, message: with_suggestion(message) }
    })
}

/// Checks a scenario that stands in another file, which is at `path`.
///
/// # Errors
/// What [`parse`] would not take.
pub fn check(path: &Path, scenario: &Scenario, vocabulary: &dyn Vocabulary) -> Result<(), Problem> {
    Check { path, vocabulary, bindings: scenario.bindings() }.scenario(scenario)
}

/// A text's hash: `sha256:` and 64 hexadecimal digits.
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
        let name = |operation: &Spanned<Operation>| match &operation.value {
            Operation::Patch(patch) => patch.binding.as_ref().map(|name| name.value.clone()),
            Operation::Delete(delete) => delete.binding.as_ref().map(|name| name.value.clone()),
            Operation::Evict(evict) => evict.binding.as_ref().map(|name| name.value.clone()),
            Operation::Get(get) => Some(get.binding.value.clone()),
            _ => None,
        };
        self.operations.iter().filter_map(name).collect()
    }
}

/// What is checked of operations that could be read.
pub(crate) struct Check<'a> {
    pub(crate) path: &'a Path,
    pub(crate) vocabulary: &'a dyn Vocabulary,
    pub(crate) bindings: Vec<String>,
}

impl Check<'_> {
    fn problem(&self, place: Location, message: impl Into<String>) -> Problem {
        Problem { file: self.path.to_owned(), line: place.line(), column: place.column(), message: message.into() }
    }

    fn scenario(&self, scenario: &Scenario) -> Result<(), Problem> {
        self.word(&scenario.api_version, &["coracle.dev/v1alpha1"], "apiVersion")?;
        self.word(&scenario.kind, &["Scenario"], "kind")?;
        let spec = &scenario.spec;
        if let Some(mode) = &spec.cluster.mode {
            mode.value.parse::<Mode>().map_err(|why| self.problem(mode.referenced, why.to_string()))?;
        }
        self.nodes(spec.cluster.nodes.referenced, &spec.cluster.nodes.value)?;
        for invariant in spec.always.iter().chain(&spec.never) {
            self.invariant(invariant)?;
        }
        let steps: Vec<&str> = spec.steps.iter().map(|step| step.name.as_str()).collect();
        for requests in &spec.requests {
            self.word(&requests.verb, &["create", "update", "patch", "delete"], "verb")?;
            if requests.count.is_some() && requests.at_most.is_some() {
                return Err(self.problem(requests.verb.referenced, "`count` and `atMost` exclude each other"));
            }
            if let Some(since) = &requests.since {
                self.word(since, &steps, "step")?;
            }
        }
        for operation in spec.steps.iter().flat_map(|step| &step.operations) {
            self.operation(operation)?;
        }
        Ok(())
    }

    pub(crate) fn operation(&self, operation: &Spanned<Operation>) -> Result<(), Problem> {
        let place = operation.referenced;
        match &operation.value {
            Operation::Create(create) => {
                create.owned_by.iter().try_for_each(|owner| self.known_name(owner))?;
                self.resource(place, create.resource.as_ref(), create.file.as_ref())
            }
            Operation::Apply(apply) if apply.refused && apply.force => {
                Err(self.problem(place, "what is forced is not refused: `refused` needs `force: false`"))
            }
            Operation::Apply(apply) => self.resource(place, apply.resource.as_ref(), apply.file.as_ref()),
            Operation::Get(get) => self.reference(place, &get.reference, NeedsName::Yes),
            Operation::Update(update) => self.known_name(&update.from),
            Operation::Patch(patch) => {
                if patch.selector.is_none() && patch.resource.value.pointer("/metadata/name").is_none() {
                    return Err(self.problem(place, "`patch` needs `metadata.name` in its resource, or a `selector`"));
                }
                if let Some(selector) = &patch.selector {
                    self.selector(selector)?;
                }
                self.object(&patch.resource)
            }
            Operation::Scale(scale) => self.reference(place, &scale.reference, NeedsName::Yes),
            Operation::Delete(delete) => {
                if let Some(policy) = &delete.deletion_propagation_policy {
                    self.word(policy, &["Background", "Foreground", "Orphan"], "deletionPropagationPolicy")?;
                }
                self.reference(place, &delete.reference, NeedsName::NameOrLabels)
            }
            Operation::Wait(wait) => {
                if let Some(selector) = &wait.selector {
                    self.selector(selector)?;
                }
                if wait.name.is_none() && wait.selector.is_none() {
                    return Err(self.problem(place, "`wait` needs a `name` or a `selector`"));
                }
                self.kind(&wait.api_version, &wait.kind)
            }
            Operation::Assert(assert) | Operation::Error(assert) => self.assert(place, assert),
            Operation::Taint(taint) => self.taint(&taint.taint),
            Operation::Evict(evict) => self.reference(place, &evict.reference, NeedsName::NameOrLabels),
            Operation::Rollout(rollout) => self.rollout(place, rollout),
            Operation::Cordon(_) | Operation::Uncordon(_) | Operation::Drain(_) | Operation::Sleep(_) => Ok(()),
            Operation::Kill(_) | Operation::Partition(_) | Operation::Heal(_) => Ok(()),
            Operation::Stop(part) | Operation::Start(part) => self.part(place, part),
        }
    }

    fn taint(&self, taint: &Spanned<String>) -> Result<(), Problem> {
        taint.value.parse::<TaintChange>().map(drop).map_err(|why| self.problem(taint.referenced, why))
    }

    fn rollout(&self, place: Location, rollout: &Rollout) -> Result<(), Problem> {
        let kinds: &[&str] = match rollout.action {
            RolloutAction::Pause | RolloutAction::Resume => &["Deployment"],
            RolloutAction::Undo | RolloutAction::Restart => &["Deployment", "StatefulSet", "DaemonSet"],
        };
        self.word(&rollout.reference.kind, kinds, "kind of a rollout")?;
        self.reference(place, &rollout.reference, NeedsName::Yes)
    }

    /// Nodes have names of their own, and taints and capacities that can be read.
    fn nodes(&self, place: Location, nodes: &Nodes) -> Result<(), Problem> {
        let shapes = nodes.shapes();
        let names: BTreeSet<_> = shapes.iter().map(|shape| &shape.name).collect();
        if names.len() < shapes.len() {
            return Err(self.problem(place, "two nodes have one name"));
        }
        for shape in &shapes {
            for taint in &shape.taints {
                match taint.parse::<TaintChange>() {
                    Ok(change) if !change.removes => {}
                    Ok(_) => return Err(self.problem(place, format!("`{taint}` takes a taint off"))),
                    Err(why) => return Err(self.problem(place, why)),
                }
            }
            for (name, amount) in &shape.capacity {
                if amount.parse::<coracle_meta::Quantity>().is_err() {
                    return Err(
                        self.problem(place, format!("`{amount}` of {name} is not a quantity such as `2` or `4Gi`"))
                    );
                }
            }
            for manifest in manifests_of(shape) {
                let wrong = |why| self.problem(place, format!("{}: {why}", manifest.path));
                manifest.check(&shape.name).map_err(wrong)?;
            }
        }
        Ok(())
    }

    /// A name that a step gives to an object.
    fn known_name(&self, name: &Spanned<String>) -> Result<(), Problem> {
        if self.bindings.contains(&name.value) {
            return Ok(());
        }
        let hint = did_you_mean(&name.value, self.bindings.iter().map(String::as_str));
        Err(self.problem(name.referenced, format!("no step gives an object the name `{}`{hint}", name.value)))
    }

    fn resource(
        &self,
        place: Location,
        resource: Option<&Spanned<Value>>,
        file: Option<&Spanned<String>>,
    ) -> Result<(), Problem> {
        match (resource, file) {
            (Some(object), None) => self.object(object),
            (None, Some(file)) => {
                let path = self.path.parent().unwrap_or(Path::new(".")).join(&file.value);
                let objects = read_objects(&path).map_err(|why| self.problem(file.referenced, why))?;
                for object in objects {
                    let word = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
                    self.known_kind(file.referenced, &word("apiVersion"), &word("kind"))?;
                }
                Ok(())
            }
            _ => Err(self.problem(place, "needs either `resource` or `file`")),
        }
    }

    fn object(&self, object: &Spanned<Value>) -> Result<(), Problem> {
        let word = |name: &str| object.value.get(name).and_then(Value::as_str);
        match (word("apiVersion"), word("kind")) {
            (Some(api_version), Some(kind)) => self.known_kind(object.referenced, api_version, kind),
            (None, _) => Err(self.problem(object.referenced, "the object has no `apiVersion`")),
            (_, None) => Err(self.problem(object.referenced, "the object has no `kind`")),
        }
    }

    fn kind(&self, api_version: &Spanned<String>, kind: &Spanned<String>) -> Result<(), Problem> {
        self.known_kind(kind.referenced, &api_version.value, &kind.value)
    }

    fn known_kind(&self, place: Location, api_version: &str, kind: &str) -> Result<(), Problem> {
        if self.vocabulary.plural(api_version, kind).is_some() {
            return Ok(());
        }
        let kinds = self.vocabulary.kinds();
        let hint = nearest(kind, kinds.iter().map(String::as_str)).map_or(String::new(), |near| match near == kind {
            true => format!("; `{kind}` exists in another apiVersion"),
            false => format!("; did you mean `{near}`?"),
        });
        Err(self.problem(place, format!("no kind `{kind}` in `{api_version}`{hint}")))
    }

    fn reference(&self, place: Location, reference: &Reference, needs: NeedsName) -> Result<(), Problem> {
        let missing = match needs {
            NeedsName::Yes => reference.name.is_none().then_some("`ref` needs a `name`"),
            NeedsName::NameOrLabels => {
                (reference.name.is_none() && reference.labels.is_empty()).then_some("`ref` needs a `name` or `labels`")
            }
        };
        match missing {
            Some(message) => Err(self.problem(place, message)),
            None => self.kind(&reference.api_version, &reference.kind),
        }
    }

    fn selector(&self, selector: &Spanned<String>) -> Result<(), Problem> {
        let parsed = coracle_meta::LabelSelector::parse(&selector.value);
        parsed.map(|_| ()).map_err(|why| self.problem(selector.referenced, format!("bad selector: {why}")))
    }

    fn assert(&self, place: Location, assert: &Assert) -> Result<(), Problem> {
        match (&assert.resource, &assert.cel) {
            (Some(object), None) => self.object(object),
            (None, Some(cel)) => self.expression(cel),
            _ => Err(self.problem(place, "needs either `resource` or `cel`")),
        }
    }

    fn invariant(&self, invariant: &Spanned<Invariant>) -> Result<(), Problem> {
        match (&invariant.value.resource, &invariant.value.cel) {
            (Some(object), None) => self.object(object),
            (None, Some(cel)) => self.expression(cel),
            _ => Err(self.problem(invariant.referenced, "needs either `resource` or `cel`")),
        }
    }

    fn expression(&self, cel: &Spanned<String>) -> Result<(), Problem> {
        match self.vocabulary.expression_problem(&cel.value, &self.bindings) {
            Some(why) => Err(self.problem(cel.referenced, format!("bad expression: {why}"))),
            None => Ok(()),
        }
    }

    fn part(&self, place: Location, part: &Part) -> Result<(), Problem> {
        match (&part.component, &part.node, &part.toy) {
            (Some(component), None, None) => {
                self.word(component, &["controller-manager", "scheduler", "csi-driver", "store"], "component")
            }
            (None, Some(_), None) => Ok(()),
            (None, None, Some(toy)) => self.word(toy, TOYS, "toy"),
            _ => Err(self.problem(place, "needs one of `component`, `node` and `toy`")),
        }
    }

    fn word(&self, found: &Spanned<String>, valid: &[&str], what: &str) -> Result<(), Problem> {
        unknown_word(&found.value, valid, what).map_or(Ok(()), |why| Err(self.problem(found.referenced, why)))
    }
}

#[derive(Clone, Copy)]
enum NeedsName {
    Yes,
    NameOrLabels,
}

/// Reads the objects of a YAML file with one or more documents; `List` objects are taken apart.
pub(crate) fn read_objects(path: &Path) -> Result<Vec<Value>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text)
        .map_err(|error| format!("{}: {}", path.display(), error.without_snippet()))?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).flat_map(take_apart).collect())
}

/// The items of a list object; anything else as it is.
pub(crate) fn take_apart(object: Value) -> Vec<Value> {
    match (object.get("kind").and_then(Value::as_str), object.get("items").and_then(Value::as_array)) {
        (Some("List"), Some(items)) => items.clone(),
        _ => vec![object],
    }
}

/// Adds the nearest of the words that serde says it expected.
fn with_suggestion(message: &str) -> String {
    let suggestion = || {
        let (found, expected) = message.split_once("`, expected ")?;
        let found = found.rsplit('`').next()?;
        let words = expected.trim_start_matches("one of ").split(", ").map(|word| word.trim_matches('`'));
        Some(did_you_mean(found, words))
    };
    format!("{message}{}", suggestion().unwrap_or_default())
}

/// What is wrong with a word that is not among those expected of a `what`; `None` if it is.
pub fn unknown_word(found: &str, valid: &[&str], what: &str) -> Option<String> {
    if valid.contains(&found) {
        return None;
    }
    let expected =
        if valid.is_empty() { "there is none".to_owned() } else { format!("expected one of {}", valid.join(", ")) };
    Some(format!("unknown {what} `{found}`, {expected}{}", did_you_mean(found, valid.iter().copied())))
}

/// The end of a refusal: the candidate that was meant, if one is near enough.
pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    nearest(word, candidates).map_or(String::new(), |near| format!("; did you mean `{near}`?"))
}

/// The candidate with the smallest edit distance, if it is near enough to be meant.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    candidates
        .map(|candidate| (strsim::osa_distance(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().max(3) / 3)
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Pods;

    impl Vocabulary for Pods {
        fn plural(&self, api_version: &str, kind: &str) -> Option<String> {
            (api_version == "v1" && kind == "Pod").then(|| "pods".to_owned())
        }

        fn kinds(&self) -> Vec<String> {
            vec!["Pod".to_owned()]
        }

        fn expression_problem(&self, text: &str, _: &[String]) -> Option<String> {
            text.contains('#').then(|| "no such sign".to_owned())
        }
    }

    const HEAD: &str = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x}\nspec:\n";

    fn problem(rest: &str) -> String {
        parse(Path::new("x.yaml"), &format!("{HEAD}{rest}"), &Pods).unwrap_err().to_string()
    }

    #[test]
    fn a_misspelt_key_is_refused_with_its_place_and_the_nearest_one() {
        assert_eq!(
            problem("  steps:\n  - name: a\n    try:\n    - slep: {duration: 1s}\n"),
            "x.yaml:8:7: unknown variant `slep`, expected one of create, apply, get, update, patch, scale, delete, wait, assert, \
             error, cordon, uncordon, taint, evict, drain, rollout, sleep, stop, start, kill, partition, heal; did you mean `sleep`?"
        );
        assert_eq!(
            problem("  cluster: {noodes: 2}\n  steps: []\n"),
            "x.yaml:5:13: unknown field `noodes`, expected one of nodes, mode, seed, latency, metricsServer; did you mean `nodes`?"
        );
    }

    #[test]
    fn a_static_pod_of_a_node_that_would_be_none_is_refused() {
        let node = |pod: &str| {
            let text = format!("{HEAD}  cluster: {{nodes: [{{name: a, staticPods: [{pod}]}}]}}\n  steps: []\n");
            parse(Path::new("x.yaml"), &text, &Pods).map(drop).map_err(|problem| problem.to_string())
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
            ("assert: {cel: '#'}", "x.yaml:8:21: bad expression: no such sign"),
            ("assert: {}", "x.yaml:8:7: needs either `resource` or `cel`"),
            ("delete: {ref: {apiVersion: v1, kind: Pod}}", "x.yaml:8:7: `ref` needs a `name` or `labels`"),
            ("stop: {component: scheduller}", "x.yaml:8:25: unknown component `scheduller`"),
            (
                "start: {toy: edge-trigered}",
                "x.yaml:8:20: unknown toy `edge-trigered`, expected one of edge-triggered; did you",
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
            let _ = parse(Path::new("x.yaml"), &text, &Pods);
            let _ = parse(Path::new("x.yaml"), &format!("{HEAD}{text}"), &Pods);
        }
    }
}
