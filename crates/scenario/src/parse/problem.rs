use std::fmt;
use std::path::PathBuf;

/// An error in a scenario file, with its location. Exit code 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1; 0 if the problem has no location.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// The message, with the most similar valid word if there is one.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match self.line {
            0 => write!(f, "{file}: {}", self.message),
            line => write!(f, "{file}:{line}:{}: {}", self.column, self.message),
        }
    }
}

impl std::error::Error for Problem {}
