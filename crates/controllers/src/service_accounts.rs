//! Keeps a ServiceAccount `default` in each active namespace.
//!
//! In Kubernetes: `pkg/controller/serviceaccount/serviceaccounts_controller.go`.

use coracle_api::core_v1::{Namespace, ServiceAccount};
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of};
use coracle_informer::{Lister, Notification};
use coracle_meta::ObjectKey;
use futures_util::future::BoxFuture;

use crate::Config;

const NAME: &str = "default";

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let namespaces = process.informers.informer::<Namespace>();
    let accounts = process.informers.informer::<ServiceAccount>();
    let reconciler = ServiceAccounts { namespaces: namespaces.lister(), accounts: accounts.lister() };
    let controller = Controller::new(process, "serviceaccount", reconciler)
        .client(config.client(process))
        .watches(&namespaces, key_of)
        .watches(&accounts, namespace_of_deleted);
    Box::pin(controller.run())
}

/// The namespace whose account was deleted.
fn namespace_of_deleted(notification: &Notification<ServiceAccount>) -> Vec<ObjectKey> {
    match notification {
        Notification::Deleted { object, .. } => {
            object.metadata.namespace.clone().map(ObjectKey::cluster).into_iter().collect()
        }
        Notification::Added { .. } | Notification::Updated { .. } => Vec::new(),
    }
}

struct ServiceAccounts {
    namespaces: Lister<Namespace>,
    accounts: Lister<ServiceAccount>,
}

impl Reconciler for ServiceAccounts {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let active = self.namespaces.get(key).is_some_and(|namespace| namespace.status.phase == "Active");
        let wanted = ObjectKey::new(key.name.as_str(), NAME);
        if !active {
            return pass.done(|| "it is not an active namespace: nothing to do");
        }
        if self.accounts.get(&wanted).is_some() {
            return pass.done(|| format!("{wanted} is there: nothing to do"));
        }
        pass.decided(|| format!("there is no account {wanted}: create it"));
        let mut account = ServiceAccount::default();
        account.metadata.name = Some(wanted.name);
        account.metadata.namespace = Some(wanted.namespace);
        pass.create_if_missing(&account).await?;
        Ok(Action::Done)
    }
}
