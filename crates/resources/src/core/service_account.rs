use coracle_ambient::Timestamp;
use coracle_meta::Object;
use serde_json::Value;

use crate::cells::age;
use crate::columns;
use crate::rules::Rules;
use coracle_meta::fields::FieldsMut;

/// `serviceaccounts`. In Kubernetes: `pkg/registry/core/serviceaccount`.
pub(crate) const SERVICE_ACCOUNT: Rules = Rules {
    prepare_create: |object, _| clean_secret_references(object),
    prepare_update: |new, _, _| clean_secret_references(new),
    warnings,
    columns: columns::SERVICE_ACCOUNT,
    cells: |object: &Object, now: Timestamp| -> Vec<Value> { vec![object.name().into(), age(object, now)] },
    ..Rules::of("", "v1", "serviceaccounts")
};

/// Of a reference to a secret only the name counts.
fn clean_secret_references(object: &mut Object) {
    object.edit(|tree| tree.each_in("secrets", |secret| secret.retain(|field, _| field == "name")));
}

const MOUNTABLE: &str = "kubernetes.io/enforce-mountable-secrets";

fn warnings(new: &Object, old: Option<&Object>) -> Vec<String> {
    let wants = |object: &Object| object.annotation(MOUNTABLE).is_some();
    if wants(new) && !old.is_some_and(wants) {
        return vec![format!(
            "metadata.annotations[{MOUNTABLE}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        )];
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::fields::Fields;
    use serde_json::json;

    #[test]
    fn of_a_reference_to_a_secret_only_the_name_stays() {
        let mut object = Object::from_value(json!({"secrets": [{"name": "a", "namespace": "b"}]})).unwrap();
        clean_secret_references(&mut object);
        assert_eq!(object.at("secrets"), &json!([{"name": "a"}]));
    }
}
