use std::time::Duration;

use coracle_sim::{InvariantVerdict, NotInTime, Polarity, World};
use serde::{Deserialize, Serialize};

use crate::question::expected_and_found;
use crate::workload::Workload;

/// A claim about a running cluster, and whether it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimVerdict {
    /// Its sentence.
    pub name: String,
    /// Whether it holds.
    pub holds: bool,
    /// What was expected; empty if it holds.
    pub expected: String,
    /// What was found; empty if it holds.
    pub found: String,
    /// The revision at which it was decided: the newest, or the first at which it did not hold.
    pub revision: i64,
}

impl Workload {
    /// Decides now what has to hold at rest, and what had to hold at every revision so far. `world` has the invariants
    /// of [`throughout`](Self::throughout).
    pub async fn claims(&self, world: &World) -> Vec<ClaimVerdict> {
        let mut claims = Vec::new();
        for (name, question) in self.at_rest() {
            claims.push(match world.until(&question, Polarity::Always, Duration::ZERO).await {
                Ok(held) => held_at(name, held.revision),
                Err(NotInTime { answer, revision }) => {
                    let (expected, found) = expected_and_found(answer);
                    ClaimVerdict { name, holds: false, expected, found, revision }
                }
            });
        }
        let revision = world.revision();
        let verdict = |InvariantVerdict { name, broken, .. }: InvariantVerdict| match broken {
            None => held_at(name, revision),
            Some(broken) => {
                let (expected, found, revision) = (broken.expected, broken.found, broken.revision);
                ClaimVerdict { name, holds: false, expected, found, revision }
            }
        };
        claims.extend(world.verdicts().into_iter().map(verdict));
        claims
    }
}

fn held_at(name: String, revision: i64) -> ClaimVerdict {
    ClaimVerdict { name, holds: true, expected: String::new(), found: String::new(), revision }
}
