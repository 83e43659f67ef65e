use std::fmt;

/// How far a feature has come. In Kubernetes: `featuregate.prerelease`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateStage {
    /// Off unless it is asked for.
    Alpha,
    /// Complete, and may change.
    Beta,
    /// Generally available.
    Stable,
    /// It will be removed.
    Deprecated,
}

impl GateStage {
    /// All stages, with their words in the data.
    const WORDS: [(Self, &'static str); 4] =
        [(Self::Alpha, "alpha"), (Self::Beta, "beta"), (Self::Stable, "ga"), (Self::Deprecated, "deprecated")];

    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, own)| *own == word).map(|(stage, _)| *stage)
    }
}

impl fmt::Display for GateStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Self::WORDS.iter().find(|(stage, _)| stage == self).map_or("", |(_, word)| word);
        f.write_str(word)
    }
}
