use crate::fault::Fault;
use crate::schema::{Order, Schema, Shape};

use super::json::from_json;
use super::values::{ListValue, Value};

impl<'v> ListValue<'v> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json(items, _) => items.len(),
            Self::References(items) => items.len(),
            Self::Owned(items) => items.len(),
        }
    }

    pub(crate) fn get(&self, at: usize) -> Option<Result<Value<'v>, Fault>> {
        match self {
            Self::Json(items, schema) => {
                let schema = schema.and_then(Schema::items).map(|items| &**items);
                items.get(at).map(|item| from_json(item, schema))
            }
            Self::References(items) => items.get(at).map(|item| from_json(item, None)),
            Self::Owned(items) => items.get(at).cloned().map(Ok),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Result<Value<'v>, Fault>> + '_ {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// How this list is compared.
    pub(crate) fn order(&self) -> &Order {
        match self {
            Self::Json(_, Some(schema)) => match schema.shape() {
                Shape::List(_, order) => order,
                _ => &Order::Fixed,
            },
            _ => &Order::Fixed,
        }
    }

    /// All items as values.
    pub(crate) fn items(&self) -> Result<Vec<Value<'v>>, Fault> {
        self.iter().collect()
    }
}
