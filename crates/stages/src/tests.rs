//! KWOK's own tests of the stages that it ships: what a stage does to an object is what `testdata` says.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_template::Host;
use serde_json::{Map, Value as Json, json};

use crate::effect::{Effect, PatchType, StageEvent, StagePatch, effects};
use crate::expressions::functions::pure;
use crate::source::parse;
use crate::stage::Stage;
use crate::yaml::from_yaml;
use crate::{Lifecycle, read_stages};

/// Says what was called, as KWOK's tests do.
struct Placeholders;

impl Host for Placeholders {
    fn call(&self, name: &str, arguments: &[Json]) -> Result<Json, String> {
        let shown: Vec<String> = arguments.iter().map(Json::to_string).collect();
        let called = if shown.is_empty() { name.to_owned() } else { format!("{name}({})", shown.join(", ")) };
        match name {
            "NodeIPsWith" | "PodIPsWith" => Ok(json!([format!("<0 of {called}>"), format!("<1 of {called}>")])),
            "Quote" | "YAML" | "NodeConditions" => pure(name, arguments),
            _ => Ok(format!("<{called}>").into()),
        }
    }
}

/// An effect as KWOK's tests write it down.
fn told(effect: &Effect) -> Json {
    let change = |kind: &str, change: &StagePatch| {
        let mut fields = Map::new();
        fields.insert("kind".to_owned(), kind.into());
        fields.insert("type".to_owned(), change.patch.content_type().into());
        fields.insert("data".to_owned(), change.patch.body().clone());
        if !change.subresource.is_empty() {
            fields.insert("subresource".to_owned(), change.subresource.clone().into());
        }
        if let Some(user) = &change.user {
            fields.insert("impersonation".to_owned(), user.clone().into());
        }
        Json::Object(fields)
    };
    match effect {
        Effect::Event(StageEvent { event_type, reason, message }) => {
            json!({"kind": "event", "type": event_type, "reason": reason, "message": message})
        }
        Effect::Delete => json!({"kind": "delete"}),
        Effect::Patch(patch) => change("patch", patch),
        Effect::Apply(apply) => change("apply", apply),
    }
}

/// In KWOK: `kustomize/stage.Testing`.
fn played(object: &Json, stages: Vec<Stage>) -> Json {
    let now: Timestamp = "2006-01-02T15:04:05Z".parse().unwrap();
    let wanted = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
    let is_meant =
        |stage: &Stage| (stage.kind().group_version().to_string().as_str(), stage.kind().kind.as_str()) == wanted;
    let lifecycle = Lifecycle::new(stages.into_iter().filter(is_meant).map(Arc::new).collect());
    let possible = lifecycle.possible(object).unwrap();
    let stages = possible.into_iter().map(|(stage, _)| {
        let mut said = Map::new();
        said.insert("stage".to_owned(), stage.name().into());
        if let Some(delay) = &stage.delay {
            let range = delay.range(object, now).unwrap();
            let nanos = range.iter().map(|at| Json::from(i64::try_from(at.as_nanos()).unwrap()));
            said.insert("delay".to_owned(), nanos.collect());
        }
        if let Some(weight) = stage.weight(object).unwrap() {
            said.insert("weight".to_owned(), weight.into());
        }
        let next = effects(&stage.steps, object, PatchType::Merge, &Placeholders).unwrap();
        let mut next: Vec<Json> = next.iter().map(told).collect();
        if stage.is_immediate {
            next.push(json!({"kind": "immediate"}));
        }
        said.insert("next".to_owned(), next.into());
        Json::Object(said)
    });
    let mut said = json!({"apiGroup": wanted.0, "kind": wanted.1, "name": object["metadata"]["name"], "stages": stages.collect::<Json>()});
    if let Some(namespace) = object["metadata"].get("namespace") {
        said["namespace"] = namespace.clone();
    }
    said
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(folder).map(|entries| entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>());
    let mut files = entries.unwrap_or_default();
    files.retain(|file| file.to_str().unwrap().ends_with(ending));
    files.sort();
    files
}

#[test]
fn every_shipped_stage_does_what_the_tests_of_kwok_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("kwok/stage");
    let mut played_files = 0;
    for folder in files(&root, "").iter().flat_map(|part| files(part, "")) {
        let texts = files(&folder, ".yaml").into_iter().map(|file| std::fs::read_to_string(file).unwrap());
        let texts = texts.filter(|text| !text.contains("kind: StorageClass"));
        let stages: Vec<Stage> = texts.flat_map(|text| parse(&text).unwrap()).collect();
        for input in files(&folder.join("testdata"), ".input.yaml") {
            let object = from_yaml(&std::fs::read_to_string(&input).unwrap()).unwrap();
            let output = input.to_str().unwrap().replace(".input.yaml", ".output.yaml");
            let expected = from_yaml(&std::fs::read_to_string(output).unwrap()).unwrap();
            assert_eq!(played(&object, stages.clone()), expected, "{}", input.display());
            played_files += 1;
        }
    }
    println!("{played_files} of KWOK's tests of its stages are equal");
    assert_eq!(played_files, 16);
}

#[test]
fn the_sets_are_what_kwok_ships() {
    let names = |set: &str| read_stages(set).unwrap().iter().map(|stage| stage.name().to_owned()).collect::<Vec<_>>();
    let fast = ["pod-complete", "pod-delete", "pod-ready", "node-initialize", "node-heartbeat-with-lease"];
    assert_eq!(names("fast"), fast);
    assert_eq!(names("general").len(), 8);
    assert_eq!(names("chaos").len(), 11);
}

fn refused(spec: &str) -> String {
    let text = format!("apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata:\n  name: a\nspec:\n{spec}");
    let refusal = parse(&text).unwrap_err();
    format!("{}: {refusal}", refusal.line)
}

#[test]
fn invalid_stages_are_refused_with_line_and_path() {
    let with = |rest: &str| refused(&format!("  resourceRef: {{kind: Pod}}\n{rest}"));
    assert_eq!(refused("  selector: {}\n"), "5: spec: needs resourceRef");
    assert_eq!(with("  weigth: 1\n"), "7: spec.weigth: unknown field");
    assert_eq!(with("  weight: -1\n"), "7: spec.weight: must be an integer of at least 0, got -1");
    assert_eq!(
        with("  selector:\n    matchExpressions:\n    - key: '.a |'\n      operator: In\n"),
        "9: spec.selector.matchExpressions[0].key: \".a |\" is no jq"
    );
    assert_eq!(
        with("  selector:\n    matchExpressions:\n    - key: .a\n      operator: Intersection\n"),
        "10: spec.selector.matchExpressions[0].operator: \"Intersection\" is not one of In, NotIn, Exists and DoesNotExist"
    );
    assert_eq!(
        with("  next:\n    statusTemplate: |\n      a: 1\n      b: {{ Nonsense }}\n"),
        "8: spec.next.statusTemplate: template: line 2: function \"Nonsense\" not defined"
    );
    assert!(
        with("  weightFrom:\n    cel:\n      expression: 'self.a +'\n")
            .starts_with("9: spec.weightFrom.cel.expression: ERROR")
    );
    assert_eq!(
        with("  steps:\n  - patch: {template: a, type: apply}\n"),
        "8: spec.steps[0].patch.type: \"apply\" is not one of json, merge, strategic"
    );
    assert_eq!(parse("a: [").unwrap_err().line, 1);
    let other = parse("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n").unwrap_err();
    assert_eq!((other.line, other.to_string().as_str()), (2, "kind: must be Stage, not Pod"));
}
