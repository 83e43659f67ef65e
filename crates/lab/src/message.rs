use std::time::Duration;

use coracle_meta::parse_duration;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::LabError;

/// The cluster of a message that names none.
const MAIN: &str = "main";

/// A message of the page:
///
/// ```text
/// {"do": VERB, "id"?: anything, "cluster"?: NAME, …the fields of the verb}
/// ```
pub(crate) struct Message {
    pub(crate) verb: String,
    /// Repeated in the answer.
    pub(crate) id: Value,
    /// The name of the cluster that it is about.
    pub(crate) cluster: String,
    fields: Map<String, Value>,
}

impl Message {
    pub(crate) fn parse(text: &str) -> Result<Self, LabError> {
        let malformed = |why: String| LabError::new(format!("the message is no JSON object: {why}"));
        let mut fields: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
        let id = fields.remove("id").unwrap_or_default();
        let mut text = |name: &str| match fields.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(LabError::new(format!("`{name}` of a message is a text, and not {other}"))),
        };
        let (verb, cluster) = (text("do")?, text("cluster")?);
        let verb = verb.ok_or_else(|| LabError::new("a message needs `do`"))?;
        Ok(Self { verb, id, cluster: cluster.unwrap_or_else(|| MAIN.to_owned()), fields })
    }

    /// The fields of the verb.
    pub(crate) fn fields<T: DeserializeOwned>(self) -> Result<T, LabError> {
        let verb = self.verb;
        serde_json::from_value(Value::Object(self.fields)).map_err(|error| LabError::new(format!("{verb}: {error}")))
    }
}

/// No fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// A duration in the format of Go.
pub(crate) fn duration(field: &str, text: &str) -> Result<Duration, LabError> {
    let refused = || LabError::new(format!("{field}: {text:?} is no duration: expected one such as 90s, 1h30m or 24h"));
    parse_duration(text).ok_or_else(refused)
}
