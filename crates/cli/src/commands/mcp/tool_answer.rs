use std::fmt::Display;

use coracle_meta::Status;
use serde_json::Value;

/// What a tool returns.
#[derive(Debug)]
pub(super) enum ToolAnswer {
    /// Text for a reader.
    Text(String),
    /// An object for a program. A reader gets it as text.
    Json(Value),
}

/// Why a tool did not do what it was asked for.
#[derive(Debug)]
pub(super) struct Refusal {
    /// What the caller reads.
    pub(super) message: String,
    /// The answer of the API server, if it refused a request.
    pub(super) status: Option<Value>,
}

impl Refusal {
    /// A refusal with a message of the tool itself.
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: None }
    }

    /// The same refusal; the message begins with what it is about.
    pub(super) fn about(self, what: impl Display) -> Self {
        Self { message: format!("{what}: {}", self.message), ..self }
    }
}

impl From<anyhow::Error> for Refusal {
    fn from(error: anyhow::Error) -> Self {
        Self::new(format!("{error:#}"))
    }
}

impl From<coracle_control::Error> for Refusal {
    fn from(error: coracle_control::Error) -> Self {
        Self::from(Status::from(error))
    }
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        Self { message: status.message.clone(), status: Some(coracle_cluster::status_value(&status)) }
    }
}
