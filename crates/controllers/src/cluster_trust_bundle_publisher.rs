//! Publishes the certificate authority of the API server as a ClusterTrustBundle, and removes other bundles of its
//! signer.
//!
//! The name of the bundle contains a hash of its content, so that pods never see two contents under one name. The API
//! server refuses a certificate without the CA bit; the controller then retries with back-off.
//! In Kubernetes: `pkg/controller/certificates/clustertrustbundlepublisher`.

use std::fmt::Write;

use coracle_api::certificates_v1::ClusterTrustBundle;
use coracle_client::DeleteParams;
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler};
use coracle_informer::{Lister, Selection};
use coracle_meta::{ObjectKey, Resource};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sha2::{Digest, Sha256};

use crate::Config;

/// The signer of the serving certificates of the API server.
const SIGNER: &str = "kubernetes.io/kube-apiserver-serving";
/// How many bytes of the hash are in the name.
const HASH_BYTES: usize = 12;

/// The publisher; it does nothing without a certificate authority.
pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    if config.root_ca.is_empty() {
        return std::future::ready(()).boxed();
    }
    let selection = Selection { fields: format!("spec.signerName={SIGNER}"), ..Selection::default() };
    let bundles = process.informers.selected::<ClusterTrustBundle>(selection);
    let publisher = Publisher { bundles: bundles.lister(), wanted: bundle_of(&config.root_ca) };
    // One key for all bundles, so that the first pass sees them all.
    let key = || ObjectKey::cluster(SIGNER);
    let controller = Controller::new(process, "kube-apiserver-serving-clustertrustbundle-publisher", publisher)
        .client(config.client(process))
        .watches(&bundles, move |_| vec![key()]);
    controller.queue().add(key(), &[]);
    controller.run().boxed()
}

struct Publisher {
    bundles: Lister<ClusterTrustBundle>,
    wanted: ClusterTrustBundle,
}

impl Reconciler for Publisher {
    async fn reconcile(&self, pass: &Pass, _: &ObjectKey) -> Result<Action, ReconcileError> {
        let wanted = &self.wanted;
        let name = wanted.key().name;
        match self.bundles.get(&wanted.key()).as_deref() {
            None => {
                pass.decided(|| format!("there is no {name}: create it"));
                pass.api().create(wanted).await?;
            }
            Some(bundle) if bundle.spec.trust_bundle != wanted.spec.trust_bundle => {
                pass.decided(|| format!("{name} is not as it has to be: update it"));
                let mut updated = bundle.clone();
                updated.spec.trust_bundle.clone_from(&wanted.spec.trust_bundle);
                pass.api().update(&updated).await?;
            }
            Some(_) => {}
        }
        let mut failed = None;
        for other in self.bundles.list().iter().map(|bundle| bundle.key()).filter(|key| key.name != name) {
            pass.decided(|| format!("{} is of another authority: delete it", other.name));
            let deleted = pass.delete_if_there::<ClusterTrustBundle>(&other, &DeleteParams::default()).await;
            failed = deleted.err().or(failed);
        }
        failed.map_or(Ok(Action::Done), Err)
    }
}

/// In Kubernetes: `constructBundleName`, `createClusterTrustBundle`.
fn bundle_of(root_ca: &str) -> ClusterTrustBundle {
    let mut name = format!("{}:", SIGNER.replace('/', ":"));
    for byte in Sha256::digest(root_ca).iter().take(HASH_BYTES) {
        let _ = write!(name, "{byte:02x}");
    }
    let mut bundle = ClusterTrustBundle::default();
    bundle.metadata.name = Some(name);
    SIGNER.clone_into(&mut bundle.spec.signer_name);
    root_ca.clone_into(&mut bundle.spec.trust_bundle);
    bundle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_bundle_has_the_beginning_of_the_hash_of_its_content() {
        let bundle = bundle_of("authority");
        let name = bundle.metadata.name.unwrap();
        let hash = name.strip_prefix("kubernetes.io:kube-apiserver-serving:").unwrap();
        assert_eq!(hash, "8f76fd501bb68ef71f4e276b");
        assert_eq!(bundle.spec.signer_name, SIGNER);
    }
}
