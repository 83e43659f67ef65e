//! Marks token Secrets that were not used for long as invalid, and deletes them later: only those that a service
//! account lists, which Kubernetes once created automatically.
//!
//! Runs once a day; the API server records the day of the last use on each Secret.
//! In Kubernetes: `pkg/controller/serviceaccount/legacy_serviceaccount_token_cleaner.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use coracle_ambient::{Clock, Timestamp};
use coracle_api::core_v1::{ConfigMap, Pod, Secret, ServiceAccount};
use coracle_client::{DeleteParams, Error, Patch};
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler};
use coracle_informer::Lister;
use coracle_meta::{ObjectKey, Resource, parse_time};
use futures_util::future::BoxFuture;
use jiff::SignedDuration;
use serde_json::json;

use crate::Config;
use crate::service_account_tokens::{ACCOUNT, ACCOUNT_UID, secrets};

/// Since when uses are recorded: the ConfigMap of the API server, and its entry.
const TRACKING: (&str, &str) = ("kube-system", "kube-apiserver-legacy-service-account-token-tracking");
const SINCE: &str = "since";
/// The labels with the day of the last use, and with the day since when a token is invalid.
const LAST_USED: &str = "kubernetes.io/legacy-token-last-used";
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";
/// The time between two runs.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The only key: all tokens.
const ALL: &str = "tokens";

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let secrets = secrets(process);
    let accounts = process.informers.informer::<ServiceAccount>();
    let pods = process.informers.informer::<Pod>();
    let cleaner = Cleaner {
        secrets: secrets.lister(),
        accounts: accounts.lister(),
        pods: pods.lister(),
        clock: process.ambient.clock.clone(),
        unused: SignedDuration::try_from(config.legacy_token_clean_up_period).unwrap_or(SignedDuration::MAX),
    };
    let controller = Controller::new(process, "legacy-serviceaccount-token-cleaner", cleaner)
        .client(config.client(process))
        .reads(&secrets)
        .reads(&accounts)
        .reads(&pods);
    controller.queue().add(ALL, &[]);
    Box::pin(controller.run())
}

struct Cleaner {
    secrets: Lister<Secret>,
    accounts: Lister<ServiceAccount>,
    pods: Lister<Pod>,
    clock: Clock,
    /// How long a token must be unused.
    unused: SignedDuration,
}

impl Reconciler<&'static str> for Cleaner {
    async fn reconcile(&self, pass: &Pass, _: &&'static str) -> Result<Action, ReconcileError> {
        let secrets = self.secrets.list();
        if secrets.is_empty() {
            pass.decided(|| "there is no token: look again in a day");
        } else {
            self.clean(pass, &secrets).await;
        }
        Ok(Action::RequeueAfter(DAY))
    }
}

impl Cleaner {
    /// What fails is retried with the next run.
    async fn clean(&self, pass: &Pass, secrets: &[std::sync::Arc<Secret>]) {
        let now = self.clock.now();
        let Some(tracked) = tracked_since(pass).await else {
            return pass.decided(|| "nothing says since when the use of tokens is noted: keep all");
        };
        let Ok(unused_since) = now.checked_sub(self.unused) else { return };
        if unused_since < tracked {
            return pass.decided(|| "the use of tokens is not noted for long enough: keep all");
        }
        let mut mounted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for secret in secrets {
            let ObjectKey { namespace, name } = secret.key();
            if !is_unused(secret, unused_since) || !self.is_listed(secret) {
                continue;
            }
            let mounted = mounted.entry(namespace.clone()).or_insert_with(|| self.mounted(&namespace));
            if mounted.contains(&name) {
                continue;
            }
            if let Err(error) = self.retire(pass, secret, now, unused_since).await {
                tracing::debug!(%error, secret = %secret.key(), "a token could not be retired");
            }
        }
    }

    /// Whether the service account that the Secret names lists it, as only automatically created Secrets are.
    fn is_listed(&self, secret: &Secret) -> bool {
        let annotations = &secret.metadata.annotations;
        let ObjectKey { namespace, name } = secret.key();
        let account =
            annotations.get(ACCOUNT).and_then(|account| self.accounts.get(&ObjectKey::new(namespace, account)));
        let is_meant = |account: &ServiceAccount| match annotations.get(ACCOUNT_UID) {
            Some(uid) if !uid.is_empty() => account.metadata.uid.as_ref() == Some(uid),
            _ => true,
        };
        account.is_some_and(|account| is_meant(&account) && account.secrets.iter().any(|listed| listed.name == name))
    }

    fn mounted(&self, namespace: &str) -> BTreeSet<String> {
        let pods = self.pods.list_namespace(namespace);
        pods.iter().flat_map(|pod| pod.secret_names()).map(str::to_owned).collect()
    }

    async fn retire(&self, pass: &Pass, secret: &Secret, now: Timestamp, unused_since: Timestamp) -> Result<(), Error> {
        let (key, metadata) = (secret.key(), &secret.metadata);
        match metadata.labels.get(INVALID_SINCE).filter(|day| is_day(day)) {
            None => {
                pass.decided(|| format!("{key} is not used: invalid from now on"));
                let labels = json!({INVALID_SINCE: day(now)});
                let patch = json!({"metadata": {"uid": metadata.uid, "labels": labels}});
                pass.api::<Secret>().patch(&key, &Patch::Merge(patch)).await.map(drop)
            }
            Some(since) if *since >= day(unused_since) => Ok(()),
            Some(since) => {
                pass.decided(|| format!("{key} is invalid since {since}: delete"));
                let version = metadata.resource_version.clone().unwrap_or_default();
                let params = DeleteParams::default().with_resource_version(version);
                match pass.api::<Secret>().delete(&key, &params).await {
                    Err(error) if !error.is_conflict() && !error.is_not_found() => Err(error),
                    _ => Ok(()),
                }
            }
        }
    }
}

/// The beginning of the first day on which every use was recorded; `None` if it is unknown.
async fn tracked_since(pass: &Pass) -> Option<Timestamp> {
    let key = ObjectKey::new(TRACKING.0, TRACKING.1);
    let map: ConfigMap = match pass.api().get(&key).await {
        Ok(map) => map,
        Err(error) => {
            tracing::debug!(%error, "since when the use of tokens is noted is not known");
            return None;
        }
    };
    let began = parse_time(&format!("{}T00:00:00Z", map.data.get(SINCE)?))?;
    began.checked_add(SignedDuration::from_hours(24)).ok()
}

/// Whether a token is older than `since`, and was not used from then on.
fn is_unused(secret: &Secret, since: Timestamp) -> bool {
    let metadata = &secret.metadata;
    let is_old = metadata.creation_timestamp.as_deref().and_then(parse_time).is_some_and(|made| made < since);
    let is_unused = match metadata.labels.get(LAST_USED) {
        // A Secret without the label was not used since uses are recorded.
        None => true,
        Some(used) => is_day(used) && *used < day(since),
    };
    is_old && is_unused && !metadata.is_terminating()
}

fn day(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}

fn is_day(text: &str) -> bool {
    parse_time(&format!("{text}T00:00:00Z")).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_unused_if_it_is_old_and_its_last_day_was_before() {
        let since = parse_time("2026-03-01T12:00:00Z").unwrap();
        let unused = |made: &str, used: Option<&str>| {
            let mut secret = Secret::default();
            secret.metadata.creation_timestamp = Some(made.to_owned());
            secret.metadata.labels = used.map(|used| (LAST_USED.to_owned(), used.to_owned())).into_iter().collect();
            is_unused(&secret, since)
        };
        assert!(unused("2026-03-01T11:59:59Z", None));
        assert!(!unused("2026-03-01T12:00:00Z", None));
        assert!(unused("2026-01-01T00:00:00Z", Some("2026-02-28")));
        assert!(!unused("2026-01-01T00:00:00Z", Some("2026-03-01")), "used on the day itself");
        assert!(!unused("2026-01-01T00:00:00Z", Some("long ago")), "nobody can tell");
    }
}
