use std::cell::{Cell, RefCell};

use coracle_scenario::{FaultStatus, RunningFaults};
use coracle_sim::ClockMode;

use crate::pace::Pace;
use crate::rest::{Stillness, Unrest};

/// What follows from the acts of a user, while faults may last.
pub(crate) struct Acts<'t> {
    stillness: Stillness<'t>,
    faults: &'t RunningFaults,
    pace: Pace,
    /// Whether no fault can delay the component.
    is_faultless: bool,
    /// The faults that were ended.
    ended: RefCell<Vec<FaultStatus>>,
    /// Why the cluster did not settle, if no fault is the reason.
    unsettled: RefCell<Option<String>>,
    /// Whether the cluster changes without end, so that the user stops.
    is_endless: Cell<bool>,
}

impl<'t> Acts<'t> {
    pub(crate) fn new(stillness: Stillness<'t>, faults: &'t RunningFaults, pace: Pace, is_faultless: bool) -> Self {
        let (ended, unsettled, is_endless) = (RefCell::default(), RefCell::default(), Cell::default());
        Self { stillness, faults, pace, is_faultless, ended, unsettled, is_endless }
    }

    /// Waits for what follows from an act; false if the user stops then.
    pub(crate) async fn settle(&self) -> bool {
        match self.stillness.rest(self.pace.between).await {
            Ok(()) => {}
            Err(unrest @ Unrest::Endless(_)) if self.is_faultless => self.note(unrest),
            Err(Unrest::Endless(_)) => {
                // The reason may be a fault that lasts. Without it, the user continues.
                self.end_faults();
                let settles = self.stillness.rest(self.pace.at_rest).await.is_ok();
                self.is_endless.set(!settles);
            }
            Err(unrest @ Unrest::Late(_)) if self.is_faultless && self.pace.clock == ClockMode::Virtual => {
                self.note(unrest);
            }
            // While faults last, a cluster that does not settle yet is judged at the end.
            Err(Unrest::Late(_)) => {}
        }
        !self.stops()
    }

    fn note(&self, unrest: Unrest) {
        self.unsettled.borrow_mut().get_or_insert_with(|| unrest.why());
    }

    /// Whether the user does nothing more.
    pub(crate) fn stops(&self) -> bool {
        self.is_endless.get() || self.unsettled.borrow().is_some()
    }

    /// Why the cluster did not settle, if no fault is the reason.
    pub(crate) fn unsettled(&self) -> Option<String> {
        self.unsettled.borrow().clone()
    }

    /// Whether faults can delay the component.
    pub(crate) fn has_faults(&self) -> bool {
        !self.is_faultless
    }

    /// Ends the faults whose effects apply now, whether or not they have struck. Those that still wait may begin later.
    pub(crate) fn end_faults(&self) {
        self.ended.borrow_mut().extend(self.faults.remove(|fault| fault.has_begun));
    }

    /// Prepares the second attempt of an act that has failed: it may have failed because of a fault. False if there is no
    /// reason to try it again.
    pub(crate) async fn tries_again(&self) -> bool {
        if self.is_faultless || self.stops() {
            return false;
        }
        self.end_faults();
        // If it does not settle, the second attempt fails. A request that a fault made slow may still arrive.
        while self.stillness.rest(self.pace.at_rest).await.is_ok() && self.stillness.wire.carries() {}
        true
    }

    /// How the faults went.
    pub(crate) fn into_statuses(self) -> Vec<FaultStatus> {
        let mut statuses = self.ended.into_inner();
        statuses.extend(self.faults.list());
        statuses
    }
}
