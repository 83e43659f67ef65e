use coracle_meta::ObjectKey;
use serde::{Deserialize, Serialize};

/// An [`ObjectKey`] as it is saved.
#[derive(Serialize, Deserialize)]
#[serde(remote = "ObjectKey", deny_unknown_fields)]
struct Key {
    namespace: String,
    name: String,
}

/// A key: its namespace and its name.
pub mod key {
    use coracle_meta::ObjectKey;
    use serde::{Deserializer, Serializer};

    use super::Key;

    /// Writes a key.
    ///
    /// # Errors
    /// The error of the serializer.
    pub fn serialize<S: Serializer>(key: &ObjectKey, serializer: S) -> Result<S::Ok, S::Error> {
        Key::serialize(key, serializer)
    }

    /// Reads a key.
    ///
    /// # Errors
    /// If it is not a namespace and a name.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectKey, D::Error> {
        Key::deserialize(deserializer)
    }
}

/// A time: RFC 3339 with full precision, in the years 1970 to 2999, so that sums with a duration are valid times, too.
pub mod time {
    use coracle_ambient::Timestamp;
    use coracle_meta::parse_time;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// The first second of the year 3000.
    const END: i64 = 32_503_680_000;

    /// Writes a time.
    ///
    /// # Errors
    /// The error of the serializer.
    pub fn serialize<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        time.to_string().serialize(serializer)
    }

    /// Reads a time.
    ///
    /// # Errors
    /// If it is not a time of these years.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_time(&text)
            .filter(|time| (0..END).contains(&time.as_second()))
            .ok_or_else(|| D::Error::custom(format!("{text:?} is no time of the years 1970 to 2999")))
    }
}

/// A time that may be absent.
pub mod maybe_time {
    use coracle_ambient::Timestamp;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    struct Time(#[serde(with = "super::time")] Timestamp);

    /// Writes a time.
    ///
    /// # Errors
    /// The error of the serializer.
    pub fn serialize<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
        time.map(Time).serialize(serializer)
    }

    /// Reads a time.
    ///
    /// # Errors
    /// If it is not a time of these years.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
        Ok(Option::<Time>::deserialize(deserializer)?.map(|Time(time)| time))
    }
}
