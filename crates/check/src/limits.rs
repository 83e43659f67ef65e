use std::collections::BTreeSet;

use coracle_scenario::parse::unknown_word;
use coracle_sim::checks::{CHECKS, Check, Finding, Run, findings};

use crate::Error;
use crate::candidates::FAULTS;
use crate::plan::Plan;

/// What a search may use.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// The first seed.
    pub(crate) seed: u64,
    /// How many plans are tried.
    pub(crate) plans: usize,
    /// The number of the first of them.
    pub(crate) from: usize,
    /// How many threads run them.
    pub(crate) jobs: usize,
    /// Whether only plans that were found before are tried.
    pub(crate) known_only: bool,
    /// Whether the search ends with the first plan that fails a check.
    pub(crate) first_only: bool,
    /// The words of the checks that count; `None` for all.
    pub(crate) only: Option<BTreeSet<String>>,
    /// The words of the faults that are tried; `None` for all.
    pub(crate) faults: Option<BTreeSet<String>>,
}

impl Limits {
    fn counts(&self, check: &Check) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(check.word))
    }

    /// The checks that count.
    pub(crate) fn checks(&self) -> Vec<&'static Check> {
        CHECKS.into_iter().filter(|check| self.counts(check)).collect()
    }

    /// What they find in a run.
    pub(crate) fn findings(&self, run: &Run, faultless: &[Run]) -> Vec<Finding> {
        let mut found = findings(run, faultless);
        found.retain(|finding| self.counts(finding.check));
        found
    }

    /// Whether all faults of a candidate are tried.
    pub(crate) fn permits(&self, plan: &Plan) -> bool {
        let Some(faults) = &self.faults else { return !self.known_only };
        plan.words().all(|word| faults.contains(word))
    }
}

/// The words of checks.
///
/// # Errors
/// If a word is no check, with the nearest one.
pub(crate) fn checks(words: &[String]) -> Result<BTreeSet<String>, Error> {
    known(words, &CHECKS.map(|check| check.word), "check")
}

/// The words of faults that a search tries.
///
/// # Errors
/// If a word is not one of these, with the nearest one.
pub(crate) fn faults(words: &[String]) -> Result<BTreeSet<String>, Error> {
    known(words, &FAULTS, "fault of a search")
}

fn known(words: &[String], valid: &[&str], what: &str) -> Result<BTreeSet<String>, Error> {
    match words.iter().find_map(|word| unknown_word(word, valid, what)) {
        Some(why) => Err(Error::Input(why)),
        None => Ok(words.iter().cloned().collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_word_is_refused_with_the_nearest_one() {
        let words = |word: &str| vec![word.to_owned()];
        let why = checks(&words("leave-behind")).unwrap_err().to_string();
        assert!(
            why.starts_with("unknown check `leave-behind`") && why.ends_with("did you mean `leaves-behind`?"),
            "{why}"
        );
        let why = faults(&words("kil")).unwrap_err().to_string();
        assert!(why.ends_with("did you mean `kill`?"), "{why}");
        assert_eq!(faults(&words("lose")).unwrap(), BTreeSet::from(["lose".to_owned()]));
    }
}
