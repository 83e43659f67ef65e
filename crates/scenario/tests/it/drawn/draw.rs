use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use coracle_ambient::Random;
use coracle_scenario::{BuiltIn, Disturbance, Scenario, parse};

use super::fault::draw_fault;

/// A scenario that was drawn from a seed.
pub(super) struct Drawn {
    pub(super) text: String,
    pub(super) scenario: Scenario,
    pub(super) steps: Vec<Step>,
    /// What must not hold at any revision: the name of the check, and whether it is an `always` of the contrary or a `never`.
    pub(super) throughout: Vec<(bool, String, Claim)>,
    /// How many ConfigMaps the steps are to have deleted, by their requests.
    pub(super) deletions: Option<usize>,
    pub(super) disturbance: Option<Disturbance>,
}

/// One operation.
pub(super) struct Step {
    pub(super) name: String,
    pub(super) operation: Operation,
}

/// What a step does.
pub(super) enum Operation {
    /// Creates a ConfigMap.
    Create(String),
    /// Deletes a ConfigMap.
    Delete(String),
    /// Something that no check is about, or that always succeeds.
    Other(String),
    /// `assert`, or `error` if it is not wanted, or a `wait` for either, with a timeout in milliseconds.
    Check { claim: Claim, wanted: bool, timeout: u64, is_wait: bool },
    /// The same with `still`, so many milliseconds after the step began.
    Still { claim: Claim, wanted: bool, after: u64 },
}

/// Something that is so or not at a revision.
#[derive(Clone)]
pub(super) enum Claim {
    /// A ConfigMap is there, said by an expression or by a partial object.
    Exists { name: String, partial: bool },
    /// At least so many objects: of ConfigMaps, those with one of the drawn names.
    AtLeast { plural: &'static str, count: usize },
}

/// What the count of requests is called.
pub(super) const DELETIONS: &str = "deletions";
/// Moments at which few events come.
const ODD: [u64; 3] = [3, 137, 1733];
/// The ConfigMaps.
pub(super) const NAMES: [&str; 3] = ["drawn-a", "drawn-b", "drawn-c"];
/// No other ConfigMap has it.
const PREFIX: &str = "drawn-";

impl Claim {
    fn draw(random: &Random) -> Self {
        match random.below(4) {
            0 => Self::AtLeast { plural: "pods", count: at(random, 4) + 1 },
            1 => Self::AtLeast { plural: "configmaps", count: at(random, 3) + 1 },
            which => Self::Exists { name: NAMES[at(random, 3)].to_owned(), partial: which == 2 },
        }
    }

    /// Whether it is about one object.
    fn is_of_one(&self) -> bool {
        matches!(self, Self::Exists { .. })
    }

    fn yaml(&self) -> String {
        match self {
            Self::Exists { name, partial: true } => {
                format!("resource: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}")
            }
            Self::Exists { name, partial: false } => {
                format!("cel: \"configmaps.exists(c, c.metadata.name == '{name}')\"")
            }
            Self::AtLeast { plural: "configmaps", count } => {
                format!("cel: \"(configmaps.filter(c, c.metadata.name.startsWith('{PREFIX}')).size() >= {count})\"")
            }
            Self::AtLeast { plural, count } => format!("cel: \"({plural}.size() >= {count})\""),
        }
    }

    /// Whether it is so where these objects are there, by `plural/namespace/name`.
    pub(super) fn holds(&self, objects: &BTreeSet<String>) -> bool {
        match self {
            Self::Exists { name, .. } => objects.contains(&format!("configmaps/default/{name}")),
            Self::AtLeast { plural, count } => {
                let drawn = if *plural == "configmaps" { PREFIX } else { "" };
                let begin = format!("{plural}/default/{drawn}");
                objects.iter().filter(|object| object.starts_with(&begin)).count() >= *count
            }
        }
    }
}

fn at(random: &Random, bound: usize) -> usize {
    usize::try_from(random.below(u64::try_from(bound).unwrap())).unwrap()
}

impl Operation {
    /// Most operations fit what is there after the ones before: if they did not, few scenarios would pass.
    fn draw(random: &Random, present: &mut BTreeSet<&'static str>) -> Self {
        let name = |wanted: bool| {
            let fits: Vec<_> = NAMES.into_iter().filter(|name| present.contains(name) == wanted).collect();
            match random.below(8) > 0 && !fits.is_empty() {
                true => fits[at(random, fits.len())],
                false => NAMES[at(random, 3)],
            }
        };
        match random.below(10) {
            0..=2 => {
                let name = name(false);
                present.insert(name);
                Self::Create(name.to_owned())
            }
            3 | 4 => {
                let name = name(true);
                present.remove(name);
                Self::Delete(name.to_owned())
            }
            5 => Self::Other(format!("sleep: {{duration: {}ms}}", random.below(1500))),
            6 => {
                let replicas = random.below(4);
                Self::Other(format!(
                    "scale: {{ref: {{apiVersion: apps/v1, kind: ReplicaSet, name: web}}, replicas: {replicas}}}"
                ))
            }
            _ => Self::draw_check(random, present),
        }
    }

    fn draw_check(random: &Random, present: &BTreeSet<&'static str>) -> Self {
        let claim = Claim::draw(random);
        let likely = match &claim {
            Claim::Exists { name, .. } => present.contains(name.as_str()),
            Claim::AtLeast { plural: "configmaps", count } => present.len() >= *count,
            Claim::AtLeast { .. } => random.below(2) == 0,
        };
        let (wanted, odd) = (likely == (random.below(6) > 0), ODD[at(random, 3)]);
        match random.below(4) {
            0 => Self::Still { claim, wanted, after: odd },
            kind => Self::Check { is_wait: kind == 1 && claim.is_of_one(), claim, wanted, timeout: odd },
        }
    }

    /// Operations that take something from the cluster, and give it back in most cases.
    fn draw_outage(random: &Random, nodes: u64, present: &BTreeSet<&'static str>) -> Vec<Self> {
        let node = || format!("{{node: node-{}}}", 1 + random.below(nodes.max(1)));
        let (begin, what, end) = match random.below(if nodes == 0 { 3 } else { 6 }) {
            0 => ("stop", "{component: store}".to_owned(), "start"),
            1 => ("stop", "{component: controller-manager}".to_owned(), "start"),
            2 => ("stop", "{component: scheduler}".to_owned(), "start"),
            3 => ("partition", node(), "heal"),
            4 => ("kill", node(), "start"),
            _ => ("stop", node(), "start"),
        };
        let mut operations = vec![Self::Other(format!("{begin}: {what}"))];
        operations.extend((0..random.below(3)).map(|_| Self::draw_check(random, present)));
        // Nothing can be written without a store.
        if random.below(4) > 0 || what.contains("store") {
            operations.push(Self::Other(format!("{end}: {what}")));
        }
        operations
    }

    fn yaml(&self) -> String {
        let map = "apiVersion: v1, kind: ConfigMap";
        match self {
            Self::Create(name) => format!("create: {{resource: {{{map}, metadata: {{name: {name}}}}}}}"),
            Self::Delete(name) => format!("delete: {{ref: {{{map}, name: {name}}}}}"),
            Self::Other(text) => text.clone(),
            Self::Check { claim: Claim::Exists { name, .. }, wanted, timeout, is_wait: true } => {
                let word = if *wanted { "creation" } else { "deletion" };
                format!("wait: {{{map}, name: {name}, for: {{{word}: {{}}}}, timeout: {timeout}ms}}")
            }
            Self::Check { claim, wanted, timeout, .. } => {
                format!("{}: {{{}, timeout: {timeout}ms}}", word(*wanted), claim.yaml())
            }
            Self::Still { claim, wanted, after } => {
                let check = format!("{}: {{{}, still: true}}", word(*wanted), claim.yaml());
                format!("sleep: {{duration: {after}ms}}}}, {{{check}")
            }
        }
    }
}

impl Drawn {
    /// The scenario of a seed, and for two seeds of three a fault.
    pub(super) fn with_fault(seed: u64) -> Self {
        let drawn = Self::of(seed);
        let random = Random::from_seed(seed).split("fault");
        if random.below(3) == 0 {
            return drawn;
        }
        let steps: Vec<String> = drawn.steps.iter().map(|step| step.name.clone()).collect();
        let text = drawn.text.replacen(
            "  steps:\n",
            &format!("  faults:\n  - {}\n  steps:\n", draw_fault(&random, &steps)),
            1,
        );
        Self { scenario: parsed(&text), text, ..drawn }
    }

    pub(super) fn of(seed: u64) -> Self {
        let random = Random::from_seed(seed).split("scenario");
        let nodes = random.below(3);
        let mut operations = vec![set(random.below(4))];
        let mut present = BTreeSet::new();
        operations.extend((0..1 + random.below(4)).map(|_| Operation::draw(&random, &mut present)));
        if random.below(3) == 0 {
            operations.extend(Operation::draw_outage(&random, nodes, &present));
        }
        operations.extend((0..random.below(5)).map(|_| Operation::draw(&random, &mut present)));
        let numbered = operations.into_iter().enumerate();
        let steps: Vec<Step> =
            numbered.map(|(number, operation)| Step { name: format!("step {number}"), operation }).collect();
        let throughout = (0..random.below(5).saturating_sub(2)).map(|number| {
            let claim = Claim::draw(&random);
            let always = random.below(2) == 0 && !matches!(claim, Claim::Exists { partial: true, .. });
            (always, format!("throughout {number}"), claim)
        });
        let throughout: Vec<_> = throughout.collect();
        let latency = match random.below(3) {
            0 => "{}".to_owned(),
            _ => format!("{{request: {}ms, watch: {}ms}}", random.below(20), random.below(50)),
        };
        let planned = operations_that_delete(&steps);
        let deletions = (random.below(4) == 0).then(|| planned.saturating_sub(usize::from(random.below(3) == 0)));
        let mut text = format!(
            "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: drawn-{seed}}}\nspec:\n  \
             cluster: {{nodes: {nodes}, seed: {seed}, latency: {latency}}}\n  steps:\n"
        );
        for step in &steps {
            let _ = writeln!(text, "  - {{name: {}, try: [{{{}}}]}}", step.name, step.operation.yaml());
        }
        for (word, wanted) in [("always", true), ("never", false)] {
            let of_word: Vec<_> = throughout.iter().filter(|(always, ..)| *always == wanted).collect();
            if !of_word.is_empty() {
                let _ = writeln!(text, "  {word}:");
            }
            for (_, name, claim) in of_word {
                let said = claim.yaml();
                let said = if wanted { said.replacen("cel: \"", "cel: \"!", 1) } else { said };
                let _ = writeln!(text, "  - {{name: {name}, {said}}}");
            }
        }
        if let Some(count) = deletions {
            let _ = writeln!(
                text,
                "  requests: [{{name: {DELETIONS}, verb: delete, resource: configmaps, by: scenario, count: {count}}}]"
            );
        }
        let moment = i64::try_from(random.below(60)).unwrap();
        let disturbance = match random.below(8) {
            0 => Some(Disturbance::Kill { at: moment }),
            1 => Some(Disturbance::Pause { at: moment }),
            2 => Some(Disturbance::Double { at: moment }),
            3 => Some(Disturbance::Late),
            _ => None,
        };
        let scenario = parsed(&text);
        Self { text, scenario, steps, throughout, deletions, disturbance }
    }
}

fn parsed(text: &str) -> Scenario {
    let scenario = parse::parse(Path::new("drawn.yaml"), text, &BuiltIn::default());
    scenario.unwrap_or_else(|problem| panic!("{problem}\n{text}"))
}

fn operations_that_delete(steps: &[Step]) -> usize {
    steps.iter().filter(|step| matches!(step.operation, Operation::Delete(_))).count()
}

fn word(wanted: bool) -> &'static str {
    if wanted { "assert" } else { "error" }
}

/// A ReplicaSet with so many pods, which come in a time of their own; some have a claim.
fn set(replicas: u64) -> Operation {
    Operation::Other(format!(
        "create: {{resource: {{apiVersion: apps/v1, kind: ReplicaSet, metadata: {{name: web}}, spec: {{replicas: {replicas}, \
         selector: {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, \
         spec: {{containers: [{{name: c, image: 'web:1'}}], volumes: [{{name: data, ephemeral: {{volumeClaimTemplate: \
         {{spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}}}}}}}]}}}}}}}}}}"
    ))
}
