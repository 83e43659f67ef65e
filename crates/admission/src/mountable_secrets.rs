//! The Secrets that a pod can use. In Kubernetes: `limitSecretReferences`.

use std::collections::BTreeSet;

use coracle_meta::Object;
use coracle_meta::fields::Fields;
use serde_json::Value;

const ENFORCED: &str = "kubernetes.io/enforce-mountable-secrets";

/// Whether pods of a service account can only use its Secrets.
pub(crate) fn is_enforced(account: &Object) -> bool {
    matches!(account.annotation(ENFORCED), Some("1" | "t" | "T" | "TRUE" | "true" | "True"))
}

/// The Secrets in the environment of a container, with their paths.
fn secrets_of(container: &Value) -> Vec<(String, &str)> {
    let single = container.list("env").iter().filter(|variable| variable.has("valueFrom.secretKeyRef"));
    let single = single
        .map(|variable| (format!("envVar {}", variable.text("name")), variable.text("valueFrom.secretKeyRef.name")));
    let whole = container.list("envFrom").iter().filter(|source| source.has("secretRef"));
    let whole = whole.map(|source| ("envFrom".to_owned(), source.text("secretRef.name")));
    single.chain(whole).collect()
}

/// The Secrets of a pod that its service account does not list.
pub(crate) fn wrong_secrets(pod: &Object, account: &Object) -> Option<String> {
    let spec = pod.at("spec");
    let names =
        |list: &str| -> BTreeSet<&str> { account.list(list).iter().map(|secret| secret.text("name")).collect() };
    let (mountable, who) = (names("secrets"), account.name());
    let reason = format!("is not allowed because service account {who} does not reference that secret");
    let volumes = spec.list("volumes").iter().filter(|volume| volume.has("secret"));
    let volume = volumes.map(|volume| volume.text("secret.secretName")).find(|name| !mountable.contains(name));
    if let Some(name) = volume {
        return Some(format!("volume with secret.secretName=\"{name}\" {reason}"));
    }
    for (list, what) in [("initContainers", "init container"), ("containers", "container")] {
        if let Some(wrong) = wrong_environment(spec.list(list), what, &mountable, who) {
            return Some(wrong);
        }
    }
    let pullable = names("imagePullSecrets");
    let mut pulled = spec.list("imagePullSecrets").iter().map(|secret| secret.text("name")).enumerate();
    let (at, name) = pulled.find(|(_, name)| !pullable.contains(name))?;
    let reason = format!("is not allowed because service account {who} does not reference that imagePullSecret");
    Some(format!("imagePullSecrets[{at}].name=\"{name}\" {reason}"))
}

/// The Secrets of a pod's ephemeral containers that its service account does not list.
pub(crate) fn wrong_ephemeral_secrets(pod: &Object, account: &Object) -> Option<String> {
    let mountable = account.list("secrets").iter().map(|secret| secret.text("name")).collect();
    wrong_environment(pod.list("spec.ephemeralContainers"), "ephemeral container", &mountable, account.name())
}

fn wrong_environment(containers: &[Value], what: &str, mountable: &BTreeSet<&str>, who: &str) -> Option<String> {
    containers.iter().find_map(|container| {
        let mut secrets = secrets_of(container).into_iter();
        let (place, name) = secrets.find(|(_, name)| !mountable.contains(name))?;
        Some(format!(
            "{what} {} with {place} referencing secret.secretName=\"{name}\" is not allowed because service account \
             {who} does not reference that secret",
            container.text("name")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_uses_the_secrets_of_its_account_only() {
        let account = json!({"metadata": {"name": "robot"}, "secrets": [{"name": "own"}]});
        let account = Object::from_value(account).unwrap();
        let wrong = |spec: Value| wrong_secrets(&Object::from_value(json!({ "spec": spec })).unwrap(), &account);
        let reason = "is not allowed because service account robot does not reference that";
        assert_eq!(wrong(json!({"volumes": [{"secret": {"secretName": "own"}}]})), None);
        let volume = format!("volume with secret.secretName=\"other\" {reason} secret");
        assert_eq!(wrong(json!({"volumes": [{"secret": {"secretName": "other"}}]})), Some(volume));
        let variable = json!({"name": "V", "valueFrom": {"secretKeyRef": {"name": "other"}}});
        let container = format!("container c with envVar V referencing secret.secretName=\"other\" {reason} secret");
        assert_eq!(wrong(json!({"containers": [{"name": "c", "env": [variable]}]})), Some(container));
        let pulled = format!("imagePullSecrets[0].name=\"p\" {reason} imagePullSecret");
        assert_eq!(wrong(json!({"imagePullSecrets": [{"name": "p"}]})), Some(pulled));
    }
}
