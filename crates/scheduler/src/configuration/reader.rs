//! Strict reading: unknown fields and values of wrong types are reported with line and path, all at once.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::document::{Node, Value};

/// The errors in a scheduler configuration, a line each: `FILE:LINE: PATH: WHY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigurationError {
    pub(super) problems: Vec<Problem>,
}

/// One error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) file: String,
    pub(super) line: u64,
    pub(super) path: String,
    pub(super) why: String,
}

impl fmt::Display for ConfigurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().enumerate() {
            let Problem { file, line, path, why } = problem;
            let (between, colon) = (if at > 0 { "\n" } else { "" }, if path.is_empty() { "" } else { ": " });
            write!(f, "{between}{file}:{line}: {path}{colon}{why}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigurationError {}

/// A part of a document, and its path.
#[derive(Clone, Debug)]
pub(super) struct At<'a> {
    pub(super) node: &'a Node,
    pub(super) path: String,
}

/// The fields of an object that are not null.
pub(super) type Fields<'a> = BTreeMap<&'a str, At<'a>>;

impl<'a> At<'a> {
    pub(super) fn root(node: &'a Node) -> Self {
        Self { node, path: String::new() }
    }
}

/// Reads a document, and collects the errors.
pub(super) struct Reader {
    file: String,
    problems: Vec<Problem>,
    notes: Vec<String>,
}

impl Reader {
    pub(super) fn new(file: &str) -> Self {
        Self { file: file.to_owned(), problems: Vec::new(), notes: Vec::new() }
    }

    /// Records an error at a position.
    pub(super) fn refuse(&mut self, at: &At<'_>, why: impl Into<String>) {
        self.refuse_at(at.node.line, at.path.clone(), why);
    }

    pub(super) fn refuse_at(&mut self, line: u64, path: String, why: impl Into<String>) {
        self.problems.push(Problem { file: self.file.clone(), line, path, why: why.into() });
    }

    /// Records an invalid value. In Kubernetes: `field.Invalid`.
    pub(super) fn invalid(&mut self, at: &At<'_>, why: &str) {
        self.refuse(at, format!("Invalid value: {}: {why}", at.node.value));
    }

    /// Records a setting without effect.
    pub(super) fn note(&mut self, at: &At<'_>, why: &str) {
        self.notes.push(format!("{}:{}: {}: {why}", self.file, at.node.line, at.path));
    }

    /// The settings without effect, if there were no errors.
    pub(super) fn finish(mut self) -> Result<Vec<String>, ConfigurationError> {
        if self.problems.is_empty() {
            return Ok(self.notes);
        }
        self.problems.sort_by(|a, b| (a.line, &a.path).cmp(&(b.line, &b.path)));
        Err(ConfigurationError { problems: self.problems })
    }

    /// The fields of an object; all of them must be known.
    pub(super) fn fields<'a>(&mut self, at: &At<'a>, known: &[&str]) -> Fields<'a> {
        let Value::Map(map) = &at.node.value else {
            self.refuse(at, format!("must be an object, got {}", at.node.value));
            return Fields::new();
        };
        let mut fields = Fields::new();
        for (name, node) in map {
            let path = if at.path.is_empty() { name.clone() } else { format!("{}.{name}", at.path) };
            let field = At { node, path };
            if !known.contains(&name.as_str()) {
                self.refuse(&field, "unknown field");
            } else if node.value != Value::Null {
                fields.insert(name, field);
            }
        }
        fields
    }

    /// The elements of a list; empty if it is missing.
    pub(super) fn list<'a>(&mut self, at: Option<&At<'a>>) -> Vec<At<'a>> {
        let Some(at) = at else { return Vec::new() };
        let Value::List(list) = &at.node.value else {
            self.refuse(at, format!("must be a list, got {}", at.node.value));
            return Vec::new();
        };
        let element = |(index, node)| At { node, path: format!("{}[{index}]", at.path) };
        list.iter().enumerate().map(element).collect()
    }

    pub(super) fn text(&mut self, at: Option<&At<'_>>) -> Option<String> {
        let at = at?;
        let Value::Text(text) = &at.node.value else {
            self.refuse(at, format!("must be a string, got {}", at.node.value));
            return None;
        };
        Some(text.clone())
    }

    pub(super) fn integer(&mut self, at: Option<&At<'_>>) -> Option<i64> {
        let at = at?;
        let Value::Integer(value) = &at.node.value else {
            self.refuse(at, format!("must be an integer, got {}", at.node.value));
            return None;
        };
        Some(*value)
    }

    /// An integer from `least` to `most`; `why` is Kubernetes' message for this field.
    pub(super) fn within(&mut self, at: Option<&At<'_>>, least: i64, most: i64, why: &str) -> Option<i64> {
        let value = self.integer(at)?;
        if value < least || value > most {
            self.invalid(at?, why);
            return None;
        }
        Some(value)
    }

    pub(super) fn number(&mut self, at: Option<&At<'_>>) {
        if let Some(at) = at
            && !matches!(at.node.value, Value::Integer(_) | Value::Float(_))
        {
            self.refuse(at, format!("must be a number, got {}", at.node.value));
        }
    }

    pub(super) fn bool(&mut self, at: Option<&At<'_>>) -> Option<bool> {
        let at = at?;
        let Value::Bool(value) = at.node.value else {
            self.refuse(at, format!("must be true or false, got {}", at.node.value));
            return None;
        };
        Some(value)
    }

    pub(super) fn duration(&mut self, at: Option<&At<'_>>) -> Option<Duration> {
        let text = self.text(at)?;
        let parsed = coracle_meta::parse_duration(&text);
        if parsed.is_none() {
            self.invalid(at?, "is not a duration such as 15s or 1m30s");
        }
        parsed
    }
}
