use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use coracle_ambient::Gate;

use crate::in_flight::InFlight;

/// One start of a component. Clones are the same instance.
#[derive(Clone, Default)]
pub struct Instance {
    number: u64,
    has_ended: Arc<AtomicBool>,
    /// Whether the process has ended in which it runs, if it is a part of one.
    process_has_ended: Arc<AtomicBool>,
    /// Whether its tasks may run.
    gate: Gate,
    in_flight: InFlight,
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").field("number", &self.number).field("has_ended", &self.has_ended()).finish()
    }
}

impl Instance {
    /// The instance after this one.
    #[must_use]
    pub fn next(&self) -> Self {
        Self { number: self.number + 1, ..Self::default() }
    }

    /// The same instance, which ends with another one at the latest.
    #[must_use]
    pub fn within(self, process: &Self) -> Self {
        Self { process_has_ended: Arc::clone(&process.has_ended), gate: process.gate.within(), ..self }
    }

    /// How many instances of the component started before.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the component was killed, or has stopped.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed) || self.process_has_ended.load(Ordering::Relaxed)
    }

    /// Stops the instance, as by SIGSTOP: none of its tasks runs until it is [resumed](Self::resume). Requests that it
    /// has sent are carried out. False if it was paused before.
    pub fn pause(&self) -> bool {
        let is_new = self.gate.close();
        if is_new {
            self.in_flight.carry_on();
        }
        is_new
    }

    /// Continues the instance; false if it was not paused.
    pub fn resume(&self) -> bool {
        self.gate.open()
    }

    /// Whether the instance is paused, or the process of which it is a part.
    pub fn is_paused(&self) -> bool {
        !self.gate.is_open()
    }

    /// The gate of its tasks.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Its requests without an answer.
    pub fn in_flight(&self) -> &InFlight {
        &self.in_flight
    }

    /// Marks the instance as ended. Its tasks may be polled once more, and must not send or receive anything then.
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }
}
