use coracle_sim::{InvariantAnswer, NotInTime};

use crate::objects::Refusal;

/// Why a step ended the scenario.
pub(super) enum Stop {
    Refused(Refusal),
    NotInTime {
        expected: String,
        found: String,
        revision: i64,
    },
    /// A condition that had to hold throughout the step did not.
    Lapsed {
        expected: String,
        revision: i64,
    },
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

pub(super) fn late(late: NotInTime) -> Stop {
    let NotInTime { answer, revision } = late;
    match answer {
        InvariantAnswer::Fails { expected, found, .. } => Stop::NotInTime { expected, found, revision },
        InvariantAnswer::Unanswerable(why) => {
            Stop::NotInTime { expected: "an answer".to_owned(), found: why, revision }
        }
        InvariantAnswer::Holds => Stop::NotInTime {
            expected: "not to hold any more".to_owned(),
            found: "it still holds".to_owned(),
            revision,
        },
    }
}

pub(super) fn refused(error: coracle_cluster::Error) -> Stop {
    Stop::Refused(Refusal::new(error.to_string()))
}
