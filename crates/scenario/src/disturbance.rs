use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use coracle_cluster::LeaderTimings;

use crate::file::Fault;
use crate::parse::yaml;

/// How fast one of two controller-managers takes over from the other: faster than in a real cluster, so that scenarios
/// do not run into timeouts only for this reason.
const TIMINGS: LeaderTimings = LeaderTimings {
    lease: Duration::from_secs(3),
    renew_deadline: Duration::from_secs(2),
    retry: Duration::from_millis(500),
};

/// A disturbance of the controllers while a scenario runs: a short word for faults of `docs/faults.md`. Controllers are
/// level-triggered, so it must not change how the scenario ends.
///
/// ```
/// use coracle_scenario::Disturbance;
///
/// assert_eq!("kill@40".parse(), Ok(Disturbance::Kill { at: 40 }));
/// assert!("trip@40".parse::<Disturbance>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// The controllers are killed and restarted immediately, this many revisions after the cluster is ready: `kill@40`.
    Kill {
        /// After how many revisions.
        at: i64,
    },
    /// The controllers are stopped as by SIGSTOP, and continue three seconds later: `pause@40`.
    Pause {
        /// After how many revisions.
        at: i64,
    },
    /// There are two controller-managers, and the first is killed and not restarted: `double@40`.
    Double {
        /// After how many revisions.
        at: i64,
    },
    /// Every watch event is delivered a second late: `late`.
    Late,
}

/// The text is not a disturbance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a disturbance such as kill@40, pause@40, double@40 or late")]
pub struct NotADisturbance(String);

impl FromStr for Disturbance {
    type Err = NotADisturbance;

    fn from_str(text: &str) -> Result<Self, NotADisturbance> {
        let wrong = || NotADisturbance(text.to_owned());
        if text == "late" {
            return Ok(Self::Late);
        }
        let (word, at) = text.split_once('@').ok_or_else(wrong)?;
        let at = at.parse().ok().filter(|at| *at >= 0).ok_or_else(wrong)?;
        match word {
            "kill" => Ok(Self::Kill { at }),
            "pause" => Ok(Self::Pause { at }),
            "double" => Ok(Self::Double { at }),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill { at } => write!(f, "kill@{at}"),
            Self::Pause { at } => write!(f, "pause@{at}"),
            Self::Double { at } => write!(f, "double@{at}"),
            Self::Late => f.write_str("late"),
        }
    }
}

impl Disturbance {
    /// The faults that it stands for.
    pub(crate) fn faults(self) -> Vec<Fault> {
        yaml(Path::new("--disturb"), &self.text()).expect("the text of each disturbance is a list of faults")
    }

    /// The faults that it stands for, as in a file.
    fn text(self) -> String {
        let at_revision = |at: i64, word: &str, more: &str| {
            let when = if at == 0 { String::new() } else { format!("when: {{revisions: {at}}}, ") };
            format!("- {{name: {self}, {when}do: {{{word}: controller-manager}}{more}}}\n")
        };
        match self {
            Self::Kill { at } => at_revision(at, "kill", ""),
            Self::Pause { at } => at_revision(at, "pause", ", for: 3s"),
            // Ten years last until the end of the run.
            Self::Double { at } => {
                let kill = at_revision(at, "kill", ", for: 87600h");
                format!("- do: {{double: controller-manager}}\n{kill}")
            }
            Self::Late => format!("- {{name: {self}, do: {{lag: 1s}}}}\n"),
        }
    }

    /// The leader election of the controller-manager, if it takes part in one.
    pub(crate) fn election(self) -> Option<LeaderTimings> {
        matches!(self, Self::Double { .. }).then_some(TIMINGS)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::fault_list::{FaultContext, parse_faults};
    use crate::faulty_server::FaultyServer;

    #[test]
    fn each_disturbance_is_valid_in_the_list_of_faults() {
        for word in ["kill@0", "kill@40", "pause@40", "double@0", "double@40", "late", "kill@9223372036854775807"] {
            let disturbance: Disturbance = word.parse().unwrap();
            let (path, text) = (Path::new("disturbance.yaml"), disturbance.text());
            let context = FaultContext::of(FaultyServer::CLUSTER);
            let checked = parse_faults(path, &text).and_then(|all| all.checked(path, &text, context));
            let named = |fault: &Fault| fault.name.as_ref().is_some_and(|name| name.value == word);
            assert!(checked.unwrap().faults.iter().any(named), "{text}");
            assert_eq!(disturbance.faults().len(), text.lines().count());
        }
    }
}
