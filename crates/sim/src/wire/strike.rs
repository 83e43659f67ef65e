use std::sync::Arc;

use super::asked::Asked;
use super::rule::RuleId;

/// A rule with [turns](super::Turns) that strikes a request or a watch.
#[derive(Clone, Debug)]
pub struct Strike<'a> {
    /// The rule.
    pub rule: RuleId,
    /// When.
    pub moment: Moment,
    /// The request, or the request that opened the watch.
    pub asked: Arc<Asked>,
    /// The audit id of the request, by which the event log knows its cause.
    pub audit_id: Option<&'a str>,
}

/// The moments at which a rule strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The request is sent.
    Sent,
    /// The API server has answered the request, and the answer is not delivered yet. This comes also if the sender is
    /// gone.
    Landed,
    /// The sender gets the answer.
    Answered,
    /// An event of a watch waits. This is reported more than once.
    Held,
    /// A watch ends.
    Ended,
}

/// Is called for each [`Strike`], and may change the rules of the wire.
pub type Observer = Arc<dyn Fn(&Strike<'_>) + Send + Sync>;
