use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Map, Number, Value as Json};

/// The maximum depth of a value.
pub(crate) const DEEPEST: usize = 100;
/// The maximum number of visited parts of a value: a created value may contain the same part many times.
pub(crate) const MOST_PARTS: usize = 1_000_000;

/// A value of a template: a part of the data, or the result of a function.
#[derive(Clone, Debug)]
pub(crate) enum Value<'d> {
    /// A missing value: a field that a map does not have, or a field of a missing value.
    Missing,
    /// Null, in the data or in a created value.
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// A JSON number of the data, which is a string in templates.
    Number(&'d Number),
    Text(Cow<'d, str>),
    Array(&'d [Json]),
    Object(&'d Map<String, Json>),
    List(Rc<TemplateList<'d>>),
    /// A created map, which `set` changes for all its users.
    Map(Rc<TemplateMap<'d>>),
}

/// The items of a created list.
#[derive(Debug)]
pub(crate) struct TemplateList<'d>(Vec<Value<'d>>);

/// The fields of a created map.
#[derive(Debug)]
pub(crate) struct TemplateMap<'d>(RefCell<BTreeMap<String, Value<'d>>>);

impl<'d> Value<'d> {
    pub(crate) fn of(json: &'d Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => Self::Number(number),
            Json::String(text) => Self::Text(Cow::Borrowed(text)),
            Json::Array(items) => Self::Array(items),
            Json::Object(fields) => Self::Object(fields),
        }
    }

    /// The result of a function.
    pub(crate) fn owned(json: Json) -> Self {
        match json {
            Json::Null => Self::Missing,
            Json::Bool(value) => Self::Bool(value),
            Json::Number(number) => match number.as_i64() {
                Some(whole) => Self::Int(whole),
                None => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Self::text(text),
            Json::Array(items) => Self::list(items.into_iter().map(Self::owned).collect()),
            Json::Object(fields) => {
                Self::map(fields.into_iter().map(|(key, value)| (key, Self::owned(value))).collect())
            }
        }
    }

    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(Cow::Owned(text.into()))
    }

    pub(crate) fn list(items: Vec<Self>) -> Self {
        Self::List(Rc::new(TemplateList(items)))
    }

    pub(crate) fn map(fields: BTreeMap<String, Self>) -> Self {
        Self::Map(Rc::new(TemplateMap(RefCell::new(fields))))
    }

    pub(crate) fn is_nil(&self) -> bool {
        matches!(self, Self::Missing | Self::Null)
    }

    /// Whether it counts as true. In Go: `text/template.IsTrue`.
    pub(crate) fn is_true(&self) -> bool {
        match self {
            Self::Missing | Self::Null => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Number(_) => true,
            _ => self.len().is_some_and(|length| length > 0),
        }
    }

    /// The number of bytes, items or fields.
    pub(crate) fn len(&self) -> Option<usize> {
        Some(match self {
            Self::Text(text) => text.len(),
            Self::Number(number) => number.to_string().len(),
            Self::Array(items) => items.len(),
            Self::List(items) => items.0.len(),
            Self::Object(fields) => fields.len(),
            Self::Map(fields) => fields.0.borrow().len(),
            _ => return None,
        })
    }

    /// The items of a list.
    pub(crate) fn items(&self) -> Option<Vec<Self>> {
        match self {
            Self::Array(items) => Some(items.iter().map(Self::of).collect()),
            Self::List(items) => Some(items.0.clone()),
            _ => None,
        }
    }

    /// The fields of a map, by name.
    pub(crate) fn fields(&self) -> Option<BTreeMap<String, Self>> {
        match self {
            Self::Object(fields) => Some(fields.iter().map(|(key, value)| (key.clone(), Self::of(value))).collect()),
            Self::Map(fields) => Some(fields.0.borrow().clone()),
            _ => None,
        }
    }

    /// A field of a map; `None` if this is not a map.
    pub(crate) fn field(&self, name: &str) -> Option<Self> {
        match self {
            Self::Object(fields) => Some(fields.get(name).map_or(Self::Missing, Self::of)),
            Self::Map(fields) => Some(fields.0.borrow().get(name).cloned().unwrap_or(Self::Missing)),
            _ => None,
        }
    }

    /// The type name in errors.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Missing | Self::Null => "nil",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float64",
            Self::Number(_) => "json.Number",
            Self::Text(_) => "string",
            Self::Array(_) | Self::List(_) => "[]interface {}",
            Self::Object(_) | Self::Map(_) => "map[string]interface {}",
        }
    }

    /// The fields of a created map, for changes.
    pub(crate) fn made(&self) -> Option<&RefCell<BTreeMap<String, Self>>> {
        match self {
            Self::Map(fields) => Some(&fields.0),
            _ => None,
        }
    }

    /// Converts to JSON; parts beyond the limits become null.
    pub(crate) fn to_json(&self) -> Json {
        self.json_within(DEEPEST, &mut MOST_PARTS.clone())
    }

    fn json_within(&self, depth: usize, parts: &mut usize) -> Json {
        let (Some(depth), Some(left)) = (depth.checked_sub(1), parts.checked_sub(1)) else { return Json::Null };
        *parts = left;
        match self {
            Self::Missing | Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Int(value) => Json::from(*value),
            Self::Float(value) => Json::from(*value),
            Self::Number(number) => Json::Number((*number).clone()),
            Self::Text(text) => Json::String(text.to_string()),
            Self::Array(items) => Json::Array(items.to_vec()),
            Self::Object(fields) => Json::Object((*fields).clone()),
            Self::List(items) => items.0.iter().map(|item| item.json_within(depth, parts)).collect(),
            Self::Map(fields) => {
                let fields = fields.0.borrow();
                fields.iter().map(|(key, value)| (key.clone(), value.json_within(depth, parts))).collect()
            }
        }
    }
}

impl Drop for TemplateList<'_> {
    fn drop(&mut self) {
        let_go(std::mem::take(&mut self.0));
    }
}

impl Drop for TemplateMap<'_> {
    fn drop(&mut self) {
        let_go(std::mem::take(self.0.get_mut()).into_values().collect());
    }
}

/// Drops values iteratively, so that deep nesting does not exhaust the stack.
fn let_go(mut values: Vec<Value<'_>>) {
    while let Some(value) = values.pop() {
        match value {
            Value::List(list) => {
                if let Some(mut list) = Rc::into_inner(list) {
                    values.append(&mut list.0);
                }
            }
            Value::Map(map) => {
                if let Some(mut map) = Rc::into_inner(map) {
                    values.extend(std::mem::take(map.0.get_mut()).into_values());
                }
            }
            _ => {}
        }
    }
}
