use std::num::NonZeroUsize;

use serde::{Deserialize, Deserializer};

/// A number that is at least one.
pub(super) fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NonZeroUsize, D::Error> {
    let said = i64::deserialize(deserializer)?;
    let number = usize::try_from(said).ok().and_then(NonZeroUsize::new);
    number.ok_or_else(|| serde::de::Error::custom(format!("expected a number of at least 1, found {said}")))
}

pub(super) fn optional_positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    positive(deserializer).map(|number| Some(number.get()))
}
