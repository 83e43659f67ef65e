//! The wire between the API server and all that send requests to it. It can delay, lose, hold and end what passes.
//!
//! ```text
//! component, node, user, other process
//!    |  request                                             rules: Vec<Rule { selector, effect }>
//!    v                                                             |
//!  Asked (who, verb, resource, name, version) --------> rules.passage(asked) -> Passage { there, back, loss, .. }
//!    |                                                                 (pure)
//!    v
//!  wait `there` --> InFlight(transport.send) --> wait `back` --> answer
//!                     \-- its sender is gone: a task of the wire lands it
//!
//!  answer of a watch: Body + Offer::Events, both behind a Held
//!    upstream --(arrived at)--> queue --> rules.delivery(asked, arrival) -> At(instant) | NotYet --> reader
//!                                                          (pure)
//!    upstream is read directly while no rule holds the watch back, and else by a Pump, which notes when each event
//!    arrived: an event arrives when it is committed, however slow its reader is.
//! ```
//!
//! Start at [`Wire`]: `Wire::layer` gives the layer for `Builder::transport_layer_for_all`. [`Rules`](rules::Rules)
//! makes all decisions: they follow from a request or an event, the rules and the time alone, so that they are tested
//! without a cluster. The other files have the effects, and decide nothing.
//!
//! | to | see |
//! |---|---|
//! | add an effect on requests | [`Effect`], `Rules::passage`, `carry` |
//! | add an effect on watches | [`Effect`], `Rules::delivery`, `Held` |
//! | select requests in another way | [`Selector`], [`Asked`] |
//! | know what a component knows of an object | [`Wire::keeping_sent`], `noted` |
//! | select requests by their number | [`Turns`], `Rules::count` |
//! | know when a rule strikes | [`Wire::observe`], [`Strike`] |
//!
//! Rules about the wire:
//! - An offer of decoded objects is wrapped and passed on. An idle cluster stays idle.
//! - The events of a watch stay in order. Bookmarks and progress wait behind the events before them.
//! - A request that was sent lands, although its sender was killed or gave up. A killed instance sends and receives
//!   nothing more: its futures never resolve.
//! - A rule that is removed frees what it holds at once.
//! - A rule with [`Turns`] counts the requests that it selects, when they are sent. Other rules count nothing.
//! - No bookmark is newer than an event that its reader does not have, because a client resumes after a bookmark.
//! - A conflict is a real write of another writer, so that the API server itself answers 409.
//! - A stale component is a revision, not a second server: its reads carry `AsOf`, and its watches hold what is newer.
//!
//! Not here: which faults there are, when they begin and end, and their names in files (`faults`); the meaning of
//! `AsOf` (`registry`).

mod asked;
mod body;
mod carry;
mod effect;
mod held;
mod in_flight;
mod line;
mod noted;
mod other_writer;
mod protobuf;
mod pump;
mod refusal;
mod rule;
mod rules;
mod sent;
mod state;
mod strike;
mod upstream;
mod watch;
mod watermark;
#[expect(clippy::module_inception, reason = "the noun of this folder")]
mod wire;

pub use asked::Asked;
pub use effect::{Effect, Leg};
pub(crate) use other_writer::CONFLICT;
pub use rule::{Rule, RuleId, Selector, Senders, Turns};
pub use rules::Selected;
pub use sent::LastSent;
pub use strike::{Moment, Observer, Strike};
pub use wire::Wire;
