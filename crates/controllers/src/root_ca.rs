//! Publishes the certificate authority of the API server in a ConfigMap of each active namespace, for pods.
//!
//! In Kubernetes: `pkg/controller/certificates/rootcacertpublisher`.

use std::collections::BTreeMap;

use coracle_api::core_v1::{ConfigMap, Namespace};
use coracle_client::Api;
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of};
use coracle_informer::{Lister, Notification, Selection};
use coracle_meta::ObjectKey;
use futures_util::future::BoxFuture;

use crate::Config;

const NAME: &str = "kube-root-ca.crt";
const ENTRY: &str = "ca.crt";
const DESCRIPTION: &str = "kubernetes.io/description";
const DESCRIPTION_TEXT: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal \
     endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across \
     distributions of Kubernetes clusters.";

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let namespaces = process.informers.informer::<Namespace>();
    let selection = Selection { fields: format!("metadata.name={NAME}"), ..Selection::default() };
    let maps = process.informers.selected::<ConfigMap>(selection);
    let reconciler = RootCa { namespaces: namespaces.lister(), maps: maps.lister(), root_ca: config.root_ca.clone() };
    let controller = Controller::new(process, "root-ca-certificate-publisher", reconciler)
        .client(config.client(process))
        .watches(&namespaces, key_of)
        .watches(&maps, namespace_of_changed);
    Box::pin(controller.run())
}

/// The namespace whose ConfigMap was deleted or changed.
fn namespace_of_changed(notification: &Notification<ConfigMap>) -> Vec<ObjectKey> {
    match notification {
        Notification::Added { .. } => Vec::new(),
        Notification::Updated { new: object, .. } | Notification::Deleted { object, .. } => {
            object.metadata.namespace.clone().map(ObjectKey::cluster).into_iter().collect()
        }
    }
}

struct RootCa {
    namespaces: Lister<Namespace>,
    maps: Lister<ConfigMap>,
    root_ca: String,
}

impl Reconciler for RootCa {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        if self.namespaces.get(key).is_none_or(|namespace| namespace.status.phase != "Active") {
            return pass.done(|| "it is not an active namespace: nothing to do");
        }
        let maps: Api<ConfigMap> = pass.api();
        let wanted = BTreeMap::from([(ENTRY.to_owned(), self.root_ca.clone())]);
        let current = self.maps.get(&ObjectKey::new(key.name.as_str(), NAME));
        let written = match current.as_deref() {
            None => {
                pass.decided(|| format!("there is no {NAME}: create it"));
                maps.create(&with_data(ConfigMap::default(), &key.name, wanted)).await
            }
            Some(map) if map.data == wanted && map.metadata.annotations.contains_key(DESCRIPTION) => {
                return pass.done(|| format!("{NAME} is as it has to be: nothing to do"));
            }
            Some(map) => {
                pass.decided(|| format!("{NAME} is not as it has to be: update it"));
                maps.update(&with_data(map.clone(), &key.name, wanted)).await
            }
        };
        match written {
            Err(error) if !error.is_already_exists() => Err(error.into()),
            _ => Ok(Action::Done),
        }
    }
}

fn with_data(mut map: ConfigMap, namespace: &str, data: BTreeMap<String, String>) -> ConfigMap {
    map.metadata.name = Some(NAME.to_owned());
    map.metadata.namespace = Some(namespace.to_owned());
    map.metadata.annotations.insert(DESCRIPTION.to_owned(), DESCRIPTION_TEXT.to_owned());
    map.data = data;
    map
}
