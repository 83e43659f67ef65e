use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_ambient::Timestamp;
use coracle_meta::Object;
use serde_json::Value;

use crate::built_in::restore;
use crate::cells::age;
use crate::columns;
use crate::rules::Rules;
use coracle_meta::fields::{Fields, FieldsMut};

/// `secrets`. In Kubernetes: `pkg/registry/core/secret`.
pub(crate) const SECRET: Rules = Rules {
    set_defaults: |object| {
        object.edit(|tree| tree.fill_text("type", "Opaque"));
        merge_string_data(object);
    },
    prepare_update: |new, old, _| {
        if new.text(&["type"]).is_empty() {
            restore(new, old, "type");
        }
    },
    selectable: &["type"],
    columns: columns::SECRET,
    cells,
    ..Rules::of("", "v1", "secrets")
};

/// `stringData` is only ever written; its values replace those of `data`.
fn merge_string_data(object: &mut Object) {
    let Some(Value::Object(texts)) = object.remove(&["stringData"]) else { return };
    object.edit(|tree| {
        if let Some(data) = tree.object_made("data") {
            for (key, text) in texts {
                let bytes = text.as_str().unwrap_or_default();
                data.insert(key, STANDARD.encode(bytes).into());
            }
        }
    });
}

fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let kind = object.text(&["type"]);
    vec![object.name().into(), kind.into(), object.entries("data").count().into(), age(object, now)]
}
