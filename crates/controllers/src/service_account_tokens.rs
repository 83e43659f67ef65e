//! Fills the Secrets that request a service account token, and deletes those whose account is deleted.
//!
//! Watches those Secrets and the service accounts; a deleted account concerns the Secrets that name it.
//! In Kubernetes: `pkg/controller/serviceaccount/tokens_controller.go`.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_api::core_v1::{Secret, ServiceAccount};
use coracle_client::DeleteParams;
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler, unless_gone};
use coracle_informer::{Lister, Notification, Selection, SharedInformer};
use coracle_meta::{ObjectKey, Resource};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::Config;
use crate::keys::TokenKey;

pub(crate) const TYPE: &str = "kubernetes.io/service-account-token";
pub(crate) const ACCOUNT: &str = "kubernetes.io/service-account.name";
pub(crate) const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// The entries of such a Secret.
const AUTHORITY: &str = "ca.crt";
const NAMESPACE: &str = "namespace";
const TOKEN: &str = "token";

/// The Secrets with tokens.
pub(crate) fn secrets(process: &Process) -> SharedInformer<Secret> {
    process.informers.selected(Selection { fields: format!("type={TYPE}"), ..Selection::default() })
}

/// The controller of those Secrets. Without a key it does not run, as in Kubernetes.
pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let Some(signer) = config.token_key.clone() else { return std::future::ready(()).boxed() };
    let (secrets, accounts) = (secrets(process), process.informers.informer::<ServiceAccount>());
    let contents = Contents { signer, root_ca: config.root_ca.clone() };
    let tokens = Tokens { secrets: secrets.lister(), accounts: accounts.lister(), contents };
    let of_account = secrets.lister();
    let controller = Controller::new(process, "serviceaccount-token", tokens)
        .client(config.client(process))
        .watches(&secrets, |notification| key_of(notification.object()).into_iter().collect())
        .watches(&accounts, move |notification| of_gone(notification, &of_account))
        .workers(5)
        .max_retries(10);
    controller.run().boxed()
}

/// A Secret, and the account that it names, which must be known even after the Secret is deleted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TokenSecret {
    key: ObjectKey,
    uid: Option<String>,
    account: String,
    /// Empty until the Secret is filled.
    account_uid: String,
}

impl fmt::Display for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)
    }
}

fn key_of(secret: &Secret) -> Option<TokenSecret> {
    let annotation = |name: &str| secret.metadata.annotations.get(name).cloned().unwrap_or_default();
    let account = Some(annotation(ACCOUNT)).filter(|account| !account.is_empty())?;
    let account_uid = annotation(ACCOUNT_UID);
    Some(TokenSecret { key: secret.key(), uid: secret.metadata.uid.clone(), account, account_uid })
}

/// The Secrets of a deleted account.
fn of_gone(notification: &Notification<ServiceAccount>, secrets: &Lister<Secret>) -> Vec<TokenSecret> {
    let Notification::Deleted { object: account, .. } = notification else { return Vec::new() };
    let key = account.key();
    let all = secrets.list_namespace(&key.namespace);
    all.iter().filter_map(|secret| key_of(secret)).filter(|secret| secret.account == key.name).collect()
}

struct Tokens {
    secrets: Lister<Secret>,
    accounts: Lister<ServiceAccount>,
    contents: Contents,
}

impl Reconciler<TokenSecret> for Tokens {
    async fn reconcile(&self, pass: &Pass, named: &TokenSecret) -> Result<Action, ReconcileError> {
        let key = ObjectKey::new(named.key.namespace.as_str(), named.account.as_str());
        let is_named = |account: &ServiceAccount| {
            named.account_uid.is_empty() || account.metadata.uid.as_deref() == Some(named.account_uid.as_str())
        };
        let cached = self.accounts.get(&key).filter(|account| is_named(account));
        let Some(secret) = self.secrets.get(&named.key).filter(|secret| secret.metadata.uid == named.uid) else {
            if let Some(account) = cached {
                pass.decided(|| format!("it is not there: {} no longer lists it", named.account));
                pass.update(account.as_ref(), |account: &mut ServiceAccount| {
                    account.secrets.retain(|reference| reference.name != named.key.name);
                })
                .await?;
                return Ok(Action::Done);
            }
            return pass.gone();
        };
        let account = match cached {
            Some(account) => Some(account),
            // The cache may lack an account that was created together with its Secret.
            None => pass.api::<ServiceAccount>().find(&key).await?.filter(is_named).map(Into::into),
        };
        let Some(account) = account else {
            pass.decided(|| format!("there is no account {}: delete", named.account));
            let params = DeleteParams::default().with_uid(named.uid.clone().unwrap_or_default());
            match pass.api::<Secret>().delete(&named.key, &params).await {
                // Another Secret of that name must not be deleted.
                Err(error) if error.is_conflict() => {}
                deleted => unless_gone(deleted.map(drop))?,
            }
            return Ok(Action::Done);
        };
        let Some(filled) = self.contents.filled(&secret, &account)? else {
            return pass.done(|| "it is filled: nothing to do");
        };
        pass.decided(|| format!("fill it for account {}", named.account));
        match pass.api().update(&filled).await {
            // The change that caused the conflict queues the Secret again.
            Err(error) if error.is_conflict() || error.is_not_found() => {}
            written => drop(written?),
        }
        Ok(Action::Done)
    }
}

/// The content of such Secrets.
struct Contents {
    signer: TokenKey,
    root_ca: String,
}

impl Contents {
    /// The Secret with all its content; `None` if it is complete.
    fn filled(&self, secret: &Secret, account: &ServiceAccount) -> Result<Option<Secret>, ReconcileError> {
        let key = secret.key();
        let authority = STANDARD.encode(&self.root_ca);
        let has = |data: &BTreeMap<String, String>, entry: &str| data.get(entry).is_some_and(|held| !held.is_empty());
        let mut filled = secret.clone();
        if !self.root_ca.is_empty() && filled.data.get(AUTHORITY) != Some(&authority) {
            filled.data.insert(AUTHORITY.to_owned(), authority);
        }
        if !has(&filled.data, NAMESPACE) {
            filled.data.insert(NAMESPACE.to_owned(), STANDARD.encode(&key.namespace));
        }
        if !has(&filled.data, TOKEN) {
            let token = self.signer.sign(&claims(&key, account)).map_err(ReconcileError::Object)?;
            filled.data.insert(TOKEN.to_owned(), STANDARD.encode(token));
        }
        if filled == *secret {
            return Ok(None);
        }
        let annotations = &mut filled.metadata.annotations;
        annotations.insert(ACCOUNT.to_owned(), account.key().name);
        annotations.insert(ACCOUNT_UID.to_owned(), account.metadata.uid.clone().unwrap_or_default());
        Ok(Some(filled))
    }
}

/// The claims of such a token; it does not expire. In Kubernetes: `serviceaccount.LegacyClaims`.
fn claims(secret: &ObjectKey, account: &ServiceAccount) -> Value {
    let ObjectKey { namespace, name } = account.key();
    json!({
        "iss": "kubernetes/serviceaccount",
        "sub": format!("system:serviceaccount:{namespace}:{name}"),
        "kubernetes.io/serviceaccount/namespace": namespace,
        "kubernetes.io/serviceaccount/secret.name": secret.name,
        "kubernetes.io/serviceaccount/service-account.name": name,
        "kubernetes.io/serviceaccount/service-account.uid": account.metadata.uid,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(claims: &Value) -> Result<String, String> {
        Ok(claims["sub"].as_str().unwrap_or_default().to_owned())
    }

    #[test]
    fn missing_or_outdated_data_is_filled_in_and_other_data_stays() {
        let contents = Contents { signer: TokenKey::new(subject), root_ca: "authority".to_owned() };
        let (mut secret, mut account) = (Secret::default(), ServiceAccount::default());
        secret.metadata.namespace = Some("shop".to_owned());
        account.metadata.namespace = Some("shop".to_owned());
        account.metadata.name = Some("robot".to_owned());
        account.metadata.uid = Some("u1".to_owned());
        let filled = contents.filled(&secret, &account).unwrap().unwrap();
        let held = |secret: &Secret, entry: &str| String::from_utf8(STANDARD.decode(&secret.data[entry]).unwrap());
        assert_eq!(held(&filled, TOKEN).unwrap(), "system:serviceaccount:shop:robot");
        assert_eq!(held(&filled, NAMESPACE).unwrap(), "shop");
        assert_eq!(filled.metadata.annotations[ACCOUNT_UID], "u1");
        assert_eq!(contents.filled(&filled, &account).unwrap(), None);
        let mut old = filled.clone();
        old.data.insert(AUTHORITY.to_owned(), STANDARD.encode("another"));
        assert_eq!(contents.filled(&old, &account).unwrap(), Some(filled));
    }
}
