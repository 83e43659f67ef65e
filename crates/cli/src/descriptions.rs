//! What kinds and fields are for, in Kubernetes' own words, for `kubectl explain`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use coracle_cluster::Descriptions;
use schemars::SchemaGenerator;
use serde_json::Value;

/// The descriptions that k8s-openapi carries; read when they are first asked for.
#[derive(Debug, Default)]
pub(crate) struct FromTypes {
    by_type: OnceLock<BTreeMap<String, Description>>,
}

#[derive(Debug, Default)]
struct Description {
    of_type: String,
    of_fields: BTreeMap<String, String>,
}

impl Descriptions for FromTypes {
    fn describe(&self, ty: &str, field: Option<&str>) -> String {
        let Some(found) = self.by_type.get_or_init(read).get(ty) else { return String::new() };
        match field {
            None => found.of_type.clone(),
            Some(field) => found.of_fields.get(field).cloned().unwrap_or_default(),
        }
    }
}

fn read() -> BTreeMap<String, Description> {
    let mut generator = SchemaGenerator::default();
    all_kinds(&mut generator);
    let text = |schema: &Value| schema.get("description").and_then(Value::as_str).unwrap_or("").to_owned();
    let describe = |schema: &Value| Description {
        of_type: text(schema),
        of_fields: schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(name, field)| (name.clone(), text(field)))
            .collect(),
    };
    generator.definitions().iter().map(|(name, schema)| (name.clone(), describe(schema))).collect()
}

/// Every kind, and by them every type that one of their fields has.
fn all_kinds(generator: &mut SchemaGenerator) {
    generator.subschema_for::<k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration>();
    generator.subschema_for::<k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy>();
    generator.subschema_for::<k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding>();
    generator.subschema_for::<k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration>();
    generator.subschema_for::<k8s_openapi::api::apps::v1::ControllerRevision>();
    generator.subschema_for::<k8s_openapi::api::apps::v1::DaemonSet>();
    generator.subschema_for::<k8s_openapi::api::apps::v1::Deployment>();
    generator.subschema_for::<k8s_openapi::api::apps::v1::ReplicaSet>();
    generator.subschema_for::<k8s_openapi::api::apps::v1::StatefulSet>();
    generator.subschema_for::<k8s_openapi::api::authentication::v1::SelfSubjectReview>();
    generator.subschema_for::<k8s_openapi::api::authentication::v1::TokenRequest>();
    generator.subschema_for::<k8s_openapi::api::authentication::v1::TokenReview>();
    generator.subschema_for::<k8s_openapi::api::authorization::v1::LocalSubjectAccessReview>();
    generator.subschema_for::<k8s_openapi::api::authorization::v1::SelfSubjectAccessReview>();
    generator.subschema_for::<k8s_openapi::api::authorization::v1::SelfSubjectRulesReview>();
    generator.subschema_for::<k8s_openapi::api::authorization::v1::SubjectAccessReview>();
    generator.subschema_for::<k8s_openapi::api::autoscaling::v1::HorizontalPodAutoscaler>();
    generator.subschema_for::<k8s_openapi::api::autoscaling::v1::Scale>();
    generator.subschema_for::<k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler>();
    generator.subschema_for::<k8s_openapi::api::batch::v1::CronJob>();
    generator.subschema_for::<k8s_openapi::api::batch::v1::Job>();
    generator.subschema_for::<k8s_openapi::api::certificates::v1::CertificateSigningRequest>();
    generator.subschema_for::<k8s_openapi::api::coordination::v1::Lease>();
    generator.subschema_for::<k8s_openapi::api::core::v1::Binding>();
    generator.subschema_for::<k8s_openapi::api::core::v1::ComponentStatus>();
    generator.subschema_for::<k8s_openapi::api::core::v1::ConfigMap>();
    generator.subschema_for::<k8s_openapi::api::core::v1::Endpoints>();
    generator.subschema_for::<k8s_openapi::api::core::v1::Event>();
    generator.subschema_for::<k8s_openapi::api::core::v1::LimitRange>();
    generator.subschema_for::<k8s_openapi::api::core::v1::Namespace>();
    generator.subschema_for::<k8s_openapi::api::core::v1::Node>();
    generator.subschema_for::<k8s_openapi::api::core::v1::PersistentVolume>();
    generator.subschema_for::<k8s_openapi::api::core::v1::PersistentVolumeClaim>();
    generator.subschema_for::<k8s_openapi::api::core::v1::Pod>();
    generator.subschema_for::<k8s_openapi::api::core::v1::PodTemplate>();
    generator.subschema_for::<k8s_openapi::api::core::v1::ReplicationController>();
    generator.subschema_for::<k8s_openapi::api::core::v1::ResourceQuota>();
    generator.subschema_for::<k8s_openapi::api::core::v1::Secret>();
    generator.subschema_for::<k8s_openapi::api::core::v1::Service>();
    generator.subschema_for::<k8s_openapi::api::core::v1::ServiceAccount>();
    generator.subschema_for::<k8s_openapi::api::discovery::v1::EndpointSlice>();
    generator.subschema_for::<k8s_openapi::api::events::v1::Event>();
    generator.subschema_for::<k8s_openapi::api::flowcontrol::v1::FlowSchema>();
    generator.subschema_for::<k8s_openapi::api::flowcontrol::v1::PriorityLevelConfiguration>();
    generator.subschema_for::<k8s_openapi::api::networking::v1::IPAddress>();
    generator.subschema_for::<k8s_openapi::api::networking::v1::Ingress>();
    generator.subschema_for::<k8s_openapi::api::networking::v1::IngressClass>();
    generator.subschema_for::<k8s_openapi::api::networking::v1::NetworkPolicy>();
    generator.subschema_for::<k8s_openapi::api::networking::v1::ServiceCIDR>();
    generator.subschema_for::<k8s_openapi::api::node::v1::RuntimeClass>();
    generator.subschema_for::<k8s_openapi::api::policy::v1::Eviction>();
    generator.subschema_for::<k8s_openapi::api::policy::v1::PodDisruptionBudget>();
    generator.subschema_for::<k8s_openapi::api::rbac::v1::ClusterRole>();
    generator.subschema_for::<k8s_openapi::api::rbac::v1::ClusterRoleBinding>();
    generator.subschema_for::<k8s_openapi::api::rbac::v1::Role>();
    generator.subschema_for::<k8s_openapi::api::rbac::v1::RoleBinding>();
    generator.subschema_for::<k8s_openapi::api::resource::v1::DeviceClass>();
    generator.subschema_for::<k8s_openapi::api::resource::v1::ResourceClaim>();
    generator.subschema_for::<k8s_openapi::api::resource::v1::ResourceClaimTemplate>();
    generator.subschema_for::<k8s_openapi::api::resource::v1::ResourceSlice>();
    generator.subschema_for::<k8s_openapi::api::scheduling::v1::PriorityClass>();
    generator.subschema_for::<k8s_openapi::api::storage::v1::CSIDriver>();
    generator.subschema_for::<k8s_openapi::api::storage::v1::CSINode>();
    generator.subschema_for::<k8s_openapi::api::storage::v1::CSIStorageCapacity>();
    generator.subschema_for::<k8s_openapi::api::storage::v1::StorageClass>();
    generator.subschema_for::<k8s_openapi::api::storage::v1::VolumeAttachment>();
    generator.subschema_for::<k8s_openapi::api::storage::v1::VolumeAttributesClass>();
    generator
        .subschema_for::<k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition>(
        );
    generator.subschema_for::<k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService>();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_fields_are_described() {
        let descriptions = FromTypes::default();
        let pod = "io.k8s.api.core.v1.Pod";
        assert!(descriptions.describe(pod, None).starts_with("Pod is a collection of containers"));
        assert!(!descriptions.describe(pod, Some("spec")).is_empty());
        assert!(!descriptions.describe("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", Some("labels")).is_empty());
        assert!(descriptions.describe("io.example.Nothing", None).is_empty());
    }
}
