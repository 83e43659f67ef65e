use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::object_changes::{MANAGERS, is_secret, owner};

/// An object that nobody has seen yet, told as its JSON stands in the store: of what is written once and whole, no tree is made.
pub(crate) struct Fresh<'j> {
    members: Members<'j>,
    metadata: Members<'j>,
    named: Named<'j>,
}

/// The members of a JSON object, in their order.
struct Members<'j>(Vec<(Cow<'j, str>, &'j RawValue)>);

/// What of metadata is looked into.
#[derive(Deserialize)]
struct Named<'j> {
    #[serde(borrow)]
    name: Cow<'j, str>,
    #[serde(borrow, default)]
    namespace: Cow<'j, str>,
    #[serde(borrow, default, rename = "managedFields")]
    managers: Vec<Owned<'j>>,
}

#[derive(Deserialize)]
struct Owned<'j> {
    #[serde(borrow, default)]
    manager: Cow<'j, str>,
    #[serde(borrow, default)]
    operation: Cow<'j, str>,
    #[serde(borrow, default)]
    subresource: Cow<'j, str>,
    #[serde(borrow, rename = "fieldsV1")]
    fields: Option<&'j RawValue>,
}

impl<'j> Fresh<'j> {
    /// `None` for what has to be looked at more closely than this does: Secrets, and what is no object of the usual form.
    pub(crate) fn of(json: &'j [u8]) -> Option<Self> {
        let members: Members<'_> = serde_json::from_slice(json).ok()?;
        let metadata = members.get(MANAGERS[0])?.get();
        let named = serde_json::from_str(metadata).ok()?;
        let fresh = Self { metadata: serde_json::from_str(metadata).ok()?, members, named };
        (!is_secret(&fresh.word("apiVersion"), &fresh.word("kind"))).then_some(fresh)
    }

    /// A member that is a text: `kind`, `apiVersion`.
    pub(crate) fn word(&self, name: &str) -> Cow<'j, str> {
        self.members.get(name).and_then(|value| serde_json::from_str(value.get()).ok()).unwrap_or_default()
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.named.namespace
    }

    pub(crate) fn name(&self) -> &str {
        &self.named.name
    }

    /// Who owns which of its fields.
    pub(crate) fn managers(&self) -> BTreeMap<String, &'j RawValue> {
        let owned = |one: &Owned<'j>| Some((owner(&one.manager, &one.operation, &one.subresource), one.fields?));
        self.named.managers.iter().filter_map(owned).collect()
    }
}

/// The object, without its managers.
impl Serialize for Fresh<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.members.0.iter().map(|(name, value)| match name == MANAGERS[0] {
            true => (name, Part::Metadata(&self.metadata)),
            false => (name, Part::Other(value)),
        }))
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Part<'f, 'j> {
    Metadata(&'f Members<'j>),
    Other(&'j RawValue),
}

/// Metadata, without who owns which fields.
impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().filter(|(name, _)| name != MANAGERS[1]).map(|(name, value)| (name, value)))
    }
}

impl<'j> Members<'j> {
    fn get(&self, name: &str) -> Option<&'j RawValue> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

impl<'j> Deserialize<'j> for Members<'j> {
    fn deserialize<D: Deserializer<'j>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EachMember)
    }
}

struct EachMember;

impl<'j> Visitor<'j> for EachMember {
    type Value = Members<'j>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<Members<'j>, A::Error> {
        let mut members = Vec::new();
        while let Some(Name(name)) = map.next_key()? {
            members.push((name, map.next_value()?));
        }
        Ok(Members(members))
    }
}

/// The name of a member, which is copied only if it has escapes.
#[derive(Deserialize)]
struct Name<'j>(#[serde(borrow)] Cow<'j, str>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object_changes::Seen;
    use coracle_meta::Object;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn told(fresh: &Fresh<'_>) -> (Value, Value) {
        (serde_json::to_value(fresh).unwrap(), serde_json::to_value(fresh.managers()).unwrap())
    }

    #[test]
    fn an_object_is_told_as_it_stands_but_for_who_manages_it() {
        let json = br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a\u00e9","namespace":"b","managedFields":[
            {"manager":"kubelet","operation":"Update","subresource":"status","fieldsV1":{"f:status":{}}},{"manager":"none"}]},
            "spec":{"n":1.50}}"#;
        let fresh = Fresh::of(json).unwrap();
        assert_eq!((fresh.namespace(), fresh.name(), &*fresh.word("kind")), ("b", "aé", "Pod"));
        assert_eq!(fresh.managers().len(), 1);
        assert_eq!(fresh.managers()["kubelet/Update/status"].get(), r#"{"f:status":{}}"#);
        let whole =
            r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a\u00e9","namespace":"b"},"spec":{"n":1.50}}"#;
        assert_eq!(serde_json::to_string(&fresh).unwrap(), whole);
    }

    #[test]
    fn a_secret_and_what_is_no_object_are_left_to_who_looks_closer() {
        let with = |api_version: &str| {
            json!({"apiVersion": api_version, "kind": "Secret", "metadata": {"name": "a"}, "data": {"b": "Yg=="}})
                .to_string()
        };
        assert!(Fresh::of(with("v1").as_bytes()).is_none());
        assert!(Fresh::of(with("example.com/v1").as_bytes()).is_some());
        for json in ["", "[]", "{", "null", r#"{"metadata":7}"#, r#"{"metadata":{}}"#, r#"{"metadata":{"name":null}}"#]
        {
            assert!(Fresh::of(json.as_bytes()).is_none(), "{json}");
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![any::<i64>().prop_map(Value::from), ".{0,9}".prop_map(Value::from), Just(Value::Null)];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(".{0,5}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// What is told without a look is what is told with one.
        #[test]
        fn it_is_told_as_its_tree_is(name in ".{1,9}", spec in values(), managed in values(), fields in values()) {
            let managers = json!([{"manager": name, "operation": "Apply", "fieldsV1": fields}, managed]);
            let metadata = json!({"name": name, "labels": spec, "managedFields": managers});
            let value = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
            let json = value.to_string();
            if let Some(fresh) = Fresh::of(json.as_bytes()) {
                let object = Object::from_value(value).unwrap();
                let seen = Seen::of(&object).unwrap();
                let tree = (serde_json::to_value(&seen).unwrap(), serde_json::to_value(seen.managers()).unwrap());
                prop_assert_eq!(told(&fresh), tree);
            }
        }

        #[test]
        fn no_bytes_make_it_panic(json in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Fresh::of(&json);
        }
    }
}
