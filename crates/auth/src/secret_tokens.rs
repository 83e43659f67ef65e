//! Authenticates service accounts by the tokens in Secrets. Such a token does not expire, and is valid as long as its
//! Secret contains it.
//!
//! In Kubernetes: `pkg/serviceaccount/legacy.go`.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_ambient::Timestamp;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Object, Status};
use coracle_registry::{Authenticated, GetOptions, Plan, Registry, Request, User, Verb};
use serde_json::{Map, Value};

use crate::invalidated::refused;
use crate::service_account_name;

/// The labels with the day of a token's last use, and the day since which it is invalid.
const LAST_USED: &str = "kubernetes.io/legacy-token-last-used";
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";

/// The warning for tokens that old versions of Kubernetes generated: their ServiceAccount lists them.
const LISTED: &str = "Use tokens from the TokenRequest API or manually created secret-based tokens instead of \
                      auto-generated secret-based tokens.";

/// Checks the claims of a token with a valid signature.
pub(crate) async fn accept(
    registry: &Registry,
    claims: &Map<String, Value>,
    token: &str,
    audiences: Vec<String>,
) -> Result<Authenticated, Status> {
    let now = registry.ambient().clock.now();
    let own = |name: &str| {
        let claim = claims.get(&format!("kubernetes.io/serviceaccount/{name}")).and_then(Value::as_str);
        claim.filter(|claim| !claim.is_empty()).ok_or_else(|| refused(&format!("{name} claim is missing")))
    };
    let (namespace, account) = (own("namespace")?, own("service-account.name")?);
    let (uid, name) = (own("service-account.uid")?, own("secret.name")?);
    let user_name = service_account_name(namespace, account);
    if claims.get("sub").and_then(Value::as_str) != Some(user_name.as_str()) {
        return Err(refused("sub claim is invalid"));
    }
    let gone = || refused("Token has been invalidated");
    let secret = find(registry, now, "secrets", namespace, name).await?.ok_or_else(gone)?;
    if secret.deletion_timestamp().is_some() {
        return Err(gone());
    }
    if !holds(&secret, token) {
        return Err(refused("Token does not match server's copy"));
    }
    let found = find(registry, now, "serviceaccounts", namespace, account).await?;
    let found = found.ok_or_else(|| refused(&format!("serviceaccount {account:?} not found")))?;
    if found.deletion_timestamp().is_some() {
        return Err(refused(&format!("ServiceAccount {namespace}/{account} has been deleted")));
    }
    if found.uid() != uid {
        return Err(refused(&format!("ServiceAccount UID ({}) does not match claim ({uid})", found.uid())));
    }
    note_use(registry, &secret, now).await;
    if secret.labels().get(INVALID_SINCE).is_some_and(|since| !since.is_empty()) {
        return Err(refused(&format!(
            "the token in secret {namespace}/{name} for service account {namespace}/{account} has been marked invalid. \
             Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the \
             '{INVALID_SINCE}' label from the secret to temporarily allow use of this token"
        )));
    }
    let is_listed = found.list("secrets").iter().any(|listed| listed["name"] == name);
    let warnings = is_listed.then(|| LISTED.to_owned()).into_iter().collect();
    let groups = ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
    let user = User { uid: uid.to_owned(), ..User::new(user_name, groups) };
    Ok(Authenticated { user: Arc::new(user), audiences, warnings })
}

async fn find(
    registry: &Registry,
    now: Timestamp,
    plural: &str,
    namespace: &str,
    name: &str,
) -> Result<Option<Arc<Object>>, Status> {
    let resource = GroupVersionResource::new("", "v1", plural);
    let request = Request::new(Verb::Get, resource, now).object(namespace, name);
    let found = registry.find(&request, &GetOptions::default()).await?;
    Ok(found.map(|found| found.object()))
}

/// Whether the Secret currently contains this token.
fn holds(secret: &Object, token: &str) -> bool {
    !token.is_empty() && STANDARD.decode(secret.text("data.token")).is_ok_and(|held| held == token.as_bytes())
}

/// Records the day of the token's last use. If that fails, the token is accepted all the same.
async fn note_use(registry: &Registry, secret: &Object, now: Timestamp) {
    let day = now.strftime("%Y-%m-%d").to_string();
    // A server with a fast clock may have recorded tomorrow.
    let tomorrow = now.as_second().checked_add(24 * 60 * 60).and_then(|next| Timestamp::from_second(next).ok());
    let tomorrow = tomorrow.map(|tomorrow| tomorrow.strftime("%Y-%m-%d").to_string());
    let labels = secret.labels();
    let noted = labels.get(LAST_USED);
    if noted == Some(&day) || noted.is_some() && noted == tomorrow.as_ref() {
        return;
    }
    let resource = GroupVersionResource::new("", "v1", "secrets");
    let request = Request::new(Verb::Update, resource, now).object(secret.namespace(), secret.name());
    let _ = registry
        .modify(&request, |secret| {
            Plan::edit(secret, |secret| {
                secret.set(&["metadata", "labels", LAST_USED], day.clone());
                Ok(())
            })
        })
        .await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_the_current_token_of_a_secret_is_valid() {
        let secret = |token: &str| Object::from_value(json!({"data": {"token": STANDARD.encode(token)}})).unwrap();
        assert!(holds(&secret("a.b.c"), "a.b.c"));
        assert!(!holds(&secret("a.b.d"), "a.b.c"));
        assert!(!holds(&Object::default(), ""), "none is held");
    }
}
