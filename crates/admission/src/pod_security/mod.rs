//! `PodSecurity`: the pod security standards of the labels of the namespace and the configuration.
//! In Kubernetes: `pod-security-admission`.

mod checks;
mod configuration;
mod namespaces;
mod policy;

use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, Status};
use coracle_registry::{Admission, Operation, Review};
use serde_json::Value;

use crate::lookup::{core, get};
use crate::refusal::forbidden;
use checks::{described, violations};
use configuration::Configuration;
use policy::{Policy, Standard};

/// `PodSecurity`: refuses pods that violate the standard of the namespace, and warns about templates of such pods.
#[derive(Default)]
pub(crate) struct PodSecurity {
    configuration: Configuration,
}

impl PodSecurity {
    /// Reads `pod-security.admission.config.k8s.io/v1.PodSecurityConfiguration`.
    pub(crate) fn new(configuration: &Value) -> Result<Self, String> {
        Ok(Self { configuration: Configuration::read(configuration)? })
    }
}

/// Kinds that create pods, and the paths of their templates.
const CONTROLLERS: [(&str, &str, &str); 8] = [
    ("", "podtemplates", "template"),
    ("", "replicationcontrollers", "spec.template"),
    ("apps", "deployments", "spec.template"),
    ("apps", "replicasets", "spec.template"),
    ("apps", "statefulsets", "spec.template"),
    ("apps", "daemonsets", "spec.template"),
    ("batch", "jobs", "spec.template"),
    ("batch", "cronjobs", "spec.jobTemplate.spec.template"),
];

/// Subresources of pods that do not affect the standards.
const IGNORED: [&str; 8] = ["exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"];

#[async_trait]
impl Admission for PodSecurity {
    fn name(&self) -> &'static str {
        "PodSecurity"
    }

    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        let Some(object) = review.object() else { return Ok(()) };
        if review.is_about("", "namespaces") {
            return namespaces::check(&self.configuration, review, object).await;
        }
        if review.is_about_any_part("", "pods") {
            let is_ignored = IGNORED.contains(&review.request.at.subresource.as_str());
            if is_ignored || review.old.is_some_and(|old| !is_significant(object, old)) {
                return Ok(());
            }
            let pod = Template { metadata: object.at("metadata"), spec: object.at("spec"), is_enforced: true };
            return self.check(review, &pod).await;
        }
        let controller = CONTROLLERS.iter().find(|(group, resource, _)| review.is_about(group, resource));
        if let Some((_, _, path)) = controller {
            let template = object.at(path);
            if !template.is_null() {
                let pod = Template { metadata: template.at("metadata"), spec: template.at("spec"), is_enforced: false };
                return self.check(review, &pod).await;
            }
        }
        Ok(())
    }
}

/// A pod, or a pod template.
struct Template<'t> {
    metadata: &'t Value,
    spec: &'t Value,
    /// Whether violations refuse the request instead of only a warning.
    is_enforced: bool,
}

impl PodSecurity {
    async fn check(&self, review: &Review<'_>, pod: &Template<'_>) -> Result<(), Status> {
        let exempt = self.configuration.exemption(&review.request.at.namespace, &review.request.user.name);
        if let Some(dimension) = exempt {
            annotate(review, "exempt", dimension);
            return Ok(());
        }
        let (policy, wrong) = self.policy_of(review).await?;
        if wrong.is_empty() && policy.is_privileged() {
            return Ok(());
        }
        if self.configuration.exempts_runtime_class(pod.spec.text("runtimeClassName")) {
            annotate(review, "exempt", "runtimeClass");
            return Ok(());
        }
        if !wrong.is_empty() {
            let all = wrong.iter().map(FieldError::message).collect::<Vec<_>>().join(", ");
            annotate(review, "error", format!("Failed to parse policy: {all}"));
        }
        let found = |standard: Standard| violations(standard, pod.metadata, pod.spec);
        let enforced = if pod.is_enforced { found(policy.enforce) } else { Vec::new() };
        if pod.is_enforced {
            annotate(review, "enforce-policy", policy.enforce.to_string());
        }
        let would = |standard: Standard| {
            let found = found(standard);
            let what = format!("would violate PodSecurity {:?}: {}", standard.to_string(), described(&found));
            (!found.is_empty()).then_some(what)
        };
        if let Some(text) = would(policy.audit) {
            annotate(review, "audit-violations", text);
        }
        if !enforced.is_empty() {
            let why = format!("violates PodSecurity {:?}: {}", policy.enforce.to_string(), described(&enforced));
            return Err(forbidden(review, why));
        }
        if let Some(text) = would(policy.warn) {
            review.request.warnings.add(text);
        }
        Ok(())
    }

    async fn policy_of(&self, review: &Review<'_>) -> Result<(Policy, Vec<FieldError>), Status> {
        let namespace = get(review, core("namespaces"), "", &review.request.at.namespace).await?;
        let default = self.configuration.defaults;
        Ok(namespace.map_or((default, Vec::new()), |namespace| default.with(&namespace.labels())))
    }
}

fn annotate(review: &Review<'_>, key: &str, text: impl Into<String>) {
    review.request.audit.annotate(format!("pod-security.kubernetes.io/{key}"), text);
}

/// Whether an update changes fields that the standards check: anything except images of containers.
fn is_significant(new: &Object, old: &Object) -> bool {
    let without_image = |object: &Object, list: &str| -> Vec<Value> {
        let containers = object.at("spec").list(list).iter().cloned();
        containers
            .map(|mut container| {
                if let Some(tree) = container.as_object_mut() {
                    tree.remove("image");
                }
                container
            })
            .collect()
    };
    ["containers", "initContainers", "ephemeralContainers"]
        .iter()
        .any(|list| without_image(new, list) != without_image(old, list))
}
