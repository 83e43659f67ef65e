use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{go_json, json};

/// How the foreign objects inside an object were written, by their JSON pointers; only those that were not written as Go
/// writes a map: sorted, and without white space.
///
/// In Kubernetes: a `runtime.RawExtension` holds the bytes that were sent, and two of them are equal if their bytes are. So
/// a `ControllerRevision` whose `data` was sent with white space refuses every patch, because a patch brings the same data
/// without.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Verbatim(BTreeMap<String, String>);

impl Verbatim {
    /// Notes how the value at `pointer` is written.
    pub fn note(&mut self, pointer: &str, text: &str) {
        if let Ok(value) = json::from_str::<Value>(text)
            && go_json(&value.to_string()) != text
        {
            self.0.insert(pointer.to_owned(), text.to_owned());
        }
    }

    /// How the value at `pointer` is written, if that is not plain.
    pub fn get(&self, pointer: &str) -> Option<&str> {
        self.0.get(pointer).map(String::as_str)
    }

    /// Whether all values are written plainly.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The texts that are left after Go has encoded the object.
    #[must_use]
    pub fn encoded(&self) -> Self {
        let mut encoded = Self::default();
        self.0.iter().for_each(|(pointer, text)| encoded.note(pointer, &go_json(text)));
        encoded
    }

    /// Forgets the values that are not those of `tree` any more.
    pub(crate) fn retain_values_of(&mut self, tree: &Value) {
        self.0.retain(|pointer, text| {
            tree.pointer(pointer).is_some_and(|value| json::from_str::<Value>(text).is_ok_and(|own| own == *value))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_written_plainly_is_kept() {
        let mut verbatim = Verbatim::default();
        verbatim.note("/plain", r#"{"a":"\u003c","b":1}"#);
        assert!(verbatim.is_empty());
        verbatim.note("/spaced", r#"{"a": 1}"#);
        verbatim.note("/unsorted", r#"{"b": 1, "a": 2}"#);
        assert_eq!(verbatim.get("/spaced"), Some(r#"{"a": 1}"#));
        let encoded = verbatim.encoded();
        assert_eq!((encoded.get("/spaced"), encoded.get("/unsorted")), (None, Some(r#"{"b":1,"a":2}"#)));
    }

    #[test]
    fn a_value_that_changed_is_forgotten() {
        let mut verbatim = Verbatim::default();
        verbatim.note("/a", r#"{"x": 1}"#);
        verbatim.note("/b", r#"{"x": 1}"#);
        verbatim.retain_values_of(&serde_json::json!({"a": {"x": 1}, "b": {"x": 2}}));
        assert_eq!((verbatim.get("/a").is_some(), verbatim.get("/b")), (true, None));
    }
}
