use std::fmt;

use serde::de::{self, Expected, Unexpected};
use serde_saphyr::Location;

/// Why a text is not YAML, or why a node does not have the form of a type, and where that shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedError {
    /// Where it shows: a key that is not known, a value that is not valid.
    pub location: Location,
    /// What is wrong, without the place.
    pub message: String,
    /// Whether a value is the cause, and not the keys of the object that it is in.
    is_of_value: bool,
}

impl PlacedError {
    pub(crate) fn at(location: Location, message: String) -> Self {
        Self { location, message, is_of_value: true }
    }

    /// The error at the place of the value that was read, if a value is the cause and the place is not known yet.
    pub(crate) fn of_value(self, location: Location) -> Self {
        if self.is_of_value { self.within(location) } else { self }
    }

    /// The error at this place, if its place is not known yet.
    pub(crate) fn within(mut self, location: Location) -> Self {
        if self.location == Location::UNKNOWN {
            self.location = location;
        }
        self
    }

    /// An error whose place is the key that was read last.
    fn of_key(message: String) -> Self {
        Self { location: Location::UNKNOWN, message, is_of_value: false }
    }
}

impl fmt::Display for PlacedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PlacedError {}

impl de::Error for PlacedError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { location: Location::UNKNOWN, message: message.to_string(), is_of_value: true }
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::of_key(format!("invalid type: {unexpected}, expected {expected}"))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::of_key(format!("invalid value: {unexpected}, expected {expected}"))
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::of_key(format!("invalid length {length}, expected {expected}"))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::of_key(format!("unknown variant `{variant}`, {}", one_of(expected)))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::of_key(format!("unknown field `{field}`, {}", one_of(expected)))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::of_key(format!("missing field `{field}`"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::of_key(format!("duplicate field `{field}`"))
    }
}

fn one_of(names: &[&str]) -> String {
    match names {
        [] => "there are none".to_owned(),
        [name] => format!("expected `{name}`"),
        names => format!("expected one of {}", names.join(", ")),
    }
}
