use std::collections::BTreeMap;
use std::time::Duration;

use crate::at::At;
use crate::error::{InvalidFile, YamlError};

/// The fields of an object that exist and are not null.
pub type KnownFields<'a> = BTreeMap<&'a str, At<'a>>;

/// Reads a document, and collects its errors.
///
/// ```
/// use coracle_yaml::{At, StrictReader, YamlNode};
///
/// let document = YamlNode::parse("nmae: web\nport: eighty\n").unwrap();
/// let mut reader = StrictReader::new("f.yaml");
/// let fields = reader.fields(&At::root(&document), &["name", "port"]);
/// assert_eq!(reader.integer(fields.get("port")), None);
/// assert_eq!(
///     reader.finish().unwrap_err().to_string(),
///     "f.yaml:1: nmae: unknown field\nf.yaml:2: port: must be an integer, got \"eighty\""
/// );
/// ```
#[derive(Debug)]
pub struct StrictReader {
    file: String,
    errors: Vec<YamlError>,
    notes: Vec<String>,
}

impl StrictReader {
    /// A reader of the file with this name.
    pub fn new(file: impl Into<String>) -> Self {
        Self { file: file.into(), errors: Vec::new(), notes: Vec::new() }
    }

    /// Records an error.
    pub fn refuse(&mut self, at: &At<'_>, message: impl Into<String>) {
        self.errors.push(at.error(message));
    }

    /// Records an invalid value. In Kubernetes: `field.Invalid`.
    pub fn invalid(&mut self, at: &At<'_>, why: &str) {
        self.refuse(at, format!("Invalid value: {}: {why}", at.node));
    }

    /// Records a setting without effect.
    pub fn note(&mut self, at: &At<'_>, why: &str) {
        self.notes.push(format!("{}:{}: {}: {why}", self.file, at.line, at.path));
    }

    /// The settings without effect.
    ///
    /// # Errors
    /// All errors that were recorded.
    pub fn finish(mut self) -> Result<Vec<String>, InvalidFile> {
        if self.errors.is_empty() {
            return Ok(self.notes);
        }
        self.errors.sort_by(|a, b| (a.line, &a.path).cmp(&(b.line, &b.path)));
        Err(InvalidFile { file: self.file, errors: self.errors })
    }

    fn recorded<T>(&mut self, read: Result<T, YamlError>) -> Option<T> {
        read.map_err(|error| self.errors.push(error)).ok()
    }

    /// The fields of an object; records those that are not known.
    pub fn fields<'a>(&mut self, at: &At<'a>, known: &[&str]) -> KnownFields<'a> {
        let mut fields = KnownFields::new();
        for field in self.recorded(at.object()).unwrap_or_default() {
            if !known.contains(&field.name.as_str()) {
                self.refuse(&at.field(field), "unknown field");
            } else if !field.node.is_null() {
                fields.insert(&field.name, at.field(field));
            }
        }
        fields
    }

    /// The items of a list; empty if it does not exist.
    pub fn list<'a>(&mut self, at: Option<&At<'a>>) -> Vec<At<'a>> {
        at.and_then(|at| self.recorded(at.items())).unwrap_or_default()
    }

    /// A string.
    pub fn text(&mut self, at: Option<&At<'_>>) -> Option<String> {
        at.and_then(|at| self.recorded(at.text())).map(str::to_owned)
    }

    /// An integer of 64 bits.
    pub fn integer(&mut self, at: Option<&At<'_>>) -> Option<i64> {
        at.and_then(|at| self.recorded(at.integer()))
    }

    /// An integer from `least` to `most`; `why` is the message for others.
    pub fn within(&mut self, at: Option<&At<'_>>, least: i64, most: i64, why: &str) -> Option<i64> {
        let value = self.integer(at)?;
        if value < least || value > most {
            self.invalid(at?, why);
            return None;
        }
        Some(value)
    }

    /// A number.
    pub fn number(&mut self, at: Option<&At<'_>>) -> Option<f64> {
        at.and_then(|at| self.recorded(at.number()))
    }

    /// `true` or `false`.
    pub fn bool(&mut self, at: Option<&At<'_>>) -> Option<bool> {
        at.and_then(|at| self.recorded(at.bool()))
    }

    /// A duration as Go writes it.
    pub fn duration(&mut self, at: Option<&At<'_>>) -> Option<Duration> {
        let text = self.text(at)?;
        let parsed = coracle_meta::parse_duration(&text);
        if parsed.is_none() {
            self.invalid(at?, "is not a duration such as 15s or 1m30s");
        }
        parsed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::node::YamlNode;

    proptest! {
        #[test]
        fn any_document_is_read_and_each_error_has_a_line_of_the_text(text in "([abc]: |- |\\n|  |[\\[\\],1x]){0,40}") {
            let last = text.matches('\n').count() as u64 + 1;
            let Ok(document) = YamlNode::parse(&text) else { return Ok(()) };
            let mut reader = StrictReader::new("f");
            let root = At::root(&document);
            let fields = reader.fields(&root, &["a", "b"]);
            for item in reader.list(fields.get("a")) {
                reader.within(Some(&item), 1, 2, "must be 1 or 2");
                reader.duration(Some(&item));
            }
            reader.bool(fields.get("b"));
            // An empty text has no line at which a value could begin.
            let first = u64::from(!document.is_null());
            for error in reader.finish().err().map(|wrong| wrong.errors).unwrap_or_default() {
                prop_assert!((first..=last).contains(&error.line), "{error:?} in {text:?}");
            }
        }
    }
}
