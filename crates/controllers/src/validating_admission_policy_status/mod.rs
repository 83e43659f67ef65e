//! Type-checks the expressions of admission policies against the kinds that they match, and reports errors in their
//! status.
//!
//! Watches policies. In Kubernetes: `pkg/controller/validatingadmissionpolicystatus`, with the `TypeChecker` of
//! `apiserver/pkg/admission/plugin/policy/validating`.

mod decide;
mod schemas;

use coracle_api::admissionregistration_v1::ValidatingAdmissionPolicy;
use coracle_client::{Api, Patch, WriteParams};
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of, unless_gone};
use coracle_informer::Lister;
use coracle_meta::ObjectKey;
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::Config;
use schemas::Schemas;

const FIELD_MANAGER: &str = "validatingadmissionpolicy-status";

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let policies = process.informers.informer::<ValidatingAdmissionPolicy>();
    let status = PolicyStatus { policies: policies.lister() };
    let controller = Controller::new(process, "validatingadmissionpolicy-status", status)
        .client(config.client(process))
        .watches(&policies, key_of)
        .workers(5);
    Box::pin(controller.run())
}

struct PolicyStatus {
    policies: Lister<ValidatingAdmissionPolicy>,
}

impl Reconciler for PolicyStatus {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(policy) = self.policies.get(key) else { return pass.gone() };
        let generation = policy.metadata.generation.unwrap_or_default();
        if generation <= policy.status.observed_generation {
            return pass.done(|| "this generation is checked: nothing to do");
        }
        let served = pass.client().discover().await?;
        let mut schemas = Schemas::new(pass.client());
        let mut types = Vec::new();
        for kind in decide::kinds(&policy, &served) {
            if let Some(schema) = schemas.of(&kind).await? {
                types.push((kind, schema));
            }
        }
        let parameters = match decide::parameter_kind(&policy) {
            Some(kind) => schemas.of(&kind).await?,
            None => None,
        };
        let warnings = decide::warnings(&policy, &types, parameters.as_ref());
        pass.decided(|| format!("{} kinds: {} warnings", types.len(), warnings.len()));
        let warnings: Vec<_> =
            warnings.iter().map(|(field, warning)| json!({"fieldRef": field, "warning": warning})).collect();
        let checked = if warnings.is_empty() { json!({}) } else { json!({ "expressionWarnings": warnings }) };
        let object = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": key.name},
            "status": {"observedGeneration": generation, "typeChecking": checked},
        });
        let write = WriteParams { field_manager: FIELD_MANAGER.to_owned(), ..WriteParams::default() };
        let policies: Api<ValidatingAdmissionPolicy> = pass.api().writing(write);
        unless_gone(policies.patch_status(key, &Patch::Apply { object, force: true }).await)?;
        Ok(Action::Done)
    }
}
