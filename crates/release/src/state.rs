use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use crate::data::RELEASES;
use crate::gates::{self, Gate};
use crate::lists::{self, Lists};

/// What the files of a release and of all releases before it say together.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) gates: BTreeMap<&'static str, Gate>,
    pub(crate) behaviours: BTreeSet<&'static str>,
    pub(crate) lists: Lists,
}

/// The state of the release at a place in the list; computed at the first call.
pub(crate) fn state_of(at: usize) -> &'static State {
    static STATES: [OnceLock<State>; RELEASES.len()] = [const { OnceLock::new() }; RELEASES.len()];
    STATES[at].get_or_init(|| read(at).unwrap_or_else(|line| panic!("a test reads the data of all releases: {line}")))
}

/// # Errors
/// The first line that is wrong.
pub(crate) fn read(at: usize) -> Result<State, &'static str> {
    let mut state = State::default();
    for data in &RELEASES[..=at] {
        gates::apply(&mut state.gates, data.gates)?;
        lists::apply(&mut state.lists, data.lists)?;
        let lines = data.behaviours.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        for line in lines {
            match line.strip_prefix('-') {
                Some(name) if state.behaviours.remove(name) => {}
                Some(_) => return Err(line),
                None => drop(state.behaviours.insert(line.split(':').next().unwrap_or(line))),
            }
        }
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_of_all_releases_can_be_read() {
        for at in 0..RELEASES.len() {
            let state = read(at).unwrap_or_else(|line| panic!("{}: {line:?}", RELEASES[at].version));
            assert!(state.gates.len() > 100, "{}", RELEASES[at].version);
            crate::types_text::of(&RELEASES[..=at]).unwrap();
            crate::resources_text::of(&RELEASES[..=at]).unwrap();
        }
    }
}
