use coracle_sim::NotInTime;

use crate::objects::Refusal;
use crate::question::expected_and_found;

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
    let (expected, found) = expected_and_found(answer);
    Stop::NotInTime { expected, found, revision }
}

pub(super) fn refused(error: coracle_cluster::Error) -> Stop {
    Stop::Refused(Refusal::new(error.to_string()))
}
