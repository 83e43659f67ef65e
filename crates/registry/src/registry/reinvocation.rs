use std::collections::BTreeSet;

use coracle_meta::Object;

/// What the two rounds of the plug-ins that mutate know of each other: who asks for the second round, and which of the
/// programs that were called in the first are called again. In Kubernetes: `ReinvocationContext`.
#[derive(Debug, Default)]
pub struct Reinvocation {
    is_second_round: bool,
    is_asked_for: bool,
    /// Those that want to be called again if anything changes after them.
    eligible: BTreeSet<String>,
    due: BTreeSet<String>,
    last_output: Option<Object>,
}

impl Reinvocation {
    /// Whether all plug-ins are asked for the second time.
    pub fn is_second_round(&self) -> bool {
        self.is_second_round
    }

    /// Remembers that `who` was called, and wants to be called again if anything changes after it.
    pub fn add_eligible(&mut self, who: &str) {
        self.eligible.insert(who.to_owned());
    }

    /// Somebody changed the object: all who were called before are due, and there will be a second round.
    pub fn object_has_changed(&mut self) {
        self.is_asked_for = true;
        self.make_due();
    }

    /// Whether `who` is called in the second round.
    pub fn is_due(&self, who: &str) -> bool {
        self.due.contains(who)
    }

    /// Begins a turn of those who are called: what has changed since their last one makes all of them due.
    pub fn begin_turn(&mut self, object: Option<&Object>) {
        if self.is_second_round && self.last_output.as_ref() != object {
            self.make_due();
        }
    }

    /// Ends that turn.
    pub fn end_turn(&mut self, object: Option<&Object>) {
        // Compared in the second round alone, which comes only if it was asked for.
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
