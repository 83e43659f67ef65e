//! The functions of templates: a table of names, one file for each group.

mod encodings;
mod lists;
mod logic;
mod maps;
mod numbers;
mod texts;

use crate::value::Value;

/// What a function does.
pub(crate) type Function = for<'d> fn(CallArguments<'d>) -> Result<Value<'d>, String>;

/// The arguments of a call.
pub(crate) struct CallArguments<'d> {
    pub(crate) values: Vec<Value<'d>>,
}

/// All functions, by name.
const TABLES: &[&[(&str, Function)]] =
    &[logic::FUNCTIONS, texts::FUNCTIONS, lists::FUNCTIONS, maps::FUNCTIONS, numbers::FUNCTIONS, encodings::FUNCTIONS];

/// The function with this name in the tables.
pub(crate) fn find(name: &str) -> Option<(&'static str, Function)> {
    TABLES.iter().copied().flatten().find(|(known, _)| *known == name).copied()
}

impl<'d> CallArguments<'d> {
    /// Requires exactly this number of arguments.
    pub(crate) fn exactly<const N: usize>(self) -> Result<[Value<'d>; N], String> {
        let got = self.values.len();
        self.values.try_into().map_err(|_| format!("wrong number of args: want {N} got {got}"))
    }

    /// The first `N` arguments, and the rest.
    pub(crate) fn at_least<const N: usize>(mut self) -> Result<([Value<'d>; N], Vec<Value<'d>>), String> {
        let got = self.values.len();
        if got < N {
            return Err(format!("wrong number of args: want at least {N} got {got}"));
        }
        let others = self.values.split_off(N);
        let first = self.values.try_into().map_err(|_| "wrong number of args".to_owned())?;
        Ok((first, others))
    }
}

/// An argument that must be a string.
pub(crate) fn text<'v>(value: &'v Value<'_>) -> Result<std::borrow::Cow<'v, str>, String> {
    match value {
        Value::Text(text) => Ok(std::borrow::Cow::Borrowed(text)),
        Value::Number(number) => Ok(number.to_string().into()),
        other => Err(format!("wrong type for value; expected string; got {}", other.type_name())),
    }
}

/// An argument that must be a list.
pub(crate) fn items<'d>(value: &Value<'d>) -> Result<Vec<Value<'d>>, String> {
    value.items().ok_or_else(|| format!("wrong type for value; expected a list; got {}", value.type_name()))
}

/// An argument that is a count: limited, so that it cannot exhaust the memory.
pub(crate) fn count(value: &Value<'_>) -> Result<usize, String> {
    let count = crate::number::whole(value);
    usize::try_from(count).ok().filter(|count| *count <= 1_000_000).ok_or_else(|| format!("{count} is out of range"))
}
