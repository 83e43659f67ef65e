use std::collections::BTreeMap;
use std::fmt;

use crate::GateStage;

/// A feature gate in one release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Whether it is on unless it is switched.
    pub default: bool,
    /// How far the feature has come.
    pub stage: GateStage,
    /// Whether it cannot be switched.
    pub is_locked: bool,
    /// Whether a former release had it, and this one does not know its name.
    pub is_removed: bool,
}

impl fmt::Display for Gate {
    /// The words of the data: `on beta`, `off ga locked`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, lock) = (if self.default { "on" } else { "off" }, if self.is_locked { " locked" } else { "" });
        write!(f, "{value} {}{lock}", self.stage)
    }
}

/// Applies the lines of one release: `Name on|off STAGE [locked]` for a gate that is new or changed, `-Name` for one that
/// is removed. A removed gate keeps its last value.
pub(crate) fn apply(gates: &mut BTreeMap<&'static str, Gate>, text: &'static str) -> Result<(), &'static str> {
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('-') {
            gates.get_mut(name).ok_or(line)?.is_removed = true;
            continue;
        }
        let mut words = line.split(' ');
        let name = words.next().ok_or(line)?;
        let default = match words.next() {
            Some("on") => true,
            Some("off") => false,
            _ => return Err(line),
        };
        let stage = words.next().and_then(GateStage::of_word).ok_or(line)?;
        let is_locked = words.next() == Some("locked");
        gates.insert(name, Gate { default, stage, is_locked, is_removed: false });
    }
    Ok(())
}
