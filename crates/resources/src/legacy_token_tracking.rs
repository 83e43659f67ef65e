//! Publishes the day since which the last use of tokens in Secrets is tracked.
//!
//! In Kubernetes: `pkg/controlplane/controller/legacytokentracking`.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Timestamp;
use coracle_meta::{Object, Status, WatchEvent, parse_time};
use coracle_registry::{GetOptions, Plan, Registry, Request, Verb};
use futures_util::future::{Either, pending, select};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::built_in::object;
use crate::config_map_watch::{changes, config_maps};

const NAMESPACE: &str = "kube-system";
const NAME: &str = "kube-apiserver-legacy-service-account-token-tracking";
/// The entry with the day.
const SINCE: &str = "since";
/// The delay before a deleted ConfigMap is created again.
const PAUSE: Duration = Duration::from_secs(30 * 60);
/// The delay after an error.
const RETRY: Duration = Duration::from_secs(1);

/// Keeps the ConfigMap with the day.
#[derive(Debug, Default)]
pub(crate) struct LegacyTokenTracking {
    /// When the ConfigMap was last created.
    made: Mutex<Option<Instant>>,
}

impl LegacyTokenTracking {
    /// Creates the ConfigMap if it is missing, and repairs an invalid day. Returns the delay before the next attempt.
    pub(crate) async fn sync(&self, registry: &Registry) -> Result<Option<Duration>, Status> {
        let now = registry.ambient().clock.now();
        let request = |verb| Request::new(verb, config_maps(), now);
        match registry.get(&request(Verb::Get).object(NAMESPACE, NAME), &GetOptions::default()).await {
            Ok(found) if is_day(found.object().text(&["data", SINCE])) => Ok(None),
            Ok(_) => {
                let repair = |map: &Arc<Object>| {
                    Plan::edit(map, |map| {
                        map.set(&["data", SINCE], day(now));
                        Ok(())
                    })
                };
                registry.modify(&request(Verb::Update).object(NAMESPACE, NAME), repair).await.map(|_| None)
            }
            Err(status) if status.is_not_found() => {
                let since = self.made.lock().map(|made| made.elapsed());
                if let Some(left) = since.and_then(|since| PAUSE.checked_sub(since)).filter(|left| !left.is_zero()) {
                    return Ok(Some(left));
                }
                match registry.create(&request(Verb::Create).object(NAMESPACE, ""), config_map(now)).await {
                    Err(status) if !status.is_already_exists() => return Err(status),
                    _ => {}
                }
                *self.made.lock() = Some(Instant::now());
                Ok(None)
            }
            Err(status) => Err(status),
        }
    }

    /// Keeps the ConfigMap correct, until it is dropped.
    pub(crate) async fn run(&self, registry: Registry) -> Infallible {
        loop {
            self.watch(&registry).await;
            sleep(RETRY).await;
        }
    }

    /// Handles each change, until the watch ends.
    async fn watch(&self, registry: &Registry) {
        let Ok(mut changes) = changes(registry, NAMESPACE, NAME).await else { return };
        loop {
            let again = self.sync(registry).await.unwrap_or(Some(RETRY));
            let due = async {
                match again {
                    Some(left) => sleep(left).await,
                    None => pending().await,
                }
            };
            if let Either::Left((None | Some(WatchEvent::Error(_)), _)) = select(pin!(changes.next()), pin!(due)).await
            {
                return;
            }
        }
    }
}

fn config_map(now: Timestamp) -> Object {
    let mut map = object("", "ConfigMap", NAME, json!({"data": {SINCE: day(now)}}));
    map.set("metadata.namespace", NAMESPACE);
    map
}

fn day(now: Timestamp) -> String {
    now.strftime("%Y-%m-%d").to_string()
}

fn is_day(text: &str) -> bool {
    parse_time(&format!("{text}T00:00:00Z")).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_validated() {
        assert!(is_day(&day(Timestamp::UNIX_EPOCH)) && is_day("2026-02-28"));
        assert!(!is_day("") && !is_day("2026-02-30") && !is_day("2026-02-03T04:05:06Z") && !is_day("yesterday"));
    }
}
