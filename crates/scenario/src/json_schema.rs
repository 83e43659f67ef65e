//! The JSON Schemas of files, for editors.
//!
//! They are derived from the types that the parser reads, with the parser's lists of words. What a schema refuses, the
//! parser refuses, too. The parser also checks what no schema can: expressions, names of steps, fields of objects.

mod tidied;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use self::tidied::tidied;
use crate::Scenario;
use crate::parse::{API_VERSION, DocumentKind};
use crate::schema_words::{AnyComponentWord, FaultyComponentWord};

/// The JSON Schema of scenario files.
pub fn scenario_schema() -> Value {
    file_schema::<Scenario>(DocumentKind::Scenario)
}

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

/// The JSON Schema of files of this kind, which are read as `T`.
pub fn file_schema<T: JsonSchema>(kind: DocumentKind) -> Value {
    let mut schema = tidied(generator().into_root_schema_for::<T>());
    schema.insert("$id".to_owned(), format!("https://{API_VERSION}/{}.schema.json", kind.name().to_lowercase()).into());
    schema.insert("title".to_owned(), format!("A {} of Coracle", kind.name().to_lowercase()).into());
    let mut schema = schema.to_value();
    schema["properties"]["apiVersion"] = json!({"const": API_VERSION, "description": "The version of the format."});
    if kind == DocumentKind::Plan {
        // A plan may be of a program that has any name.
        schema["$defs"][FaultyComponentWord::schema_name().as_ref()] =
            AnyComponentWord::json_schema(&mut generator()).to_value();
    }
    schema["properties"]["kind"] = json!({"const": kind.name(), "description": "The kind of the file."});
    schema
}
