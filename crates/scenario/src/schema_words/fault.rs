//! The schemas of what a fault does, and of how long it lasts.

use std::borrow::Cow;

use coracle_sim::faults::{ArgumentForm, FAULTS, FaultKind, FaultTarget};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::words::{DurationText, FaultyComponentWord, KindWord, RequestWord};
use crate::fault_words::words_with;

/// What happens: the word of a fault with its argument, and what selects watches or a start.
pub(crate) enum FaultAction {}

impl JsonSchema for FaultAction {
    fn schema_name() -> Cow<'static, str> {
        "FaultAction".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties: Map<String, Value> =
            FAULTS.iter().map(|kind| (kind.word.to_owned(), argument(kind, generator).to_value())).collect();
        properties.insert("kind".to_owned(), described(generator.subschema_for::<KindWord>(), KIND));
        properties.insert("to".to_owned(), described(generator.subschema_for::<RequestWord>(), TO));
        properties.insert("start".to_owned(), json!({"type": "integer", "minimum": 1, "description": START}));
        let one_fault = |kind: &FaultKind| {
            let keys: Vec<&str> = std::iter::once(kind.word).chain(words_with(kind.target).iter().copied()).collect();
            json!({"required": [kind.word], "propertyNames": {"enum": keys}})
        };
        json_schema!({
            "type": "object",
            "description": "What happens: the word of one fault with its argument.",
            "properties": properties,
            "additionalProperties": false,
            "oneOf": FAULTS.iter().map(one_fault).collect::<Vec<_>>(),
        })
    }
}

const KIND: &str = "Below a fault of watches: the kind whose watches it acts on; absent for all.";
const TO: &str = "Below a fault of watches: the component or user whose watches it acts on; absent for all components.";
const START: &str = "Below `cut` and `stale`: the start of the component that it acts on, from 1; absent for all.";

fn described(mut schema: Schema, description: &str) -> Value {
    schema.insert("description".to_owned(), description.into());
    schema.to_value()
}

fn argument(kind: &FaultKind, generator: &mut SchemaGenerator) -> Schema {
    let forms = || kind.forms.iter();
    let is_word = |form: &ArgumentForm| matches!(form, ArgumentForm::Word(_));
    let simple: Vec<Value> = forms()
        .filter_map(|form| match form {
            ArgumentForm::Word(word) => Some(json!(word)),
            ArgumentForm::Number(number) => Some(json!(number)),
            _ => None,
        })
        .collect();
    let mut choices: Vec<Value> = Vec::new();
    if !simple.is_empty() {
        choices.push(json!({"enum": simple}));
    }
    let others = forms().filter(|form| !is_word(form) && !matches!(form, ArgumentForm::Number(_)));
    choices.extend(others.map(|form| schema_of(form, generator)));
    let mut schema = match choices.len() {
        1 => Schema::try_from(choices.remove(0)).unwrap_or_default(),
        _ => json_schema!({"anyOf": choices}),
    };
    let effect = match kind.target {
        FaultTarget::Requests => "A fault of the requests that `when` selects.",
        FaultTarget::Requester => "A fault of all that one component or user sends and receives.",
        FaultTarget::Watches => "A fault of watches, as long as it lasts.",
        FaultTarget::OpenWatches => "A fault of the open watches, at one moment.",
        FaultTarget::Cluster => "A fault of a part of the cluster.",
    };
    schema.insert("description".to_owned(), format!("{effect} Argument: {}. {}", kind.argument, kind.about).into());
    schema
}

fn schema_of(form: &ArgumentForm, generator: &mut SchemaGenerator) -> Value {
    match *form {
        ArgumentForm::Word(word) => json!({"const": word}),
        ArgumentForm::Number(number) => json!({"const": number}),
        ArgumentForm::Duration => generator.subschema_for::<DurationText>().to_value(),
        ArgumentForm::SignedDuration => json!({"type": "string"}),
        ArgumentForm::Empty => json!({"type": "object", "maxProperties": 0}),
        ArgumentForm::Requester => generator.subschema_for::<RequestWord>().to_value(),
        ArgumentForm::Component => generator.subschema_for::<FaultyComponentWord>().to_value(),
        ArgumentForm::Node => json!({"type": "string"}),
        ArgumentForm::Field(name, of) => json!({
            "type": "object",
            "properties": {name: schema_of(of, generator)},
            "required": [name],
            "additionalProperties": false,
        }),
        ArgumentForm::OfComponent(of) => json!({
            "type": "object",
            "propertyNames": generator.subschema_for::<FaultyComponentWord>(),
            "additionalProperties": schema_of(of, generator),
            "minProperties": 1,
            "maxProperties": 1,
        }),
    }
}

/// How long a fault lasts.
pub(crate) enum FaultLength {}

impl JsonSchema for FaultLength {
    fn schema_name() -> Cow<'static, str> {
        "FaultLength".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A duration, a number of requests, or `{until: STEP}`.",
            "anyOf": [
                generator.subschema_for::<DurationText>(),
                {"type": "integer", "minimum": 1},
                {
                    "type": "object",
                    "properties": {"until": {"type": "string", "description": "The step with which it ends."}},
                    "required": ["until"],
                    "additionalProperties": false,
                },
            ],
        })
    }
}
