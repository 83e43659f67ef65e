use serde_json::{Value, json};

use crate::error::LabError;

/// What a message is answered with.
pub(crate) struct LabAnswer {
    pub(crate) result: Value,
    /// Text that is not JSON, or too large to be parsed twice: lines of an events file, or the data of a page.
    pub(crate) payload: Vec<u8>,
}

impl From<Value> for LabAnswer {
    fn from(result: Value) -> Self {
        Self { result, payload: Vec::new() }
    }
}

/// The answer as bytes: one line of JSON, and then the payload. `id` is that of the message.
pub(crate) fn bytes(id: &Value, answer: Result<LabAnswer, LabError>) -> Vec<u8> {
    let (mut line, payload) = match answer {
        Ok(LabAnswer { result, payload }) => (json!({"result": result}), payload),
        Err(error) => (json!({"error": error.to_json()}), Vec::new()),
    };
    if !id.is_null() {
        line["id"] = id.clone();
    }
    let mut bytes = line.to_string().into_bytes();
    bytes.push(b'\n');
    bytes.extend(payload);
    bytes
}
