use std::sync::Arc;

use coracle_journal::EntryId;

use crate::near_miss;
use crate::wire::{Asked, Selected};

/// Whether a fault has struck.
#[derive(Clone, Debug)]
pub struct FaultVerdict {
    /// The name of the fault.
    pub name: String,
    /// How it went.
    pub strike: FaultStrike,
}

/// How a fault of a cluster that still runs is going.
#[derive(Clone, Debug)]
pub struct FaultProgress {
    /// How far it has come.
    pub verdict: FaultVerdict,
    /// How often it has struck: requests, and watches that it ended. Events that it holds count once.
    pub strikes: u64,
    /// Whether its effect applies now, whether or not it has struck.
    pub has_begun: bool,
    /// Whether it does not strike again.
    pub has_ended: bool,
}

/// How far a fault came.
#[derive(Clone, Debug)]
pub enum FaultStrike {
    /// It was not started, for this reason.
    NotStarted(String),
    /// It waited for the nth of the requests that it selects.
    Waited {
        /// Which request it waited for.
        nth: u64,
        /// The requests that it met.
        met: Selected,
    },
    /// A request was to conflict, and the API server answered with another status code than 409.
    NoConflict {
        /// The request.
        request: Arc<Asked>,
        /// The status code; `None` if there was no answer.
        code: Option<u16>,
    },
    /// It began at this revision, and there was nothing that it could act on.
    Began(i64),
    /// It began, and the part of the cluster did not run.
    Missed {
        /// The revision at which it began.
        revision: i64,
        /// The part: a component, `nodes/NAME` or `store`.
        part: String,
    },
    /// It struck.
    Struck {
        /// The revision at the first strike.
        revision: i64,
        /// The first entry of the log about it.
        entry: Option<EntryId>,
    },
}

impl FaultStrike {
    /// The revision at the first strike; `None` if the fault has not struck.
    pub fn revision(&self) -> Option<i64> {
        match self {
            Self::Struck { revision, .. } => Some(*revision),
            Self::NotStarted(_)
            | Self::NoConflict { .. }
            | Self::Waited { .. }
            | Self::Began(_)
            | Self::Missed { .. } => None,
        }
    }

    /// What was found instead of a strike; `None` if the fault has struck.
    pub fn near_miss(&self) -> Option<String> {
        match self {
            Self::Struck { .. } => None,
            Self::NotStarted(why) => Some(why.clone()),
            Self::Began(revision) => {
                Some(format!("it began at revision {revision}, and there was no message for it to act on"))
            }
            Self::Missed { revision, part } => Some(format!(
                "it began at revision {revision}, and there was nothing to act on: `{part}` did not run here"
            )),
            Self::NoConflict { request, code } => {
                let code = code.map_or_else(|| "no answer".to_owned(), |code| format!("the answer {code}"));
                Some(format!("a request matched, and had {code} instead of 409: {request}"))
            }
            Self::Waited { nth, met } => {
                let Selected { selected, near, nearest, unconditional, last_unconditional } = met;
                let matched = near_miss::matched("request", *selected, *nth);
                let near = nearest.as_ref().map(|last| near_miss::nearly(*near, last));
                let cannot = last_unconditional.as_ref().map(|last| {
                    let why = "matched without a resourceVersion, so they cannot conflict";
                    format!("{unconditional} {why}, the last of them: {last}")
                });
                Some([Some(matched), cannot, near].into_iter().flatten().collect::<Vec<_>>().join("; "))
            }
        }
    }
}
