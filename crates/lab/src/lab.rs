use serde_json::json;

use crate::answer::{self, LabAnswer};
use crate::clusters::Clusters;
use crate::console::Console;
use crate::error::LabError;
use crate::message::Message;
use crate::{apply, clock, console_line, exercises, faults, forks, lessons, log, open, request, runs, steps, what_if};

/// How a verb is answered.
type Verb = fn(&mut Clusters, Message) -> Result<LabAnswer, LabError>;

/// The verbs of messages, one line each.
const VERBS: &[(&str, Verb)] = &[
    ("open", open::open),
    ("close", open::close),
    ("state", open::state),
    ("advance", clock::advance),
    ("next", clock::next),
    ("settle", clock::settle),
    ("request", request::answer),
    ("apply", apply::answer),
    ("console", console_line::answer),
    ("begin", steps::begin),
    ("step", steps::step),
    ("faults", faults::list),
    ("fault", faults::add),
    ("heal", faults::remove),
    ("verdict", exercises::verdict),
    ("snapshot", forks::snapshot),
    ("fork", forks::fork),
    ("hello", log::hello),
    ("entries", log::entries),
    ("run", runs::run),
    ("whatIf", what_if::answer),
    ("lesson", lessons::lesson),
    ("list", lessons::list),
];

/// The clusters of a page, and the messages about them. A message is answered when its work is done.
///
/// ```
/// let mut lab = coracle_lab::Lab::default();
/// let opened = lab.call(r#"{"do": "open", "nodes": 1, "seed": 7}"#);
/// assert!(opened.starts_with(br#"{"result":{"#));
/// let nodes = lab.call(r#"{"do": "request", "path": "/api/v1/nodes/node-1"}"#);
/// assert!(nodes.starts_with(br#"{"result":{"body":{"apiVersion":"v1","kind":"Node","#));
/// ```
#[derive(Default)]
pub struct Lab {
    clusters: Clusters,
}

impl std::fmt::Debug for Lab {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lab").field("clusters", &self.clusters.open.keys()).finish_non_exhaustive()
    }
}

impl Lab {
    /// The same lab with this console.
    #[must_use]
    pub fn with_console(mut self, console: impl Console + 'static) -> Self {
        self.clusters.console = Some(Box::new(console));
        self
    }

    /// Answers a message: one line of JSON, `{"result": …}` or `{"error": {"message": …, "line"?: …, "status"?: …}}`
    /// with the `id` of the message, and then the payload of the verb, which may be empty.
    pub fn call(&mut self, message: &str) -> Vec<u8> {
        match Message::parse(message) {
            Ok(message) => answer::bytes(&message.id.clone(), self.answer(message)),
            Err(error) => answer::bytes(&json!(null), Err(error)),
        }
    }

    fn answer(&mut self, message: Message) -> Result<LabAnswer, LabError> {
        match VERBS.iter().find(|(verb, _)| *verb == message.verb) {
            Some((_, answer)) => answer(&mut self.clusters, message),
            None => Err(LabError::unknown("message", &message.verb, VERBS.iter().map(|(verb, _)| *verb))),
        }
    }
}
