use serde_json::{Map, Value};

use super::Stage;

/// A field of an entry's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    pub(super) name: &'static str,
    /// Whether every entry of the stage has it.
    pub is_always_there: bool,
    /// The type of its value.
    pub holds: Holds,
    /// Its meaning.
    pub meaning: &'static str,
}

/// The type of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// A string.
    Text,
    /// An integer.
    Number,
    /// `true` or `false`.
    Truth,
    /// A JSON object.
    Map,
    /// A JSON array.
    List,
}

impl Field {
    /// Its name in the data.
    pub fn name(&self) -> &'static str {
        self.name.strip_prefix("r#").unwrap_or(self.name)
    }
}

impl Holds {
    /// Its type in JSON Schema.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Number => "integer",
            Self::Truth => "boolean",
            Self::Map => "object",
            Self::List => "array",
        }
    }

    fn is_met_by(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Number => value.is_i64() || value.is_u64(),
            Self::Truth => value.is_boolean(),
            Self::Map => value.is_object(),
            Self::List => value.is_array(),
        }
    }
}

impl Stage {
    /// What is wrong with the data of an entry at this stage, if anything: an unknown field, a missing field, or a
    /// value of another type.
    pub fn broken_promise(self, data: &Map<String, Value>) -> Option<String> {
        let fields = self.fields();
        let named = |name: &str| fields.iter().find(|field| field.name() == name);
        let unknown =
            data.keys().find(|name| named(name).is_none()).map(|name| format!("{self}: `{name}` is not promised"));
        let wrong = fields.iter().find_map(|field| match data.get(field.name()) {
            None if field.is_always_there => Some(format!("{self}: `{}` is missing", field.name())),
            Some(value) if !field.holds.is_met_by(value) => {
                Some(format!("{self}: `{}` holds {value}, which is no {}", field.name(), field.holds.word()))
            }
            _ => None,
        });
        unknown.or(wrong)
    }
}
