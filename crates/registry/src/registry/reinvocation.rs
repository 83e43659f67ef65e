use std::collections::BTreeSet;

use coracle_meta::Object;

/// The state that the two rounds of mutating plug-ins share: whether there is a second round, and which webhooks of the
/// first round are called again in the second. In Kubernetes: `ReinvocationContext`.
#[derive(Debug, Default)]
pub struct Reinvocation {
    is_second_round: bool,
    is_asked_for: bool,
    /// The webhooks to call again if the object changes after their call.
    eligible: BTreeSet<String>,
    due: BTreeSet<String>,
    last_output: Option<Object>,
}

impl Reinvocation {
    /// Whether this is the second round.
    pub fn is_second_round(&self) -> bool {
        self.is_second_round
    }

    /// Records that `who` was called, and must be called again if the object changes afterwards.
    pub fn add_eligible(&mut self, who: &str) {
        self.eligible.insert(who.to_owned());
    }

    /// Records a change of the object: all eligible webhooks are due, and there will be a second round.
    pub fn object_has_changed(&mut self) {
        self.is_asked_for = true;
        self.make_due();
    }

    /// Whether `who` is called in the second round.
    pub fn is_due(&self, who: &str) -> bool {
        self.due.contains(who)
    }

    /// Begins a turn of the webhooks: a change of the object since their last turn makes all of them due.
    pub fn begin_turn(&mut self, object: Option<&Object>) {
        if self.is_second_round && self.last_output.as_ref() != object {
            self.make_due();
        }
    }

    /// Ends that turn.
    pub fn end_turn(&mut self, object: Option<&Object>) {
        // Compared only in the second round, which takes place only if it was requested.
        if self.is_asked_for && !self.is_second_round {
            self.last_output = object.cloned();
        }
    }

    /// Begins the second round, if it was asked for and has not been.
    pub(crate) fn begin_second_round(&mut self) -> bool {
        let begins = self.is_asked_for && !self.is_second_round;
        self.is_second_round |= begins;
        begins
    }

    fn make_due(&mut self) {
        self.due.append(&mut self.eligible);
    }
}
