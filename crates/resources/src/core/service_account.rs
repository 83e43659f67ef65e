use coracle_meta::Object;
use coracle_meta::fields::FieldsMut;
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;

use crate::built_in::built_in;

/// `serviceaccounts`. In Kubernetes: `pkg/registry/core/serviceaccount`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        prepare_create: |object, _, _| clean_secret_references(object),
        prepare_update: |new, _, _, _| clean_secret_references(new),
        warnings: |new, old, _| warnings(new, old),
        columns: columns(),
        ..built_in(release, "", "v1", "serviceaccounts")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![TableColumn::name(), TableColumn::age()]
}

/// Drops everything except the name from references to Secrets.
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
    fn a_secret_reference_keeps_only_the_name() {
        let mut object = Object::from_value(json!({"secrets": [{"name": "a", "namespace": "b"}]})).unwrap();
        clean_secret_references(&mut object);
        assert_eq!(object.at("secrets"), &json!([{"name": "a"}]));
    }
}
