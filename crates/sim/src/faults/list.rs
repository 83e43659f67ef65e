use super::close::CLOSE;
use super::cut::CUT;
use super::fault_kind::FaultKind;
use super::gone::GONE;
use super::hang::HANG;
use super::lag::LAG;
use super::lose::LOSE;
use super::refuse::REFUSE;
use super::slow::SLOW;
use super::stale::STALE;

/// All kinds of faults.
pub static FAULTS: &[FaultKind] = &[LOSE, SLOW, REFUSE, CUT, STALE, LAG, HANG, CLOSE, GONE];

/// The kind with this word.
pub fn fault_kind(word: &str) -> Option<&'static FaultKind> {
    FAULTS.iter().find(|kind| kind.word == word)
}
