use std::collections::BTreeSet;

use coracle_meta::fields::{Fields, FieldsMut};
use coracle_meta::{FieldError, JsonKey, Object, names};
use coracle_registry::{Column, KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use super::classes::{forbidden_changes, parameters, provisioner};
use crate::built_in::built_in;
use crate::cells::name_of_class;
use crate::field_checks::{Wrong, each_invalid, immutable, one_of, without_nothing};

/// `storageclasses`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, _| {
            object.edit(|tree| {
                tree.fill("reclaimPolicy", "Delete");
                tree.fill("volumeBindingMode", "Immediate");
            });
        },
        validate: |object, _| wrong(object),
        validate_change: wrong_change,
        columns: columns(release.has("ListsMarkTheirDefault")),
        default_in_list: if release.has("ListsMarkTheirDefault") { Some(is_default) } else { None },
        ..built_in(release, "storage.k8s.io", "v1", "storageclasses")
    }
}

fn columns(do_lists_mark: bool) -> Vec<TableColumn> {
    let name = if do_lists_mark {
        TableColumn::name()
    } else {
        TableColumn::new(Column::name(), |object, _| name_of_class(object, is_default(object)))
    };
    vec![
        name,
        TableColumn::text("Provisioner", "provisioner indicates the type of the provisioner.", |object| {
            object.text("provisioner").into()
        }),
        TableColumn::text(
            "ReclaimPolicy",
            "reclaimPolicy controls the reclaimPolicy for dynamically provisioned PersistentVolumes of this storage class. Defaults to Delete.",
            |object| object.at("reclaimPolicy").as_str().unwrap_or("Delete").into(),
        ),
        TableColumn::text(
            "VolumeBindingMode",
            "volumeBindingMode indicates how PersistentVolumeClaims should be provisioned and bound.  When unset, VolumeBindingImmediate is used. This field is only honored by servers that enable the VolumeScheduling feature.",
            |object| object.at("volumeBindingMode").as_str().unwrap_or("Immediate").into(),
        ),
        TableColumn::text(
            "AllowVolumeExpansion",
            "allowVolumeExpansion shows whether the storage class allow volume expand.",
            |object| object.flag("allowVolumeExpansion").into(),
        ),
        TableColumn::age(),
    ]
}

fn is_default(object: &Object) -> bool {
    const DEFAULT: [&str; 2] =
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
    DEFAULT.iter().any(|name| object.annotation(name) == Some("true"))
}

/// The errors of a storage class. Changes of immutable fields are errors only in an update.
fn wrong(object: &Object) -> Wrong {
    let mut wrong = provisioner(object, "provisioner");
    wrong.extend(parameters(object));
    if !object.text("reclaimPolicy").is_empty() {
        wrong.extend(one_of(object, "reclaimPolicy", "", &["Delete", "Retain"]));
    }
    wrong.extend(one_of(object, "volumeBindingMode", "", &["Immediate", "WaitForFirstConsumer"]));
    wrong.extend(topologies(object.list("allowedTopologies")));
    wrong
}

fn wrong_change(new: &Object, old: &Object, release: &Release) -> Wrong {
    const FIELDS: [&str; 3] = ["parameters", "provisioner", "reclaimPolicy"];
    let mut wrong = if release.has("ImmutableClassFieldsAreInvalid") {
        FIELDS.into_iter().flat_map(|field| immutable(new, old, field)).map(FieldError::declared).collect()
    } else {
        forbidden_changes(new, old, &FIELDS)
    };
    wrong.extend(immutable(new, old, "volumeBindingMode").into_iter().map(FieldError::declared));
    wrong
}

fn topologies(terms: &[Value]) -> Wrong {
    let mut wrong = Wrong::new();
    let plain: Vec<Value> = terms.iter().map(without_nothing).collect();
    let mut terms_seen = BTreeSet::new();
    for (at, term) in terms.iter().enumerate() {
        let path = format!("allowedTopologies[{at}].matchLabelExpressions");
        let mut keys = BTreeSet::new();
        for (at, expression) in term.list("matchLabelExpressions").iter().enumerate() {
            let path = format!("{path}[{at}]");
            let values = expression.list("values");
            if values.is_empty() {
                wrong.push(FieldError::required(format!("{path}.values"), ""));
            }
            let mut values_seen = BTreeSet::new();
            for (at, value) in values.iter().enumerate() {
                if !values_seen.insert(JsonKey(value)) {
                    wrong.push(FieldError::duplicate(format!("{path}.values[{at}]"), value.clone()));
                }
            }
            let key = expression.text("key");
            wrong.extend(each_invalid(&format!("{path}.key"), key, names::qualified_name(key)));
            if !keys.insert(key) {
                wrong.push(FieldError::duplicate(format!("{path}.key"), key));
            }
        }
        if !terms_seen.insert(JsonKey(&plain[at])) {
            wrong.push(FieldError::duplicate(path, ""));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(object: Value) -> Vec<String> {
        wrong(&Object::from_value(object).unwrap()).iter().map(FieldError::message).collect()
    }

    #[test]
    fn a_class_names_its_provisioner_and_knows_its_words() {
        let good = json!({"provisioner": "a/b", "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"});
        assert!(messages(good.clone()).is_empty());
        let mut bad = good;
        bad["reclaimPolicy"] = "Recycle".into();
        bad["provisioner"] = "".into();
        let said = messages(bad);
        let policy = "reclaimPolicy: Unsupported value: \"Recycle\": supported values: \"Delete\", \"Retain\"";
        assert_eq!(said, ["provisioner: Required value", policy]);
    }
}
