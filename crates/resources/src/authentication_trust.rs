//! Publishes the certificate authorities and headers that this API server trusts for extension API servers, in a
//! ConfigMap.
//!
//! In Kubernetes: `pkg/controlplane/controller/clusterauthenticationtrust`.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use coracle_meta::fields::Fields;
use coracle_meta::{Object, Status, WatchEvent};
use coracle_registry::{GetOptions, Plan, Registry, Request, Verb};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::built_in::object;
use crate::config_map_watch::{changes, config_maps};

const NAMESPACE: &str = "kube-system";
const NAME: &str = "extension-apiserver-authentication";
/// The delay after an error.
const RETRY: Duration = Duration::from_secs(1);

/// The certificate authorities and headers that one API server trusts.
#[derive(Clone, Debug, Default)]
pub struct AuthenticationTrust {
    data: BTreeMap<&'static str, String>,
}

/// The certificate authority of front proxies, and the headers with which they send the user.
#[derive(Clone, Copy, Debug)]
pub struct TrustedProxies<'a> {
    /// The authority of their certificates (PEM).
    pub authority: &'a str,
    /// Their common names.
    pub allowed_names: &'a [String],
    /// The headers of the user name.
    pub username_headers: &'a [String],
    /// The headers of the uid.
    pub uid_headers: &'a [String],
    /// The headers of groups.
    pub group_headers: &'a [String],
    /// The prefixes of the headers of extra attributes.
    pub extra_headers_prefix: &'a [String],
}

impl AuthenticationTrust {
    /// The trust of users' certificates by `clients` (PEM), and of front proxies.
    pub fn new(clients: Option<&str>, proxies: Option<TrustedProxies<'_>>) -> Self {
        let mut data = BTreeMap::new();
        if let Some(clients) = clients {
            data.insert("client-ca-file", clients.to_owned());
        }
        if let Some(proxies) = proxies {
            data.insert("requestheader-client-ca-file", proxies.authority.to_owned());
            for (key, list) in [
                ("requestheader-allowed-names", proxies.allowed_names),
                ("requestheader-username-headers", proxies.username_headers),
                ("requestheader-uid-headers", proxies.uid_headers),
                ("requestheader-group-headers", proxies.group_headers),
                ("requestheader-extra-headers-prefix", proxies.extra_headers_prefix),
            ] {
                if !(key == "requestheader-uid-headers" && list.is_empty()) {
                    data.insert(key, json!(list).to_string());
                }
            }
        }
        Self { data }
    }

    /// Adds what this API server trusts to what other API servers have written.
    pub(crate) async fn sync(&self, registry: &Registry) -> Result<(), Status> {
        if self.data.is_empty() {
            return Ok(());
        }
        let now = registry.ambient().clock.now();
        let request =
            |verb| Request { field_manager: "kube-apiserver".to_owned(), ..Request::new(verb, config_maps(), now) };
        match registry.get(&request(Verb::Get).object(NAMESPACE, NAME), &GetOptions::default()).await {
            Ok(found) if self.among(&found.object()) == *found.object().at("data") => Ok(()),
            Ok(_) => {
                let complete = |map: &Arc<Object>| {
                    Plan::edit(map, |map| {
                        map.set("data", self.among(map));
                        Ok(())
                    })
                };
                registry.modify(&request(Verb::Update).object(NAMESPACE, NAME), complete).await.map(drop)
            }
            Err(status) if status.is_not_found() => {
                let mut map = object("", "ConfigMap", NAME, json!({"data": self.data}));
                map.set("metadata.namespace", NAMESPACE);
                match registry.create(&request(Verb::Create).object(NAMESPACE, ""), map).await {
                    Err(status) if !status.is_already_exists() => Err(status),
                    _ => Ok(()),
                }
            }
            Err(status) => Err(status),
        }
    }

    /// The entries of the ConfigMap with those of this server.
    fn among(&self, map: &Object) -> Value {
        let mut data = map.at("data").clone();
        if !data.is_object() {
            data = json!({});
        }
        for (key, own) in &self.data {
            let there = data[*key].as_str().unwrap_or("");
            data[*key] =
                if key.ends_with("-file") { both_authorities(there, own) } else { both_lists(there, own) }.into();
        }
        data
    }

    /// Keeps the ConfigMap up to date, until it is dropped.
    pub(crate) async fn run(&self, registry: Registry) -> Infallible {
        if self.data.is_empty() {
            return std::future::pending().await;
        }
        loop {
            if let Ok(mut changes) = changes(&registry, NAMESPACE, NAME).await {
                while self.sync(&registry).await.is_ok()
                    && !matches!(changes.next().await, None | Some(WatchEvent::Error(_)))
                {}
            }
            sleep(RETRY).await;
        }
    }
}

/// The names of both lists, without duplicates. A value that is not a list counts as empty.
fn both_lists(there: &str, own: &str) -> String {
    let read = |text: &str| serde_json::from_str::<Vec<String>>(text).unwrap_or_default();
    let there = read(there);
    let mut seen: BTreeSet<String> = there.iter().cloned().collect();
    let more: Vec<String> = read(own).into_iter().filter(|name| seen.insert(name.clone())).collect();
    json!([there, more].concat()).to_string()
}

/// The certificates of both texts, without duplicates.
fn both_authorities(there: &str, own: &str) -> String {
    const END: &str = "-----END CERTIFICATE-----";
    let mut seen = BTreeSet::new();
    let blocks = there.split_inclusive(END).chain(own.split_inclusive(END)).map(str::trim);
    let all = blocks.filter(|block| block.ends_with(END) && seen.insert(*block));
    all.map(|block| format!("{block}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_other_servers_stay() {
        let own = "-----BEGIN CERTIFICATE-----\nB\n-----END CERTIFICATE-----\n";
        let others = "-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----\n";
        let both = both_authorities(others, own);
        assert_eq!(both, format!("{others}{own}"));
        assert_eq!(both_authorities(&both, own), both);
        assert_eq!(both_lists("[\"a\"]", "[\"b\",\"a\"]"), "[\"a\",\"b\"]");
        assert_eq!(both_lists("no list", "[\"b\"]"), "[\"b\"]");
    }
}
