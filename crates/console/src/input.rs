//! What a command reads.

use std::collections::BTreeMap;

/// What a command can read besides its line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// The files in memory, by their names.
    pub files: BTreeMap<String, String>,
    /// The standard input, which `-f -` reads.
    pub stdin: String,
}

impl Input {
    /// The input with one more file.
    #[must_use]
    pub fn with_file(mut self, name: &str, content: &str) -> Self {
        self.files.insert(name.to_owned(), content.to_owned());
        self
    }

    /// The input with this standard input.
    #[must_use]
    pub fn with_stdin(mut self, stdin: &str) -> Self {
        stdin.clone_into(&mut self.stdin);
        self
    }
}
