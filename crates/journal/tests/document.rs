//! `docs/events.md` and the JSON Schema beside it say what the stages hold. `CORACLE_WRITE_DOCUMENTS=1` writes them anew.

use std::fmt::Write;
use std::path::PathBuf;

use coracle_journal::{Field, SCHEMA, Stage};
use serde_json::{Map, Value, json};

const BEGIN: &str = "<!-- stages: written by crates/journal/tests/document.rs -->\n";
const END: &str = "<!-- end of stages -->";

fn docs(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

fn hold(name: &str, wanted: &str) {
    if std::env::var_os("CORACLE_WRITE_DOCUMENTS").is_some() {
        std::fs::write(docs(name), wanted).unwrap();
    }
    let found = std::fs::read_to_string(docs(name)).unwrap_or_default();
    assert!(found == wanted, "docs/{name} is not what the stages say: run this test with CORACLE_WRITE_DOCUMENTS=1");
}

fn table() -> String {
    let mut text = String::from("\n| stage | what happened | data |\n|---|---|---|\n");
    for stage in Stage::ALL {
        let field = |field: &Field| {
            let presence = if field.is_always_there { "" } else { "?" };
            format!("`{}`{presence} {}: {}", field.name(), field.holds.word(), field.meaning)
        };
        let fields = stage.fields().iter().map(field).collect::<Vec<_>>().join("<br>");
        let _ = writeln!(text, "| `{stage}` | {} | {fields} |", stage.about());
    }
    text.push('\n');
    text
}

fn schema() -> Value {
    let stage = |stage: &Stage| {
        let of_field = |field: &Field| {
            let says = json!({"type": field.holds.word(), "description": field.meaning});
            (field.name().to_owned(), says)
        };
        let always: Vec<&str> = stage.fields().iter().filter(|field| field.is_always_there).map(Field::name).collect();
        let properties: Map<String, Value> = stage.fields().iter().map(of_field).collect();
        let required = if always.is_empty() { json!(["s"]) } else { json!(["s", "d"]) };
        json!({
            "description": stage.about(),
            "properties": {
                "s": {"const": stage.word()},
                "d": {"type": "object", "properties": properties, "required": always},
            },
            "required": required,
        })
    };
    let known: Vec<&str> = Stage::ALL.iter().map(|stage| stage.word()).collect();
    let mut kinds: Vec<Value> = Stage::ALL.iter().map(stage).collect();
    kinds.push(json!({
        "description": "A stage of a later version: passed over.",
        "properties": {"s": {"not": {"enum": known}}},
    }));
    let natural = json!({"type": "integer", "minimum": 0});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of an events file of Coracle",
        "oneOf": [
            {"$ref": "#/$defs/header"},
            {"$ref": "#/$defs/entry"},
            {"$ref": "#/$defs/end"},
        ],
        "$defs": {
            "header": {
                "description": "The first line",
                "type": "object",
                "properties": {
                    "log": {"const": "coracle"},
                    "schema": {"const": SCHEMA},
                    "version": {"type": "string"},
                    "start": {"type": "string", "format": "date-time"},
                    "mode": {"type": "string"},
                    "seed": natural,
                    "scenario": {"type": "string"},
                    "hash": {"type": "string"},
                    "disturb": {"type": "string"},
                    "change": {"type": "string"},
                },
                "required": ["log", "schema", "version", "start"],
            },
            "entry": {
                "description": "All lines between",
                "type": "object",
                "properties": {
                    "i": {"type": "integer", "minimum": 1, "description": "number"},
                    "t": {"type": "integer", "minimum": 0, "description": "nanoseconds since the log began"},
                    "a": {"type": "string", "description": "actor"},
                    "s": {"type": "string", "description": "stage"},
                    "k": {"type": "string", "description": "subject"},
                    "c": {"type": "array", "items": natural, "description": "numbers of the causes, all of them smaller"},
                    "rv": {"type": "integer", "description": "revision"},
                    "d": {"type": "object", "description": "data of the stage"},
                },
                "required": ["i", "t", "a", "s"],
                "oneOf": kinds,
            },
            "end": {
                "description": "The last line: the number of the last entry",
                "type": "object",
                "properties": {"end": natural},
                "required": ["end"],
            },
        },
    })
}

#[test]
fn the_document_lists_every_stage_and_every_word() {
    let found = std::fs::read_to_string(docs("events.md")).unwrap();
    let (before, rest) = found.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    hold("events.md", &format!("{before}{BEGIN}{}{END}{after}", table()));
}

#[test]
fn the_schema_lists_every_stage_and_every_word() {
    hold("events.schema.json", &format!("{:#}\n", schema()));
}

#[test]
fn data_that_is_not_promised_is_found() {
    let data = |value: Value| value.as_object().unwrap().clone();
    let right = data(json!({"queue": "q", "waitedNanos": 1}));
    assert_eq!(Stage::QueueGet.broken_promise(&right), None);
    let wrong =
        [json!({"queue": "q"}), json!({"queue": 1, "waitedNanos": 1}), json!({"queue": "q", "waitedNanos": 1, "x": 1})];
    for (wrong, why) in wrong.into_iter().zip(["is missing", "which is no string", "`x` is not promised"]) {
        let found = Stage::QueueGet.broken_promise(&data(wrong)).unwrap();
        assert!(found.contains(why), "{found}");
    }
}
