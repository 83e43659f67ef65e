use coracle_journal::EntryId;

use crate::wire::Selected;

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
    /// Whether it does not strike again.
    pub has_ended: bool,
}

/// How far a fault came.
#[derive(Clone, Debug)]
pub enum FaultStrike {
    /// It was not started.
    NotStarted,
    /// It waited for the nth of the requests that it selects.
    Waited {
        /// Which request it waited for.
        nth: u64,
        /// The requests that it met.
        met: Selected,
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
            Self::NotStarted | Self::Waited { .. } | Self::Began(_) | Self::Missed { .. } => None,
        }
    }

    /// What was found instead of a strike; `None` if the fault has struck.
    pub fn near_miss(&self) -> Option<String> {
        match self {
            Self::Struck { .. } => None,
            Self::NotStarted => Some("its condition did not come".to_owned()),
            Self::Began(revision) => {
                Some(format!("it began at revision {revision}, and there was no message for it to act on"))
            }
            Self::Missed { revision, part } => Some(format!(
                "it began at revision {revision}, and there was nothing to act on: `{part}` did not run here"
            )),
            Self::Waited { nth, met: Selected { selected, near, nearest } } => {
                let matched = match selected {
                    0 => "no request matched".to_owned(),
                    1 => format!("1 request matched, and it waits for number {nth}"),
                    many => format!("{many} requests matched, and it waits for number {nth}"),
                };
                Some(match nearest {
                    None => matched,
                    Some(last) => format!("{matched}; {near} matched in all fields but one, the last of them: {last}"),
                })
            }
        }
    }
}
