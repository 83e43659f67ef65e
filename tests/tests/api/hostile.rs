//! Whatever a client sends, to any kind: the server answers, and says that it is the client's fault.

use coracle::Cluster;
use coracle_schema::sample::{self, Choices};
use coracle_schema::{ResourceRow, Table, protobuf};
use http::{Method, Request};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

use crate::front::{Answer, api_server, call, send};

/// A server on a clock that waits for nobody, and how to run something on it.
struct Target {
    runtime: tokio::runtime::Runtime,
    cluster: Cluster,
}

impl Target {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let target = Self { cluster: runtime.block_on(api_server()), runtime };
        target.create("/api/v1/namespaces/default/serviceaccounts", &json!({"metadata": {"name": "default"}}));
        target
    }

    fn send(&self, request: Request<Vec<u8>>) -> Answer {
        self.runtime.block_on(send(&self.cluster, request))
    }

    fn create(&self, path: &str, object: &Value) {
        let answer = self.runtime.block_on(call(&self.cluster, Method::POST, path, object));
        assert_eq!(answer.code, 201, "{:?}", answer.json());
    }
}

/// The answers that Kubernetes, too, gives as its own fault: the beginnings of their messages.
const AS_IN_KUBERNETES: &[&str] = &[
    // `errors.New` on the way of a create, an update or a patch becomes an internal error there.
    "resourceVersion should not be set on objects to be created",
    "invalid resource version: ",
    // What structured-merge-diff says of a configuration, and of the union with what is there, is passed on.
    "failed to create typed patch object (",
    "failed to create typed live object (",
    "failed to convert new object (",
    "Internal error occurred: json: cannot unmarshal ",
    "Internal error occurred: parsing time ",
    // A strategic merge patch that contradicts the schema or itself.
    "map: map[",
    "unable to find api field in struct ",
    "unknown patch type: ",
    "expected a ",
    "cannot merge lists without merge key",
    "no elements in any of the given slices",
    "list element types are not identical: ",
    // The validation of a binding is a plain error.
    "target.",
    "[target.",
    // `NewTimeoutError`, `NewServerTimeout`: a version that the server has not seen yet.
    "Timeout: Too large resource version: ",
];

/// Draws the same inputs in each run, so that a test says something of the change it runs for; as many others as
/// `PROPTEST_CASES` asks for, where it is set.
fn runner(cases: u32) -> TestRunner {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => TestRunner::new(config),
        None => {
            let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
            TestRunner::new_with_rng(ProptestConfig { cases, ..config }, random)
        }
    }
}

fn is_own_fault(answer: &Answer) -> bool {
    if answer.code.as_u16() < 500 {
        return false;
    }
    let message = answer.json()["message"].as_str().unwrap_or_default().to_owned();
    !AS_IN_KUBERNETES.iter().any(|known| message.starts_with(known))
}

fn kinds() -> Vec<&'static ResourceRow> {
    Table::newest().resources().iter().filter(|row| row.verbs.iter().any(|verb| verb == "create")).collect()
}

fn collection(row: &ResourceRow) -> String {
    let version = row.kind.api_version();
    let root = if row.kind.group.is_empty() { "/api" } else { "/apis" };
    let namespace = if row.scope == coracle::meta::Scope::Namespaced { "/namespaces/default" } else { "" };
    format!("{root}/{version}{namespace}/{}", row.plural)
}

/// An object of a kind as somebody might write it, with a name.
fn well_formed(row: &ResourceRow, seed: u64) -> Value {
    let schema = Table::newest().kind(&row.kind).expect("the table has every kind");
    let mut object = sample::value(schema.root(), &mut Choices::new(seed));
    if let Value::Object(tree) = &mut object {
        tree.insert("apiVersion".into(), row.kind.api_version().into());
        tree.insert("kind".into(), row.kind.kind.clone().into());
        tree.insert("metadata".into(), json!({"name": format!("a-{}", seed % 50)}));
    }
    object
}

/// Values that fit nowhere.
fn junk() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        prop::sample::select(vec![
            "99999999999999999999Ei",
            "-1%",
            "101%",
            "2001-02-30T99:00:00Z",
            "0x7fffffff",
            "::/0",
            "10.0.0.0/33",
            "*",
            "%",
            "a/b/c",
            "..",
            "$(A)",
            "self.x",
            "{.x[?(@.a)]}",
            "\u{0}",
            "\u{feff}",
        ])
        .prop_map(Value::from),
        Just("x".repeat(70_000).into()),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec(("(name|spec|metadata|labels|\\$patch|\\$retainKeys|.{0,3})", inner), 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Puts `junk` at some places of a value, below its root.
fn spoil(value: &mut Value, junk: &[Value], seed: &mut u64) {
    let mut next = || {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(*seed >> 40).unwrap_or(0)
    };
    if next().is_multiple_of(12) {
        value.clone_from(&junk[next() % junk.len()]);
        return;
    }
    match value {
        Value::Object(tree) => tree.values_mut().for_each(|value| spoil(value, junk, seed)),
        Value::Array(items) => items.iter_mut().for_each(|value| spoil(value, junk, seed)),
        _ => {}
    }
}

/// A change of bytes that knows nothing of what they say.
#[derive(Clone, Debug)]
enum Damage {
    None,
    Flip(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Repeat(prop::sample::Index, prop::sample::Index),
    Insert(prop::sample::Index, Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        4 => Just(Damage::None),
        1 => (at(), any::<u8>()).prop_map(|(at, byte)| Damage::Flip(at, byte)),
        1 => at().prop_map(Damage::Cut),
        1 => (at(), at()).prop_map(|(from, to)| Damage::Repeat(from, to)),
        1 => (at(), prop::collection::vec(any::<u8>(), 1..9)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        1 => (at(), "[&*!|>{}\\[\\]:,#?\"'% -]{1,6}").prop_map(|(at, text)| Damage::Insert(at, text.into_bytes())),
    ]
}

impl Damage {
    fn done_to(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        if bytes.is_empty() {
            return bytes;
        }
        let length = bytes.len();
        match self {
            Self::None => {}
            Self::Flip(at, byte) => bytes[at.index(length)] ^= byte,
            Self::Cut(at) => bytes.truncate(at.index(length)),
            Self::Repeat(from, to) => {
                let (from, to) = (from.index(length), to.index(length));
                let slice = bytes[from.min(to)..from.max(to)].to_vec();
                bytes.splice(from..from, slice);
            }
            Self::Insert(at, what) => drop(bytes.splice(at.index(length)..at.index(length), what.iter().copied())),
        }
        bytes
    }
}

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// A value as a body. Of something that protobuf cannot carry nothing is left.
fn encoded(row: &ResourceRow, value: &Value, media_type: &str) -> Vec<u8> {
    match (media_type, Table::newest().kind(&row.kind), value) {
        (PROTOBUF, Some(schema), Value::Object(tree)) => protobuf::encode(tree, &schema),
        _ => value.to_string().into_bytes(),
    }
}

/// The objects that patches are sent to.
const PATCHED: &[(&str, &str, &str)] = &[
    ("", "v1", "pods"),
    ("", "v1", "services"),
    ("", "v1", "configmaps"),
    ("apps", "v1", "deployments"),
    ("batch", "v1", "jobs"),
    ("autoscaling", "v1", "horizontalpodautoscalers"),
    ("autoscaling", "v2", "horizontalpodautoscalers"),
    ("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
];

fn to_be_patched() -> Vec<(&'static ResourceRow, Value)> {
    let container = json!({"name": "c", "image": "i", "ports": [{"containerPort": 80}], "env": [{"name": "E"}]});
    let labels = json!({"app": "x"});
    let template = |policy: &str| json!({"metadata": {"labels": labels}, "spec": {"containers": [container], "restartPolicy": policy}});
    let specs = [
        json!({"spec": {"containers": [container]}}),
        json!({"spec": {"ports": [{"port": 80}], "selector": labels}}),
        json!({"data": {"a": "1"}}),
        json!({"spec": {"selector": {"matchLabels": labels}, "template": template("Always")}}),
        json!({"spec": {"template": template("Never")}}),
        json!({"spec": {"maxReplicas": 2, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}}}),
        json!({"spec": {"maxReplicas": 2, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}}}),
        json!({"spec": {
            "group": "x.example", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        }}),
    ];
    let rows = PATCHED.iter().map(|(group, version, plural)| {
        let is_this =
            |row: &&ResourceRow| (&*row.kind.group, &*row.kind.version, &*row.plural) == (*group, *version, *plural);
        Table::newest().resources().iter().find(is_this).expect("a built-in kind")
    });
    rows.zip(specs).collect()
}

fn name_of(row: &ResourceRow) -> String {
    match row.plural.as_str() {
        "customresourcedefinitions" => "boats.x.example".to_owned(),
        _ => format!("a-{}", row.kind.version),
    }
}

/// Every place of a document, as JSON pointers.
fn pointers(value: &Value, here: &str, out: &mut Vec<String>) {
    out.push(here.to_owned());
    match value {
        Value::Object(tree) => {
            for (name, value) in tree {
                pointers(value, &format!("{here}/{}", name.replace('~', "~0").replace('/', "~1")), out);
            }
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| pointers(item, &format!("{here}/{at}"), out));
        }
        _ => {}
    }
}

fn operations(document: &Value, drawn: &[(usize, prop::sample::Index, prop::sample::Index, Value)]) -> Value {
    let mut places = Vec::new();
    pointers(document, "", &mut places);
    let extra = [
        "/metadata/-",
        "/spec/x~2",
        "//",
        "/-1",
        "no",
        "/metadata/labels/a~1b",
        "/spec/containers/99999999999999999999",
    ];
    places.extend(extra.map(str::to_owned));
    let verbs = ["add", "remove", "replace", "move", "copy", "test", "brew"];
    let operation = |(verb, path, from, value): &(usize, prop::sample::Index, prop::sample::Index, Value)| json!({"op": verbs[verb % verbs.len()], "path": path.get(&places), "from": from.get(&places), "value": value});
    drawn.iter().map(operation).collect()
}

#[test]
fn no_body_of_any_kind_makes_the_server_fail() {
    let target = Target::new();
    let kinds = kinds();
    let mut runner = runner(2500);
    let drawn = (
        0..kinds.len(),
        any::<u64>(),
        prop::collection::vec(junk(), 1..4),
        prop::sample::select(vec![JSON, YAML, PROTOBUF]),
        prop::sample::select(vec![0_u8, 1, 2]),
        damage(),
        prop::sample::select(vec!["", "&fieldValidation=Strict", "&dryRun=All", "&dryRun=All&fieldManager=x"]),
    );
    let outcome = runner.run(&drawn, |(kind, seed, junk, media_type, how, damage, query)| {
        let row = kinds[kind];
        let mut value = well_formed(row, seed);
        if how > 0
            && let Value::Object(tree) = &mut value
        {
            let mut state = seed | 1;
            for (name, value) in tree {
                // Mostly the body is of the kind that the path names.
                if how == 2 || !matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
                    spoil(value, &junk, &mut state);
                }
            }
        }
        let body = damage.done_to(encoded(row, &value, media_type));
        let path = format!("{}?x=y{query}", collection(row));
        let request = Request::post(&path).header("content-type", media_type).body(body.clone()).unwrap();
        let answer = target.send(request);
        prop_assert!(!is_own_fault(&answer), "{path} {}: {:?}", String::from_utf8_lossy(&body), answer.json());
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn no_patch_makes_the_server_fail() {
    let target = Target::new();
    let patched = to_be_patched();
    for (row, object) in &patched {
        let mut object = object.clone();
        object["metadata"] = json!({"name": name_of(row)});
        target.create(&collection(row), &object);
    }
    let mut runner = runner(1500);
    let index = any::<prop::sample::Index>;
    let drawn = (
        0..patched.len(),
        any::<u64>(),
        prop::collection::vec(junk(), 1..4),
        prop::collection::vec((0_usize..7, index(), index(), junk()), 0..5),
        0_usize..4,
        prop::sample::select(vec!["", "", "/status", "/scale"]),
        damage(),
    );
    let outcome = runner.run(&drawn, |(kind, seed, junk, operated, language, part, damage)| {
        let (row, object) = &patched[kind];
        let (media_type, patch) = match language {
            0 => ("application/json-patch+json", operations(object, &operated)),
            _ => {
                let mut patch = if seed % 2 == 0 { object.clone() } else { well_formed(row, seed) };
                let mut state = seed | 1;
                patch.as_object_mut().into_iter().flatten().for_each(|(_, value)| spoil(value, &junk, &mut state));
                let types = [
                    "",
                    "application/merge-patch+json",
                    "application/strategic-merge-patch+json",
                    "application/apply-patch+yaml",
                ];
                if language == 3 {
                    patch["apiVersion"] = row.kind.api_version().into();
                    patch["kind"] = row.kind.kind.clone().into();
                    patch["metadata"] = json!({"name": name_of(row)});
                }
                (types[language], patch)
            }
        };
        let query = if language == 3 { "fieldManager=fuzz&force=true" } else { "fieldManager=fuzz" };
        let path = format!("{}/{}{part}?{query}", collection(row), name_of(row));
        let body = damage.done_to(patch.to_string().into_bytes());
        let request = Request::patch(&path).header("content-type", media_type).body(body.clone()).unwrap();
        let answer = target.send(request);
        prop_assert!(!is_own_fault(&answer), "{path} {}: {:?}", String::from_utf8_lossy(&body), answer.json());
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn bodies_that_would_unfold_without_end_are_refused() {
    let target = Target::new();
    let path = "/api/v1/namespaces/default/configmaps";
    let names = ('a'..='z').map(String::from).collect::<Vec<_>>();
    let laughs: String = names
        .windows(2)
        .map(|pair| format!("{}: &{} [{}]\n", pair[1], pair[1], vec![format!("*{}", pair[0]); 9].join(",")))
        .collect();
    let laughs = format!("kind: ConfigMap\napiVersion: v1\nmetadata: {{name: lol}}\na: &a [lol]\n{laughs}");
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(400_000), close.repeat(400_000));
    let bodies = [
        (YAML, laughs),
        (YAML, deep("[", "]")),
        (YAML, deep("{a: ", "}")),
        (YAML, "- ".repeat(900_000)),
        (JSON, deep("[", "]")),
        (JSON, deep(r#"{"a":"#, "}")),
        (JSON, format!(r#"{{"metadata":{{"name":"x"}},"data":{{"a":{}}}}}"#, "9".repeat(1_000_000))),
        (JSON, format!(r#"{{"metadata":{{"name":"x"}},"immutable":1e{}}}"#, "9".repeat(1_000_000))),
        (JSON, format!(r#"{{"metadata":{{"name":"{}"}}}}"#, "x".repeat(2_000_000))),
    ];
    for (media_type, body) in bodies {
        let start: String = body.chars().take(40).collect();
        let request = Request::post(path).header("content-type", media_type).body(body.into_bytes()).unwrap();
        let answer = target.send(request);
        assert!((400..500).contains(&answer.code.as_u16()), "{media_type} {start}: {}", answer.code);
    }
    for media_type in ["application/merge-patch+json", "application/apply-patch+yaml", "application/json-patch+json"] {
        target.send(Request::post(path).body(br#"{"metadata":{"name":"p"}}"#.to_vec()).unwrap());
        let body = format!(r#"{{"data":{}}}"#, deep(r#"{"a":"#, "}")).into_bytes();
        let request = Request::patch(format!("{path}/p?fieldManager=x")).header("content-type", media_type).body(body);
        let answer = target.send(request.unwrap());
        assert!((400..500).contains(&answer.code.as_u16()), "{media_type}: {}", answer.code);
    }
}
