use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// JSON that is kept as it was read, so that code that only forwards it does not build a tree.
#[derive(Clone, Debug)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

/// Two are equal if they were written alike.
impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use crate::ObjectMeta;
    use serde_json::{Value, from_str, from_value, json, to_string, to_value};

    #[test]
    fn the_fields_of_a_manager_are_passed_on_as_they_are_from_texts_and_from_trees() {
        let text =
            r#"{"managedFields":[{"manager":"m","fieldsV1":{"f:metadata":{"f:labels":{".":{}}}}},{"manager":"n"}]}"#;
        let meta: ObjectMeta = from_str(text).unwrap();
        assert_eq!(to_string(&meta).unwrap(), text);
        let tree: Value = from_str(text).unwrap();
        let from_tree: ObjectMeta = from_value(tree.clone()).unwrap();
        assert_eq!((to_value(&from_tree).unwrap(), &from_tree), (tree, &meta));
        let none: ObjectMeta = from_value(json!({"managedFields": [{"fieldsV1": null}]})).unwrap();
        assert_eq!(none.managed_fields[0].fields_v1, None);
    }
}
