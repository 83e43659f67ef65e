use std::time::Duration;

use serde::Deserialize;

pub(super) fn duration<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    coracle_meta::parse_duration(&text).ok_or_else(|| {
        serde::de::Error::custom(format!("`{text}` is not a duration such as `500ms`, `30s`, `5m` or `1h30m`"))
    })
}

pub(super) fn optional_duration<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    duration(deserializer).map(Some)
}
