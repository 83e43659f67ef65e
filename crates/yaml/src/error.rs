use std::fmt;

/// What is wrong at one place of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlError {
    /// The line, from 1; 0 if there is no text.
    pub line: u64,
    /// The path in the document: `spec.next.patches[0].template`; empty for its root.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

impl std::error::Error for YamlError {}

/// What is wrong in a file, a line each: `FILE:LINE: PATH: MESSAGE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidFile {
    /// The file.
    pub file: String,
    /// The errors, by line.
    pub errors: Vec<YamlError>,
}

impl InvalidFile {
    /// A file with one error.
    pub fn new(file: impl Into<String>, error: YamlError) -> Self {
        Self { file: file.into(), errors: vec![error] }
    }
}

impl fmt::Display for InvalidFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.errors.iter().enumerate() {
            f.write_str(if at > 0 { "\n" } else { "" })?;
            match error.line {
                0 => write!(f, "{}: {error}", self.file)?,
                line => write!(f, "{}:{line}: {error}", self.file)?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for InvalidFile {}
