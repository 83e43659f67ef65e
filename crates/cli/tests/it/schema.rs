//! `coracle schema`: the schemas permit the files of the repository, and refuse only what the parsers refuse, too.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use coracle_check::{PlanFile, plan_schema};
use coracle_lesson::{exercise_schema, lesson_schema, parse_exercise, read};
use coracle_scenario::parse::{DocumentKind, parse_all, yaml};
use coracle_scenario::{BuiltIn, scenario_schema};
use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::program::{Folder, coracle, repository, succeed, text};

const HEAD: &str = "apiVersion: coracle.dev/v1alpha1\nmetadata: {name: a}\n";

/// Files that an editor has to refuse as `coracle validate` does.
const MISTAKES: &[&str] = &[
    "kind: Scenario\nspec: {stepps: []}",
    "kind: Scenario\nspec: {}",
    "kind: Scenario\nspec: {steps: {}}",
    "kind: Scenario\nspec: {cluster: {noodes: 1}, steps: []}",
    "kind: Scenario\nspec: {cluster: {nodes: many}, steps: []}",
    "kind: Scenario\nspec: {cluster: {mode: virtuel}, steps: []}",
    "kind: Scenario\nspec: {timeout: 5, steps: []}",
    "kind: Scenario\nspec: {timeout: 5 parsecs, steps: []}",
    "kind: Scenario\nspec: {steps: [{name: 5, try: []}]}",
    "kind: Scenario\nspec: {steps: [{name: a, try: [{creat: {}}]}]}",
    "kind: Scenario\nspec: {steps: [{name: a, try: [{create: {}}]}]}",
    "kind: Scenario\nspec: {steps: [{name: a, try: [{sleep: {duration: 1s}, assert: {cel: 'true'}}]}]}",
    "kind: Scenario\nspec: {steps: [{name: a, try: [{create: {resource: {kind: Pod}}}]}]}",
    "kind: Scenario\nspec: {steps: [{name: a, try: [{create: {resource: {kind: List, items: []}}}]}]}",
    "kind: Scenario\nspec: {steps: [{name: a, try: [{assert: {cel: 'true', still: 'yes'}}]}]}",
    "kind: Scenario\nspec: {steps: [{name: a, try: [{stop: {component: schedular}}]}]}",
    "kind: Scenario\nspec: {steps: [{name: a, try: [{start: {toy: edge-trigered}}]}]}",
    "kind: Scenario\nspec: {steps: [{name: a, times: 0, try: []}]}",
    "kind: Scenario\nspec: {steps: [{name: a, user: , try: []}]}",
    "kind: Scenario\nspec: {steps: [{name: a, try: [{delete: {ref: {apiVersion: v1, kind: Pod}}}]}]}",
    "kind: Scenario\nspec: {steps: [{name: a, try: [{delete: {ref: {apiVersion: v1, kind: Pod, name: a}, pick: '1'}}]}]}",
    "kind: Scenario\nspec: {steps: [], requests: [{name: a, verb: creat, resource: pods, by: scheduler}]}",
    "kind: Scenario\nspec: {steps: [], faults: [{do: {loose: answer}}]}",
    "kind: Scenario\nspec: {steps: [], faults: [{do: {kill: schedular}}]}",
    "kind: Scenario\nspec: {steps: [], faults: [{do: {lag: 1s, cut: scheduler}}]}",
    "kind: Scenario\nspec: {steps: [], faults: [{do: {cut: scheduler, kind: Pod}}]}",
    "kind: Scenario\nspec: {steps: [], faults: [{when: {verb: creat}, do: {refuse: 503}}]}",
    "kind: Scenario\nspec: {steps: [], faults: [{when: {verb: create}, do: {refuse: 404}}]}",
    "kind: Scenario\nspec: {steps: [], faults: [{do: {cut: scheduler}, for: {untill: a}}]}",
    "kind: Lesson\nspec: {numbr: 1}",
    "kind: Lesson\nspec: {number: '1'}",
    "kind: Exercise\nspec: {titel: a}",
    "kind: Plan\nspec: {of: {component: a}, faults: []}",
    "kind: Plan\nspec: {of: {seed: 1}, faults: [{do: {kill: a}}]}",
    "kind: Plan\nspec: {of: {component: a}, finds: {check: hot-lop}, faults: [{do: {kill: a}}]}",
    "kind: Plan\nspec: {of: {component: a}, faults: [{do: {kil: a}}]}",
];

const KINDS: [DocumentKind; 4] =
    [DocumentKind::Scenario, DocumentKind::Lesson, DocumentKind::Plan, DocumentKind::Exercise];

fn schema_of(kind: DocumentKind) -> Value {
    match kind {
        DocumentKind::Scenario => scenario_schema(),
        DocumentKind::Lesson => lesson_schema(),
        DocumentKind::Plan => plan_schema(),
        DocumentKind::Exercise => exercise_schema(),
    }
}

fn validator(kind: DocumentKind) -> Validator {
    jsonschema::draft202012::new(&schema_of(kind)).unwrap()
}

fn kind_of(path: &Path, text: &str) -> DocumentKind {
    DocumentKind::of(path, text).unwrap().unwrap()
}

/// What the parser says about a file.
fn problems(path: &Path, text: &str, kind: DocumentKind) -> Vec<String> {
    let from_disk = |path: &Path| std::fs::read_to_string(path).map_err(|why| why.to_string());
    let problems = match kind {
        DocumentKind::Scenario => parse_all(path, text, &BuiltIn::default()).err().unwrap_or_default(),
        DocumentKind::Lesson => read::parse(path, text, &from_disk).err().into_iter().collect(),
        DocumentKind::Plan => PlanFile::read(path, text).err().unwrap_or_default(),
        DocumentKind::Exercise => parse_exercise(path, text).err().into_iter().collect(),
    };
    problems.into_iter().map(|problem| problem.message).collect()
}

/// The files of the repository, of all kinds.
fn files() -> Vec<(PathBuf, String)> {
    let found = std::fs::read_dir(repository().join("examples/bugs/found")).unwrap();
    let plans = found.map(|folder| folder.unwrap().path());
    let folders = ["scenarios", "lessons", "exercises"].map(|name| repository().join(name)).into_iter().chain(plans);
    let files = folders.flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()));
    let mut paths: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "yaml")).collect();
    paths.push(repository().join("crates/cli/src/commands/new_scenario.yaml"));
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn each_schema_is_printed_and_is_one_of_draft_2020_12() {
    for kind in KINDS {
        let word = kind.name().to_lowercase();
        let printed: Value = serde_json::from_str(&succeed(coracle().args(["schema", &word]))).unwrap();
        assert_eq!(printed, schema_of(kind));
        assert_eq!(printed["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(printed["$id"], format!("https://coracle.dev/v1alpha1/{word}.schema.json"));
        assert!(jsonschema::meta::is_valid(&printed), "{word}");
    }
    let refused = coracle().args(["schema", "lessons"]).output().unwrap();
    assert!(refused.status.code() == Some(2) && text(&refused).contains("'lesson'"), "{}", text(&refused));
}

#[test]
fn each_file_of_the_repository_is_valid_by_its_schema() {
    let (mut wrong, mut count) = (Vec::new(), [0; 4]);
    for (at, kind) in KINDS.into_iter().enumerate() {
        let validator = validator(kind);
        for (path, text) in files().iter().filter(|(path, text)| kind_of(path, text) == kind) {
            count[at] += 1;
            let value: Value = yaml(path, text).unwrap();
            wrong.extend(
                validator
                    .iter_errors(&value)
                    .map(|error| format!("{}: {}: {error}", path.display(), error.instance_path())),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count.iter().all(|count| *count >= 8), "{count:?}");
}

#[test]
fn each_mistake_is_refused_by_the_schema_and_by_the_parser() {
    let folder = Folder::new("schema-mistakes");
    let mut accepted = Vec::new();
    for (number, mistake) in MISTAKES.iter().enumerate() {
        let (path, text) = (folder.join(&format!("{number}.yaml")), format!("{HEAD}{mistake}\n"));
        let value: Value = yaml(&path, &text).unwrap();
        if validator(kind_of(&path, &text)).is_valid(&value) {
            accepted.push(format!("the schema accepts {mistake}"));
        }
        std::fs::write(&path, &text).unwrap();
        if coracle().arg("validate").arg(&path).output().unwrap().status.code() != Some(2) {
            accepted.push(format!("the parser accepts {mistake}"));
        }
    }
    assert!(accepted.is_empty(), "{}", accepted.join("\n"));
}

/// The paths of all values below one.
fn paths_in(value: &Value, at: &str, paths: &mut Vec<String>) {
    paths.push(at.to_owned());
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            paths_in(value, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), paths);
        }),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(number, item)| paths_in(item, &format!("{at}/{number}"), paths));
        }
        _ => {}
    }
}

/// Files with their texts, and the validators of the four kinds of files.
type FilesAndValidators = (Vec<(PathBuf, String)>, [Validator; 4]);

/// Changes a value: another type, another key, a key less or more.
fn bent(value: &mut Value, way: usize, which: usize) {
    let other =
        || [json!(5), json!("5"), json!("a"), json!(true), json!(null), json!([]), json!({})][which % 7].clone();
    match (value, way) {
        (Value::Object(fields), 0) if !fields.is_empty() => {
            let key = fields.keys().nth(which % fields.len()).cloned().unwrap();
            fields.remove(&key);
        }
        (Value::Object(fields), 1) if !fields.is_empty() => {
            let key = fields.keys().nth(which % fields.len()).cloned().unwrap();
            let value = fields.remove(&key).unwrap();
            fields.insert(format!("{key}e"), value);
        }
        (Value::Object(fields), 2) => drop(fields.insert("zzz".to_owned(), other())),
        (Value::String(text), 0..=2) => text.push_str(["e", " ", "5"][which % 3]),
        (Value::Number(number), 0..=1) => *number = [0, 7][which % 2].into(),
        (value, _) => *value = other(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// JSON is YAML, so a changed value can be read as a file.
    #[test]
    fn what_a_schema_refuses_of_a_changed_file_the_parser_refuses_too(
        file in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), way in 0usize..4, which in 0usize..21,
    ) {
        static ALL: std::sync::LazyLock<FilesAndValidators> =
            std::sync::LazyLock::new(|| (files(), KINDS.map(validator)));
        let (files, validators) = &*ALL;
        let (path, text) = &files[file.index(files.len())];
        let kind = kind_of(path, text);
        let mut value: Value = yaml(path, text).unwrap();
        let mut paths = Vec::new();
        paths_in(&value, "", &mut paths);
        bent(value.pointer_mut(&paths[at.index(paths.len())]).unwrap(), way, which);
        let number = KINDS.iter().position(|other| *other == kind).unwrap();
        let refusals: Vec<String> = validators[number].iter_errors(&value).map(|error| error.to_string()).collect();
        if !refusals.is_empty() {
            let found = problems(path, &value.to_string(), kind);
            prop_assert!(!found.is_empty(), "{}: only the schema refuses {value}: {refusals:?}", path.display());
        }
    }
}

/// The schema that a reference leads to.
fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    match schema["$ref"].as_str() {
        Some(reference) => root.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    }
}

/// The schemas of the value at a path.
fn schemas_at<'s>(root: &'s Value, path: &str) -> Vec<&'s Value> {
    let mut at = vec![root];
    for step in path.split('/').skip(1) {
        let below = |schema: &'s Value| {
            let inner = [schema].into_iter().chain(schema["anyOf"].as_array().into_iter().flatten());
            let inner = inner.map(|schema| resolved(root, schema));
            inner.flat_map(|schema| [&schema["properties"][step], &schema["items"], &schema["additionalProperties"]])
        };
        at =
            at.into_iter().flat_map(below).filter(|schema| schema.is_object()).map(|one| resolved(root, one)).collect();
    }
    at
}

/// The keys that the parser expects where it finds the key `zzz`.
fn expected_keys(message: &str) -> Option<BTreeSet<String>> {
    let rest = message
        .strip_prefix("unknown field `zzz`, expected ")
        .or_else(|| message.strip_prefix("unknown variant `zzz`, expected "))?;
    let rest = rest.strip_prefix("one of ").unwrap_or(rest);
    let rest = rest.split("; did you mean").next().unwrap();
    let words = rest.split(", ").flat_map(|words| words.split(" or "));
    Some(words.map(|word| word.trim_matches('`').to_owned()).filter(|word| !word.is_empty()).collect())
}

/// A scenario with each operation and each object that a file may have. It has the format, and need not pass the checks.
const RARE: &str = "\
kind: Scenario
spec:
  cluster:
    nodes: [{name: a}]
    latency: {watch: 1s}
    images: {web: {exists: false}}
  requests: [{name: a, verb: create, resource: pods, by: scheduler}]
  always: [{name: a, cel: 'true'}]
  faults:
  - {when: {event: {kind: Pod}}, do: {cut: scheduler}}
  steps:
  - name: a
    try:
    - create: {file: a}
    - apply: {file: a}
    - get: {ref: &pod {apiVersion: v1, kind: Pod, name: a}, as: a}
    - update: {from: a}
    - patch: {resource: {}}
    - scale: {ref: *pod, replicas: 1}
    - delete: {ref: *pod}
    - wait: &wait {apiVersion: v1, kind: Pod, name: a, for: {creation: {}}}
    - wait: {<<: *wait, for: {condition: {name: Ready}}}
    - wait: {<<: *wait, for: {jsonPath: {path: '{.a}', value: a}}}
    - assert: {cel: 'true'}
    - cordon: {node: a}
    - taint: {node: a, taint: 'a:NoExecute'}
    - evict: {ref: *pod}
    - drain: {node: a}
    - rollout: {ref: *pod, action: undo}
    - sleep: {duration: 1s}
    - stop: {node: a}
    - heal: {node: a}
";

#[test]
fn each_key_that_a_parser_knows_is_in_its_schema_and_no_other_one() {
    let mut seen: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    let rare = [(PathBuf::from("rare.yaml"), format!("{HEAD}{RARE}"))];
    let mut wrong = Vec::new();
    for (path, text) in files().iter().chain(&rare) {
        let kind = kind_of(path, text);
        let (schema, whole): (Value, Value) = (schema_of(kind), yaml(path, text).unwrap());
        let mut paths = Vec::new();
        paths_in(&whole, "", &mut paths);
        for at in paths {
            let mut changed = whole.clone();
            let Some(Value::Object(fields)) = changed.pointer_mut(&at) else { continue };
            // The head of a file decides which parser reads it.
            fields.retain(|_, _| at.is_empty());
            fields.insert("zzz".to_owned(), json!({}));
            let found = problems(path, &changed.to_string(), kind);
            let Some(expected) = found.first().and_then(|message| expected_keys(message)) else { continue };
            let known = schemas_at(&schema, &at).into_iter().filter_map(|schema| schema["properties"].as_object());
            let known: BTreeSet<String> = known.flat_map(Map::keys).cloned().collect();
            seen.insert(expected.clone());
            if known != expected {
                wrong.push(format!("{}: {at}: the parser expects {expected:?}, the schema {known:?}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for kind in KINDS {
        let schema = schema_of(kind);
        for (name, object) in schema["$defs"].as_object().unwrap() {
            let Some(keys) = object["properties"].as_object().filter(|_| object["additionalProperties"] == false)
            else {
                continue;
            };
            let is_seen = seen.contains(&keys.keys().cloned().collect());
            assert!(is_seen || name == "FaultAction", "no file of this test has the keys of {name}");
        }
    }
}
