use std::cell::Cell;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use coracle_cluster::{Cluster, Component, LeaderTimings};
use coracle_journal::{Detail, Recorder, Stage};
use coracle_sim::{ClusterState, Effect, InvariantAnswer, Rule, Senders, World};

/// How long the controllers pause.
const PAUSE: Duration = Duration::from_secs(3);
/// How late watch events are delivered.
const LATE: Duration = Duration::from_secs(1);
/// How fast one of two controller-managers takes over from the other: faster than in a real cluster, so that scenarios
/// do not run into timeouts only for this reason.
const TIMINGS: LeaderTimings = LeaderTimings {
    lease: Duration::from_secs(3),
    renew_deadline: Duration::from_secs(2),
    retry: Duration::from_millis(500),
};
/// Effectively unlimited: a moment that never comes is awaited until the scenario ends.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// A disturbance of the controllers while a scenario runs. Controllers are level-triggered, so it must not change how
/// the scenario ends.
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
    /// The controllers stop gracefully, and restart three seconds later: `pause@40`.
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

/// Whether a disturbance has taken place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Strike {
    /// It waits until the cluster is ready.
    #[default]
    NotYet,
    /// It waits for this revision.
    At(i64),
    /// It took place at this revision.
    Struck(i64),
    /// The controllers were not running at this revision: the scenario itself had stopped them.
    Missed(i64),
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
    /// The rule of the wire that applies from the beginning, if there is one.
    pub(crate) fn rule(self) -> Option<Rule> {
        (self == Self::Late).then(|| Rule::from(Senders::Components, Effect::Lag(LATE)))
    }

    /// Records a disturbance that applies from the beginning; for the others, the components record that they stop and
    /// start.
    pub(crate) fn announce(self, recorder: &Recorder) {
        if self == Self::Late {
            recorder.record("apiserver", Stage::FaultOn, || Detail::about("watches").with("fault", self.to_string()));
        }
    }

    /// The leader election of the controller-manager, if it takes part in one.
    pub(crate) fn election(self) -> Option<LeaderTimings> {
        matches!(self, Self::Double { .. }).then_some(TIMINGS)
    }

    /// Disturbs the cluster at the right moment, and records the result in `strike`.
    pub(crate) async fn act(self, cluster: &Cluster, world: &World, strike: &Cell<Strike>) {
        let (Self::Kill { at } | Self::Pause { at } | Self::Double { at }) = self else {
            strike.set(Strike::Struck(world.revision()));
            return;
        };
        if matches!(self, Self::Double { .. }) {
            cluster.add_controller_manager("second");
        }
        let moment = world.revision() + at;
        strike.set(Strike::At(moment));
        let is_reached = move |cluster: &ClusterState| {
            if cluster.revision() >= moment { Ok(()) } else { Err(InvariantAnswer::Unanswerable(String::new())) }
        };
        let Ok(reached) = world.until_seen(FOREVER, is_reached).await else { return };
        // If the scenario itself has stopped the controllers, there is nothing to disturb, and nothing would restart
        // them.
        if !cluster.runs(Component::ControllerManager) {
            strike.set(Strike::Missed(reached.revision));
            return;
        }
        strike.set(Strike::Struck(reached.revision));
        match self {
            Self::Kill { .. } => {
                cluster.kill_component(Component::ControllerManager);
                cluster.start_component(Component::ControllerManager);
            }
            Self::Pause { .. } => {
                cluster.stop_component(Component::ControllerManager).await;
                tokio::time::sleep(PAUSE).await;
                cluster.start_component(Component::ControllerManager);
            }
            Self::Double { .. } => {
                cluster.kill_component(Component::ControllerManager);
            }
            Self::Late => {}
        }
    }
}
