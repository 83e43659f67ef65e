use serde_json::{Number, Value};

/// JSON as it was written: fields in order, also those that are there twice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Raw {
    Null,
    Bool(bool),
    /// The digits as written.
    Number(String),
    String(String),
    List(Vec<Raw>),
    Object(Vec<(String, Raw)>),
}

impl Raw {
    /// The last field of a name: the one that counts.
    pub(crate) fn get(&self, name: &str) -> Option<&Raw> {
        match self {
            Raw::Object(fields) => fields.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// What Go calls the kind of value in its messages.
    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            Raw::Null => "null",
            Raw::Bool(_) => "bool",
            Raw::Number(_) => "number",
            Raw::String(_) => "string",
            Raw::List(_) => "array",
            Raw::Object(_) => "object",
        }
    }
}

/// A number as near to what was written as JSON trees hold: whole if it fits 64 bits.
pub(crate) fn number(text: &str) -> Number {
    let whole = text.parse::<i64>().map(Number::from).ok().or_else(|| text.parse::<u64>().map(Number::from).ok());
    let number = whole.or_else(|| Number::from_f64(text.parse().ok()?));
    number.unwrap_or_else(|| Number::from(0))
}

/// A value as a pass takes it apart: one that was read ([`Raw`]), or a tree of before ([`Value`]).
pub(crate) trait Source: Sized {
    /// The elements of a list.
    type Elements: ExactSizeIterator<Item = Self>;
    /// The fields of an object, also those that are there twice.
    type Fields: Iterator<Item = (String, Self)>;

    fn open(self) -> Opened<Self>;

    /// The value as it is, if no field in it can be there twice.
    fn into_tree(self) -> Result<Value, Self>;
}

/// A value, taken apart by one level.
pub(crate) enum Opened<S: Source> {
    Null,
    Bool(bool),
    Number(Digits),
    String(String),
    List(S::Elements),
    Object(S::Fields),
}

/// A number as it came.
pub(crate) enum Digits {
    Written(String),
    Read(Number),
}

impl<S: Source> Opened<S> {
    /// What Go calls the kind of value in its messages.
    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::List(_) => "array",
            Self::Object(_) => "object",
        }
    }
}

impl Digits {
    /// The number, if it is written as a whole one of 64 bits.
    pub(crate) fn whole(&self) -> Option<i64> {
        match self {
            Self::Written(text) => text.parse().ok(),
            Self::Read(number) => number.as_i64(),
        }
    }

    /// As near to what was written as JSON trees hold.
    pub(crate) fn number(self) -> Number {
        match self {
            Self::Written(text) => number(&text),
            Self::Read(number) => number,
        }
    }

    /// As Go prints a `float64` that holds it: without a point where it is whole.
    pub(crate) fn double(self) -> Number {
        let read = self.number();
        match read.as_f64() {
            Some(double) if read.is_f64() => number(&double.to_string()),
            _ => read,
        }
    }
}

impl std::fmt::Display for Digits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Written(text) => f.write_str(text),
            Self::Read(number) => number.fmt(f),
        }
    }
}

impl Source for Raw {
    type Elements = std::vec::IntoIter<Raw>;
    type Fields = std::vec::IntoIter<(String, Raw)>;

    fn open(self) -> Opened<Self> {
        match self {
            Raw::Null => Opened::Null,
            Raw::Bool(value) => Opened::Bool(value),
            Raw::Number(text) => Opened::Number(Digits::Written(text)),
            Raw::String(text) => Opened::String(text),
            Raw::List(elements) => Opened::List(elements.into_iter()),
            Raw::Object(fields) => Opened::Object(fields.into_iter()),
        }
    }

    fn into_tree(self) -> Result<Value, Self> {
        Err(self)
    }
}

impl Source for Value {
    type Elements = std::vec::IntoIter<Value>;
    type Fields = serde_json::map::IntoIter;

    fn open(self) -> Opened<Self> {
        match self {
            Value::Null => Opened::Null,
            Value::Bool(value) => Opened::Bool(value),
            Value::Number(number) => Opened::Number(Digits::Read(number)),
            Value::String(text) => Opened::String(text),
            Value::Array(elements) => Opened::List(elements.into_iter()),
            Value::Object(fields) => Opened::Object(fields.into_iter()),
        }
    }

    fn into_tree(self) -> Result<Value, Self> {
        Ok(self)
    }
}
