use std::fmt;
use std::path::PathBuf;

/// Why a document is not a valid Stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The line in its text, from 1; 0 if there is no text.
    pub line: u64,
    /// The path in the Stage: `spec.next.patches[0].template`.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

impl std::error::Error for Refusal {}

/// Why a file of Stages is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRefusal {
    /// The file.
    pub file: PathBuf,
    /// What is wrong.
    pub refusal: Refusal,
}

impl fmt::Display for FileRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match self.refusal.line {
            0 => write!(f, "{file}: {}", self.refusal),
            line => write!(f, "{file}:{line}: {}", self.refusal),
        }
    }
}

impl std::error::Error for FileRefusal {}
