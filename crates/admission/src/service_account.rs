use std::sync::Arc;

use async_trait::async_trait;
use coracle_api::pod_references::refers_to_secrets;
use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_spec};
use coracle_meta::{Object, Status};
use coracle_registry::{Admission, Operation, Review, base_name};
use serde_json::{Value, json};

use crate::lookup::{core, get};
use crate::mountable_secrets::{is_enforced, wrong_ephemeral_secrets, wrong_secrets};
use crate::refusal::forbidden;

/// `ServiceAccount`: every pod has a service account, and its token unless the pod or the account opts out.
pub(crate) struct ServiceAccount;

const MIRROR: &str = "kubernetes.io/config.mirror";
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const VOLUME_PREFIX: &str = "kube-api-access-";

#[async_trait]
impl Admission for ServiceAccount {
    fn name(&self) -> &'static str {
        "ServiceAccount"
    }

    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        if !review.is_about("", "pods") || review.operation != Operation::Create {
            return Ok(());
        }
        if review.object().is_some_and(|pod| pod.annotation(MIRROR).is_some()) {
            return Ok(());
        }
        let Some(pod) = review.object_mut() else { return Ok(()) };
        edit_spec(pod, |spec| {
            spec.fill_text("serviceAccountName", "default");
            let name = spec.text("serviceAccountName").to_owned();
            spec.insert("serviceAccount".to_owned(), name.into());
        });
        let account = account_of(review).await?;
        let (request, registry) = (review.request, review.registry);
        let Some(pod) = review.object_mut() else { return Ok(()) };
        if wants_token(pod, &account) {
            let random = request.random(registry.ambient(), "token volume", base_name(pod));
            let volume = format!("{VOLUME_PREFIX}{}", random.name_suffix(5));
            edit_spec(pod, |spec| mount_token(spec, volume));
        }
        edit_spec(pod, |spec| take_pull_secrets(spec, &account));
        Ok(())
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        let part = review.request.at.subresource.as_str();
        let Some(pod) = review.object().filter(|_| review.is_about_any_part("", "pods")) else { return Ok(()) };
        let wrong = match (review.operation, part) {
            (Operation::Create, "") if pod.annotation(MIRROR).is_some() => wrong_mirror(pod).map(str::to_owned),
            (Operation::Create, "") => {
                let account = account_of(review).await?;
                is_enforced(&account).then(|| wrong_secrets(pod, &account)).flatten()
            }
            (Operation::Update, "ephemeralcontainers") => {
                let account = account_of(review).await?;
                is_enforced(&account).then(|| wrong_ephemeral_secrets(pod, &account)).flatten()
            }
            _ => None,
        };
        wrong.map_or(Ok(()), |why| Err(forbidden(review, why)))
    }
}

/// The forbidden fields of a mirror pod, because its node could use them to get data from the API.
fn wrong_mirror(pod: &Object) -> Option<&'static str> {
    let spec = pod.at("spec");
    let projects_token =
        |volume: &Value| volume.list("projected.sources").iter().any(|source| source.has("serviceAccountToken"));
    match () {
        () if !spec.text("serviceAccountName").is_empty() => Some("a mirror pod may not reference service accounts"),
        () if refers_to_secrets(spec) => Some("a mirror pod may not reference secrets"),
        () if spec.list("volumes").iter().any(projects_token) => {
            Some("a mirror pod may not use ServiceAccountToken volume projections")
        }
        () => None,
    }
}

async fn account_of(review: &Review<'_>) -> Result<Arc<Object>, Status> {
    let namespace = review.request.at.namespace.as_str();
    let name = review.object().map_or("", |pod| pod.text("spec.serviceAccountName"));
    match get(review, core("serviceaccounts"), namespace, name).await? {
        Some(account) => Ok(account),
        None => Err(forbidden(
            review,
            format!("error looking up service account {namespace}/{name}: serviceaccount \"{name}\" not found"),
        )),
    }
}

fn wants_token(pod: &Object, account: &Object) -> bool {
    let own = pod.at("spec.automountServiceAccountToken").as_bool();
    own.or(account.at("automountServiceAccountToken").as_bool()).unwrap_or(true)
}

fn take_pull_secrets(spec: &mut Tree, account: &Object) {
    if !spec.list("imagePullSecrets").is_empty() || account.list("imagePullSecrets").is_empty() {
        return;
    }
    let names = account.list("imagePullSecrets").iter();
    let secrets: Vec<Value> = names.map(|secret| json!({"name": secret.text("name")})).collect();
    spec.insert("imagePullSecrets".to_owned(), secrets.into());
}

/// Mounts the token unless something else is mounted at its path.
fn mount_token(spec: &mut Tree, new_volume: String) {
    let volumes = spec.list("volumes").iter();
    let existing = volumes.map(|volume| volume.text("name")).find(|name| name.starts_with(VOLUME_PREFIX));
    let existing = existing.map(str::to_owned);
    let has_volume = existing.is_some();
    let volume = existing.unwrap_or(new_volume);
    let mut is_needed = false;
    for list in ["initContainers", "containers"] {
        spec.each_in(list, |container| {
            if container.list("volumeMounts").iter().any(|mount| mount.text("mountPath") == TOKEN_PATH) {
                return;
            }
            is_needed = true;
            container.fill("volumeMounts", json!([]));
            if let Some(Value::Array(mounts)) = container.get_mut("volumeMounts") {
                mounts.push(json!({"name": volume, "readOnly": true, "mountPath": TOKEN_PATH}));
            }
        });
    }
    if !has_volume && is_needed {
        spec.fill("volumes", json!([]));
        if let Some(Value::Array(volumes)) = spec.get_mut("volumes") {
            volumes.push(token_volume(&volume));
        }
    }
}

/// The token, the authority's certificate and the namespace. In Kubernetes: `TokenVolumeSource`.
fn token_volume(name: &str) -> Value {
    let certificate = json!({"key": "ca.crt", "path": "ca.crt"});
    let namespace = json!({"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}});
    let sources = json!([
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [certificate]}},
        {"downwardAPI": {"items": [namespace]}},
    ]);
    json!({"name": name, "projected": {"defaultMode": 420, "sources": sources}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_has_nothing_that_its_node_could_misuse() {
        let wrong = |spec: Value| wrong_mirror(&Object::from_value(json!({ "spec": spec })).unwrap());
        assert_eq!(wrong(json!({"volumes": [{"hostPath": {}}]})), None);
        let account = wrong(json!({"serviceAccountName": "a"}));
        assert_eq!(account, Some("a mirror pod may not reference service accounts"));
        assert_eq!(wrong(json!({"volumes": [{"secret": {}}]})), Some("a mirror pod may not reference secrets"));
        let token = json!({"volumes": [{"projected": {"sources": [{"serviceAccountToken": {}}]}}]});
        assert_eq!(wrong(token), Some("a mirror pod may not use ServiceAccountToken volume projections"));
    }

    #[test]
    fn the_token_is_mounted_once_into_every_container() {
        let spec = json!({"containers": [{"name": "a"}, {"name": "b", "volumeMounts": [{"mountPath": TOKEN_PATH}]}]});
        let mut spec = spec.as_object().unwrap().clone();
        mount_token(&mut spec, format!("{VOLUME_PREFIX}x"));
        assert_eq!(spec.list("containers")[0].list("volumeMounts").len(), 1);
        assert_eq!(spec.list("containers")[1].list("volumeMounts").len(), 1);
        assert_eq!(spec.list("volumes").len(), 1);
        mount_token(&mut spec, format!("{VOLUME_PREFIX}y"));
        assert_eq!(spec.list("volumes").len(), 1);
    }
}
