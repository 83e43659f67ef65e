//! The stage of a sync that requests and refreshes the pod certificates of projected volumes.
//!
//! In Kubernetes: `IssuingManager`, which has a queue of its own. Unlike Kubernetes: the node looks at a certificate when
//! its time comes, not every one to two minutes, and a refreshed certificate is in the files at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_ambient::SignedDuration;
use coracle_api::certificates_v1::PodCertificateRequest;
use coracle_api::core_v1::{Pod, PodCertificateProjection, ServiceAccount};
use coracle_container_programs::{ProjectedSource, Texts};
use coracle_controller_runtime::EventType;
use coracle_meta::{ObjectKey, OwnerReference, Resource};
use coracle_private_keys::{KeyType, PrivateKey};

use crate::certificates::{Credential, PodCertificate};
use crate::pod::lifecycle::PodStage;
use crate::status::pod_events::PodEvent;
use crate::sync::sync_pass::SyncPass;

/// The maximum jitter of a refresh, in nanoseconds. In Kubernetes: `jitterDuration`.
const MOST_JITTER: u64 = 5 * 60 * 1_000_000_000;

/// The pod certificates among the projected sources of a pod.
fn sources(pod: &Pod) -> impl Iterator<Item = (ProjectedSource, &PodCertificateProjection)> {
    let projected = pod.spec.volumes.iter().filter_map(|volume| Some((volume, volume.projected.as_deref()?)));
    projected.flat_map(|(volume, projected)| {
        let sources = projected.sources.iter().enumerate();
        sources.filter_map(|(at, source)| Some(((volume.name.clone(), at), source.pod_certificate.as_deref()?)))
    })
}

impl SyncPass<'_> {
    /// Requests and refreshes the pod certificates that are due; returns the files of each, or why there are none.
    pub(crate) async fn issue_certificates(&mut self) -> BTreeMap<ProjectedSource, Result<Texts, String>> {
        let pod = self.pod;
        let mut found = BTreeMap::new();
        for (at, source) in sources(pod) {
            if !self.pods.has_pod_certificates {
                found.insert(at, Err("unimplemented".to_owned()));
                continue;
            }
            let mut certificate = self.node.certificates.get(self.key, self.uid(), &at);
            if self.issues_certificates() {
                self.look_at_certificate(&mut certificate, &at, source).await;
                self.node.certificates.set(self.key, self.uid(), &at, certificate.clone());
            }
            found.insert(at, certificate.credential().map(|credential| files(credential, source)));
        }
        let issued = found.iter().filter_map(|(at, files)| Some((at.clone(), files.as_ref().ok()?.clone())));
        self.node.machine.credentials.write(self.key, self.uid(), issued);
        found
    }

    /// Whether the pod gets certificates: it has not ended, and the node reaches the API.
    fn issues_certificates(&self) -> bool {
        let running = self.node.machine.pod(self.key).filter(|running| running.uid == self.uid());
        let has_ended = running.is_some_and(|running| running.runtime.stage == PodStage::Ended);
        let is_able = self.pods.certificate_requests.has_node(&self.node.name) && !self.node.machine.is_cut_off();
        is_able && !has_ended && !self.pod.is_finished() && !self.bound.is_static
    }

    async fn look_at_certificate(
        &mut self,
        certificate: &mut PodCertificate,
        at: &ProjectedSource,
        source: &PodCertificateProjection,
    ) {
        let now = self.pods.clock.now();
        let lister = self.pods.certificate_requests.lister();
        let seen =
            certificate.pending_request().and_then(|name| lister.get(&ObjectKey::new(&*self.key.namespace, name)));
        let due = certificate.observe(seen.as_deref(), now, || self.jitter(at));
        for (reason, message) in due.events {
            let event = PodEvent { place: None, event_type: EventType::Warning, reason: reason.into(), message };
            self.add_event(event);
        }
        let mut again = due.again;
        if due.needs_request {
            match self.request_certificate(certificate, at, source).await {
                Ok(()) => {}
                Err(why) => {
                    self.pass.decided(|| format!("no request for a pod certificate: {why}"));
                    certificate.request_failed(now);
                }
            }
            again = certificate.observe(None, now, SignedDuration::default).again;
        }
        self.certificates_at = self.certificates_at.into_iter().chain(again).min();
    }

    /// Makes a key and a request for it. In Kubernetes: `createPodCertificateRequest`.
    async fn request_certificate(
        &self,
        certificate: &mut PodCertificate,
        at: &ProjectedSource,
        source: &PodCertificateProjection,
    ) -> Result<(), String> {
        let key_type = match KeyType::named(&source.key_type) {
            Ok(key_type) => key_type,
            Err(error) => {
                certificate.refuse(error.to_string());
                return Ok(());
            }
        };
        let account = ObjectKey::new(&*self.key.namespace, &*self.pod.spec.service_account_name);
        let account = self.pass.api::<ServiceAccount>().get(&account).await;
        let account = account.map_err(|error| format!("while fetching service account: {error}"))?;
        let node = self.pods.node_objects.get(&ObjectKey::cluster(&*self.node.name));
        let node = node.ok_or_else(|| {
            format!("while getting node object from local cache: node {:?} not found", &*self.node.name)
        })?;
        let key = PrivateKey::generate(key_type, &self.draw("private key", at));
        let key = key.map_err(|error| format!("while generating keypair: {error}"))?;
        let proof = key.certificate_request();
        let proof = proof.map_err(|error| format!("while generating stub PKCS#10 request: {error}"))?;
        let mut request = PodCertificateRequest::default();
        request.metadata.namespace = Some(self.key.namespace.clone());
        request.metadata.generate_name = Some("req-".to_owned());
        request.metadata.owner_references = vec![OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            name: self.key.name.clone(),
            uid: self.uid().to_owned(),
            ..OwnerReference::default()
        }];
        let spec = &mut request.spec;
        spec.signer_name.clone_from(&source.signer_name);
        (spec.pod_name, spec.pod_uid) = (self.key.name.clone(), self.uid().to_owned());
        spec.service_account_name.clone_from(&self.pod.spec.service_account_name);
        spec.service_account_uid = account.meta().uid.clone().unwrap_or_default();
        (spec.node_name, spec.node_uid) = (self.node.name.to_string(), node.meta().uid.clone().unwrap_or_default());
        spec.max_expiration_seconds = source.max_expiration_seconds;
        spec.stub_pkcs10_request = STANDARD.encode(proof);
        spec.unverified_user_annotations.clone_from(&source.user_annotations);
        let made = self.pass.api::<PodCertificateRequest>().create(&request).await;
        let made = made.map_err(|error| format!("while creating on API: {error}"))?;
        certificate.requested(key.pem(), &made, self.pods.clock.now(), self.jitter(at));
        Ok(())
    }

    fn jitter(&self, at: &ProjectedSource) -> SignedDuration {
        let nanoseconds = self.draw("jitter", at).below(MOST_JITTER);
        SignedDuration::from_nanos(i64::try_from(nanoseconds).unwrap_or(i64::MAX))
    }

    fn draw(&self, what: &str, (volume, index): &ProjectedSource) -> coracle_ambient::Random {
        let ObjectKey { namespace, name, .. } = self.key;
        self.pods.random.keyed(&["pod certificate", what, namespace, name, volume, &index.to_string()])
    }
}

/// The files of a credential. In Kubernetes: the part of `collectData` about pod certificates.
fn files(credential: &Credential, source: &PodCertificateProjection) -> Texts {
    let Credential { key, chain, .. } = credential;
    let both = format!("{key}{chain}");
    let files =
        [(&source.credential_bundle_path, &both), (&source.key_path, key), (&source.certificate_chain_path, chain)];
    let files = files.into_iter().filter(|(path, _)| !path.is_empty());
    files.map(|(path, text)| (path.clone(), Arc::from(text.as_str()))).collect()
}
