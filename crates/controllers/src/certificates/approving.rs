//! Approves the certificate requests that kubelets make for themselves, if RBAC allows it.
//!
//! In Kubernetes: `pkg/controller/certificates/approver`.

use std::time::Duration;

use coracle_api::certificates_v1::{CertificateSigningRequest, CertificateSigningRequestCondition};
use coracle_client::Api;
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of};
use coracle_informer::Lister;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Object, ObjectKey};
use coracle_workqueue::RateLimiter;
use futures_util::future::BoxFuture;
use serde_json::json;

use super::request::{Content, KUBELET_CLIENT, has};
use crate::Config;

const NAME: &str = "certificatesigningrequest-approving";

/// The approving controller.
pub(crate) fn approving(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let requests = process.informers.informer::<CertificateSigningRequest>();
    let limits = RateLimiter::exponential(Duration::from_millis(200), Duration::from_secs(1000));
    let queue = process.queue(NAME, limits);
    let controller = Controller::on_queue(process, NAME, queue, Approving { requests: requests.lister() })
        .client(config.client(process))
        .watches(&requests, key_of);
    Box::pin(controller.run())
}

struct Approving {
    requests: Lister<CertificateSigningRequest>,
}

impl Reconciler for Approving {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(request) = self.requests.get(key) else { return pass.gone() };
        let status = &request.status;
        if !status.certificate.is_empty() || has(status, "Approved") || has(status, "Denied") {
            return pass.done(|| "it is decided already: nothing to do");
        }
        let content = Content::read(&request).map_err(ReconcileError::Object)?;
        let is_of_kubelet = request.spec.signer_name == KUBELET_CLIENT;
        if !is_of_kubelet || content.check_kubelet_client(&request.spec.usages).is_err() {
            return pass.done(|| "no kubelet asks for a certificate of its own: nothing to do");
        }
        let itself = request.spec.username == content.common_name;
        let permissions = [("selfnodeclient", "self kubelet", itself), ("nodeclient", "kubelet", true)];
        let mut tried = Vec::new();
        for (permission, of, _) in permissions.into_iter().filter(|(.., recognized)| *recognized) {
            tried.push(permission);
            if may(pass, &request, permission).await? {
                pass.decided(|| format!("{} may ask for it ({permission}): approve", request.spec.username));
                approve(pass, &request, of).await?;
                return Ok(Action::Done);
            }
        }
        let (name, tried) = (&key.name, tried.join(" "));
        let why = format!("recognized csr {name:?} as [{tried}] but subject access review was not approved");
        Err(ReconcileError::Object(why))
    }
}

/// Whether the requester may be approved automatically, by a SubjectAccessReview.
async fn may(pass: &Pass, request: &CertificateSigningRequest, subresource: &str) -> Result<bool, ReconcileError> {
    let spec = &request.spec;
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {},
        "spec": {
            "user": spec.username, "uid": spec.uid, "groups": spec.groups, "extra": spec.extra,
            "resourceAttributes": {
                "group": "certificates.k8s.io", "resource": "certificatesigningrequests", "verb": "create",
                "subresource": subresource, "version": "*",
            },
        },
    });
    let review = Object::from_value(review).map_err(|error| ReconcileError::Object(error.to_string()))?;
    let reviews = GroupVersionResource::new("authorization.k8s.io", "v1", "subjectaccessreviews");
    let review: Object = Api::dynamic(pass.client(), reviews).create(&review).await?;
    Ok(review.flag("status.allowed"))
}

async fn approve(pass: &Pass, request: &CertificateSigningRequest, of: &str) -> Result<(), ReconcileError> {
    let mut approved = request.clone();
    approved.status.conditions.push(CertificateSigningRequestCondition {
        type_: "Approved".to_owned(),
        status: "True".to_owned(),
        reason: "AutoApproved".to_owned(),
        message: format!("Auto approving {of} client certificate after SubjectAccessReview."),
        ..CertificateSigningRequestCondition::default()
    });
    let (api, key) = (pass.api::<CertificateSigningRequest>(), coracle_meta::Resource::key(request));
    let version = request.metadata.resource_version.clone().unwrap_or_default();
    api.update_subresource::<CertificateSigningRequest>(&key, "approval", &approved, &version).await?;
    Ok(())
}
