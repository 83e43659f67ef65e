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
    /// The audit id of the write of [another writer](super::Effect::Conflict), at [`Moment::Arrived`].
    pub other_write: Option<&'a str>,
    /// The status code of the answer, from [`Moment::Landed`] on; `None` if there is no answer.
    pub code: Option<u16>,
}

impl Strike<'_> {
    /// A strike without what is known of some only.
    pub(super) fn new(rule: RuleId, moment: Moment, asked: &Arc<Asked>) -> Self {
        Self { rule, moment, asked: Arc::clone(asked), audit_id: None, other_write: None, code: None }
    }
}

/// The moments at which a rule strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The request is sent.
    Sent,
    /// The request has arrived at the API server, and another writer is about to change its object. This comes only for
    /// requests that a rule lets conflict.
    Arrived,
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
