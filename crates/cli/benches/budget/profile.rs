use std::collections::BTreeSet;
use std::path::Path;

/// The function that polls a task of the runtime: one for each type of task.
const POLL: &str = "tokio::runtime::task::raw::poll";

/// What callgrind counted.
pub(crate) struct Profile {
    pub(crate) instructions: u64,
    pub(crate) polls: u64,
}

impl Profile {
    /// Reads a file that callgrind wrote.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let text = String::from_utf8_lossy(&text);
        let total = text.lines().rev().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok());
        let instructions = total.ok_or_else(|| format!("{}: no totals", path.display()))?;
        Ok(Self { instructions, polls: polls(&text) })
    }
}

/// The number of calls of [`POLL`]. The file names a function once, and has its number afterwards.
fn polls(text: &str) -> u64 {
    let mut numbers = BTreeSet::new();
    let mut is_called = false;
    let mut calls = 0;
    for line in text.lines() {
        if let Some(called) = line.strip_prefix("cfn=").or_else(|| line.strip_prefix("fn=")) {
            let (number, name) = called.split_once(' ').unwrap_or((called, ""));
            if name.starts_with(POLL) {
                numbers.insert(number);
            }
            is_called = line.starts_with('c') && numbers.contains(number);
        } else if let Some(count) = line.strip_prefix("calls=").filter(|_| is_called) {
            calls += count.split(' ').next().and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    calls
}
