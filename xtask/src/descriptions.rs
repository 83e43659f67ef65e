//! `cargo xtask descriptions`: writes `crates/cli/descriptions.txt.gz`, what kinds and fields are for, in Kubernetes' own
//! words, from the types of k8s-openapi.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use coracle_schema::openapi::Described;
use flate2::{Compression, GzBuilder};
use schemars::SchemaGenerator;
use serde_json::Value;

use crate::schema::Failure;

/// Writes the file.
pub(crate) fn write() -> Result<(), Failure> {
    // No time and no name in the header: the same descriptions are the same file.
    let mut gzip = GzBuilder::new().write(Vec::new(), Compression::best());
    gzip.write_all(text().as_bytes())?;
    std::fs::write(file(), gzip.finish()?)?;
    Ok(())
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/cli/descriptions.txt.gz")
}

fn text() -> String {
    let mut generator = SchemaGenerator::default();
    all_kinds(&mut generator);
    let mut descriptions = BTreeMap::new();
    let mut describe = |ty: &str, field: Option<&String>, schema: &Value| {
        if let Some(text) = schema.get("description").and_then(Value::as_str).filter(|text| !text.is_empty()) {
            descriptions.insert((ty.to_owned(), field.cloned()), text.to_owned());
        }
    };
    for (ty, schema) in generator.definitions() {
        describe(ty, None, schema);
        for (field, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            describe(ty, Some(field), schema);
        }
    }
    Described::write(&descriptions)
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
    fn the_file_says_what_the_types_say() {
        let mut written = String::new();
        let file = std::fs::File::open(file()).unwrap();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut written).unwrap();
        assert!(written == text(), "`cargo xtask descriptions` writes another crates/cli/descriptions.txt.gz");
    }
}
