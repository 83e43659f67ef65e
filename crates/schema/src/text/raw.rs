use serde_json::{Number, Value};

/// JSON as it was written: fields in order, including duplicate ones.
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
    /// The last field with a name, which is the one that counts.
    pub(crate) fn get(&self, name: &str) -> Option<&Raw> {
        match self {
            Raw::Object(fields) => fields.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Go's name of the type of value in messages.
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

/// The closest number that a JSON tree can represent: an integer if it fits in 64 bits.
pub(crate) fn number(text: &str) -> Number {
    let whole = text.parse::<i64>().map(Number::from).ok().or_else(|| text.parse::<u64>().map(Number::from).ok());
    let number = whole.or_else(|| Number::from_f64(text.parse().ok()?));
    number.unwrap_or_else(|| Number::from(0))
}

/// An input of a pass: a parsed value ([`Raw`]), or an existing tree ([`Value`]).
pub(crate) trait DecodeSource: Sized {
    /// The elements of a list.
    type Elements: ExactSizeIterator<Item = Self>;
    /// The fields of an object, including duplicate ones.
    type Fields: Iterator<Item = (String, Self)>;

    fn open(self) -> Opened<Self>;

    /// The value itself, if it cannot contain duplicate fields.
    fn into_tree(self) -> Result<Value, Self>;
}

/// A value, opened by one level.
pub(crate) enum Opened<S: DecodeSource> {
    Null,
    Bool(bool),
    Number(Digits),
    String(String),
    List(S::Elements),
    Object(S::Fields),
}

/// A number in its original form.
pub(crate) enum Digits {
    Written(String),
    Read(Number),
}

impl<S: DecodeSource> Opened<S> {
    /// Go's name of the type of value in messages.
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
    /// The number, if it is written as an integer of 64 bits.
    pub(crate) fn whole(&self) -> Option<i64> {
        match self {
            Self::Written(text) => text.parse().ok(),
            Self::Read(number) => number.as_i64(),
        }
    }

    /// The closest number that a JSON tree can represent.
    pub(crate) fn number(self) -> Number {
        match self {
            Self::Written(text) => number(&text),
            Self::Read(number) => number,
        }
    }

    /// The number as Go prints a `float64`: without a decimal point if it is an integer.
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

impl DecodeSource for Raw {
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

impl DecodeSource for Value {
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
