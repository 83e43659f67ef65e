//! `create configmap` and `create secret generic`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::{CREATE, Making, data, make, metadata, name_argument};
use crate::session::CommandSession;
use crate::verb::{OUTPUT, VALIDATE, Verb, WRITE};

const SOURCES: &[Flag] = &[
    Flag::list("from-file", "A file in memory, as KEY=FILE or FILE"),
    Flag::texts("from-literal", "A value, as KEY=VALUE"),
    Flag::list("from-env-file", "A file in memory with lines KEY=VALUE"),
];

const SECRET: &[Flag] = &[Flag::text("type", "The type of the Secret")];

pub(super) const CONFIG_MAP: Verb = Verb {
    words: &["create", "configmap"],
    aliases: &["cm"],
    flags: &[SOURCES, CREATE, OUTPUT, WRITE, VALIDATE],
    required: &[],
    about: "Create a config map from a file or literal value",
    run: |session| Box::pin(config_map(session)),
};

pub(super) const GENERIC_SECRET: Verb = Verb {
    words: &["create", "secret", "generic"],
    aliases: &[],
    flags: &[SOURCES, SECRET, CREATE, OUTPUT, WRITE, VALIDATE],
    required: &[],
    about: "Create a secret from a file or literal value",
    run: |session| Box::pin(secret(session)),
};

async fn config_map(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let name = name_argument(session)?;
    let data = data(session, "ConfigMap", &name)?;
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(session, &name)});
    if !data.is_empty() {
        object["data"] = data.into_iter().map(|(key, value)| (key, Value::from(value))).collect::<Map<_, _>>().into();
    }
    make(session, object, Making::new("", "ConfigMap").or("failed to create configmap: ")).await
}

async fn secret(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let name = name_argument(session)?;
    let data = data(session, "Secret", &name)?;
    let mut object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata(session, &name)});
    if !data.is_empty() {
        let encoded = data.into_iter().map(|(key, value)| (key, Value::from(STANDARD.encode(value))));
        object["data"] = encoded.collect::<Map<_, _>>().into();
    }
    if session.flags.has("type") {
        object["type"] = session.flags.text("type").into();
    }
    make(session, object, Making::new("", "Secret").or("failed to create secret ")).await
}
