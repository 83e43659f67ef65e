use super::bookmark_only::BOOKMARK_ONLY;
use super::close::CLOSE;
use super::cut::CUT;
use super::double::DOUBLE;
use super::fault_kind::FaultKind;
use super::gone::GONE;
use super::hang::HANG;
use super::kill::KILL;
use super::lag::LAG;
use super::lose::LOSE;
use super::node::NODE;
use super::pause::PAUSE;
use super::refuse::REFUSE;
use super::skew::SKEW;
use super::slow::SLOW;
use super::stale::STALE;
use super::store::STORE;

/// All kinds of faults.
pub static FAULTS: &[FaultKind] =
    &[LOSE, SLOW, REFUSE, CUT, STALE, LAG, HANG, BOOKMARK_ONLY, CLOSE, GONE, KILL, PAUSE, DOUBLE, SKEW, NODE, STORE];

/// The kind with this word.
pub fn fault_kind(word: &str) -> Option<&'static FaultKind> {
    FAULTS.iter().find(|kind| kind.word == word)
}
