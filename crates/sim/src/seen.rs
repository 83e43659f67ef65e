use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;

use coracle_storage::Stored;
use coracle_store::KeyValue;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::members::Members;
use crate::merge_patch::{merge_patch, merge_patch_but};

const METADATA: &str = "metadata";
/// Replaces a value that is left out.
pub(crate) const LEFT_OUT: &str = "…";
/// The annotation with the configuration that `kubectl apply` sent, which may include secrets.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The JSON of an object in the store.
pub(crate) struct Shown {
    json: Vec<u8>,
    /// For a Secret: the JSON without its contents, and the paths that were left out.
    redacted: OnceCell<(String, Vec<String>)>,
}

/// An object for the event log: the object without secret contents, and separately the managers of its fields. Only
/// Secrets are parsed into a tree.
pub(crate) struct Seen<'j> {
    all: Members<'j>,
    /// The metadata without managed fields.
    metadata: Members<'j>,
    managed: Option<&'j RawValue>,
    /// The paths of secret contents that were left out.
    pub(crate) redacted: &'j [String],
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

impl Shown {
    /// `None` if the value is not JSON: the store holds a few such values.
    pub(crate) fn of(kv: &KeyValue) -> Option<Self> {
        Some(Self::of_json(Stored::json_of(kv.value.clone(), kv.mod_revision)?))
    }

    fn of_json(json: Vec<u8>) -> Self {
        Self { json, redacted: OnceCell::new() }
    }

    /// `None` if the value is not an object.
    pub(crate) fn seen(&self) -> Option<Seen<'_>> {
        let seen = Seen::of(str::from_utf8(&self.json).ok()?, &[])?;
        if (&*seen.api_version(), &*seen.kind()) != ("v1", "Secret") {
            return Some(seen);
        }
        let mut secret = coracle_meta::json::from_slice(&self.json).ok()?;
        let (json, redacted) = self.redacted.get_or_init(|| {
            let redacted = redact(&mut secret);
            (secret.to_string(), redacted)
        });
        Seen::of(json, redacted)
    }
}

impl<'j> Seen<'j> {
    fn of(json: &'j str, redacted: &'j [String]) -> Option<Self> {
        let all = Members::of(json)?;
        let mut metadata = Members::of(all.get(METADATA)?.get())?;
        let managed = metadata.take("managedFields");
        Some(Self { all, metadata, managed, redacted })
    }

    pub(crate) fn api_version(&self) -> Cow<'j, str> {
        self.all.text("apiVersion")
    }

    pub(crate) fn kind(&self) -> Cow<'j, str> {
        self.all.text("kind")
    }

    pub(crate) fn namespace(&self) -> Cow<'j, str> {
        self.metadata.text("namespace")
    }

    pub(crate) fn name(&self) -> Cow<'j, str> {
        self.metadata.text("name")
    }

    /// The object as JSON.
    pub(crate) fn whole(&self) -> String {
        let mut whole = String::new();
        self.all.write(&mut whole, |name, value, out| {
            if name == METADATA {
                self.metadata.write(out, |_, value, out| out.push_str(value.get()))
            } else {
                out.push_str(value.get())
            }
        });
        whole
    }

    /// Each manager with its fields, as a JSON object; `None` if there are none. A manager has separate entries for
    /// apply, for update, and for each subresource.
    pub(crate) fn managers(&self) -> Option<String> {
        self.managed?;
        let mut managers = String::new();
        self.owners().write(&mut managers, |_, fields, out| out.push_str(fields.get()));
        Some(managers)
    }

    /// The merge patches of the object and of its managers from the earlier version; `None` if there are none.
    pub(crate) fn since(&self, before: &Self) -> Option<(String, Option<String>)> {
        let managers = match (before.managed.map(RawValue::get), self.managed.map(RawValue::get)) {
            (before, now) if before == now => None,
            _ => Some(merge_patch(&before.owners(), &self.owners())?),
        };
        let metadata = merge_patch(&before.metadata, &self.metadata)?;
        Some((merge_patch_but(&before.all, &self.all, METADATA, &metadata)?, managers))
    }

    fn owners(&self) -> Members<'j> {
        let read = |managed: &'j RawValue| coracle_meta::json::from_str::<Vec<Owned<'_>>>(managed.get()).ok();
        let name = |one: &Owned<'_>| {
            let parts = [&*one.manager, &*one.operation, &*one.subresource];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
        };
        let owned = self.managed.and_then(read).unwrap_or_default();
        let all: BTreeMap<_, _> = owned.iter().filter_map(|one| Some((name(one), one.fields?))).collect();
        all.into_iter().collect()
    }
}

/// Removes secret contents and returns their paths; the names stay.
fn redact(secret: &mut Value) -> Vec<String> {
    let mut redacted = Vec::new();
    for field in ["data", "stringData"] {
        match secret.get_mut(field) {
            None => {}
            Some(Value::Object(values)) => {
                for (name, value) in values {
                    redacted.push(format!("{field}.{name}"));
                    *value = LEFT_OUT.into();
                }
            }
            Some(other) => {
                redacted.push(field.to_owned());
                *other = LEFT_OUT.into();
            }
        }
    }
    let annotations = secret.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations"));
    if let Some(applied) = annotations.and_then(|annotations| annotations.get_mut(LAST_APPLIED)) {
        redacted.push(format!("metadata.annotations.{LAST_APPLIED}"));
        *applied = LEFT_OUT.into();
    }
    redacted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn an_object_is_recorded_without_its_managed_fields() {
        let json = br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a\u00e9","namespace":"b","managedFields":[
            {"manager":"kubelet","operation":"Update","subresource":"status","fieldsV1":{"f:status":{}}},{"manager":"none"}]},
            "spec":{"n":1.50}}"#;
        let shown = Shown::of_json(json.to_vec());
        let seen = shown.seen().unwrap();
        assert_eq!((&*seen.namespace(), &*seen.name(), &*seen.kind()), ("b", "aé", "Pod"));
        assert_eq!(seen.managers().unwrap(), r#"{"kubelet/Update/status":{"f:status":{}}}"#);
        let whole =
            r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a\u00e9","namespace":"b"},"spec":{"n":1.50}}"#;
        assert_eq!(seen.whole(), whole);
    }

    #[test]
    fn secret_data_is_left_out_and_its_paths_are_listed() {
        let applied = json!({LAST_APPLIED: "{\"data\":{\"token\":\"bWFyaw==\"}}"});
        let secret = |api_version: &str| {
            let metadata = json!({"name": "a", "namespace": "default", "annotations": applied});
            let (data, plain) = (json!({"token": "bWFyaw=="}), json!({"key": "bWFyaw=="}));
            let secret = json!({"apiVersion": api_version, "kind": "Secret", "metadata": metadata, "data": data, "stringData": plain});
            Shown::of_json(secret.to_string().into_bytes())
        };
        let whole = |shown: &Shown| shown.seen().unwrap().whole();
        let shown = secret("v1");
        assert!(!whole(&shown).contains("bWFyaw"), "{}", whole(&shown));
        assert!(whole(&shown).contains(r#""data":{"token":"…"}"#), "{}", whole(&shown));
        assert_eq!(shown.seen().unwrap().redacted.len(), 3);
        assert!(whole(&secret("example.com/v1")).contains("bWFyaw"), "a kind of somebody else's");
        let odd = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"annotations": []}, "data": "bWFyaw=="});
        assert!(!whole(&Shown::of_json(odd.to_string().into_bytes())).contains("bWFyaw"));
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
        #[test]
        fn every_value_is_recorded(name in ".{1,9}", spec in values(), managed in values(), fields in values()) {
            let managers = json!([{"manager": name, "operation": "Apply", "fieldsV1": fields}, managed]);
            let mut object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": spec}, "spec": spec});
            let bare = object.clone();
            object["metadata"]["managedFields"] = managers;
            let shown = Shown::of_json(object.to_string().into_bytes());
            let seen = shown.seen().unwrap();
            prop_assert_eq!(serde_json::from_str::<Value>(&seen.whole()).unwrap(), bare);
            let told: BTreeMap<String, Value> = serde_json::from_str(&seen.managers().unwrap()).unwrap();
            if let Some(one) = told.get(&format!("{name}/Apply")) {
                prop_assert_eq!(one, &fields);
            }
            prop_assert_eq!(seen.name(), name);
        }

        #[test]
        fn no_bytes_make_it_panic(json in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Shown::of_json(json).seen().map(|seen| (seen.whole(), seen.managers()));
        }
    }
}
