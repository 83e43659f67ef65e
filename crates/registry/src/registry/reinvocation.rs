use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::Object;

/// The state that the two rounds of mutating plug-ins share: whether there is a second round, and which webhooks and
/// policies of the first round are called again in the second. In Kubernetes: `ReinvocationContext`.
#[derive(Debug, Default)]
pub struct Reinvocation {
    is_second_round: bool,
    is_asked_for: bool,
    /// The state of each plug-in that calls others, by its name.
    turns: BTreeMap<&'static str, Turn>,
}

/// The state of one plug-in. In Kubernetes: `webhookReinvokeContext` and `policyReinvokeContext`.
#[derive(Debug, Default)]
struct Turn {
    /// The webhooks or policies to call again if the object changes after their call.
    eligible: BTreeSet<String>,
    due: BTreeSet<String>,
    last_output: Option<Object>,
}

impl Reinvocation {
    /// Whether this is the second round.
    pub fn is_second_round(&self) -> bool {
        self.is_second_round
    }

    /// Records that `plugin` has called `who`, which must be called again if the object changes afterwards.
    pub fn add_eligible(&mut self, plugin: &'static str, who: &str) {
        self.turns.entry(plugin).or_default().eligible.insert(who.to_owned());
    }

    /// Records a change of the object by `plugin`: all its eligible ones are due, and there will be a second round.
    pub fn object_has_changed(&mut self, plugin: &'static str) {
        self.is_asked_for = true;
        self.turns.entry(plugin).or_default().make_due();
    }

    /// Whether `plugin` calls `who` in the second round.
    pub fn is_due(&self, plugin: &'static str, who: &str) -> bool {
        self.turns.get(plugin).is_some_and(|turn| turn.due.contains(who))
    }

    /// Begins a turn of a plug-in: a change of the object since its last turn makes all of its eligible ones due.
    pub(super) fn begin_turn(&mut self, plugin: &'static str, object: Option<&Object>) {
        if self.is_second_round
            && let Some(turn) = self.turns.get_mut(plugin)
            && turn.last_output.as_ref() != object
        {
            turn.make_due();
        }
    }

    /// Ends that turn.
    pub(super) fn end_turn(&mut self, plugin: &'static str, object: Option<&Object>) {
        // Compared only in the second round, for those that are not due anyway.
        if !self.is_second_round
            && let Some(turn) = self.turns.get_mut(plugin)
            && !turn.eligible.is_empty()
        {
            turn.last_output = object.cloned();
        }
    }

    /// Begins the second round, if it was asked for and has not been.
    pub(crate) fn begin_second_round(&mut self) -> bool {
        let begins = self.is_asked_for && !self.is_second_round;
        self.is_second_round |= begins;
        begins
    }
}

impl Turn {
    fn make_due(&mut self) {
        self.due.append(&mut self.eligible);
    }
}
