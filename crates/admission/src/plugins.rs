use std::sync::Arc;

use coracle_registry::Admission;

use crate::certificates::{CertificateApproval, CertificateSigning, CertificateSubjectRestriction};
use crate::default_ingress_class::DefaultIngressClass;
use crate::default_storage_class::DefaultStorageClass;
use crate::default_toleration_seconds::DefaultTolerationSeconds;
use crate::limit_ranger::LimitRanger;
use crate::namespace_lifecycle::NamespaceLifecycle;
use crate::persistent_volume_claim_resize::PersistentVolumeClaimResize;
use crate::pod_security::PodSecurity;
use crate::pod_topology_labels::PodTopologyLabels;
use crate::priority::Priority;
use crate::resource_quota::ResourceQuota;
use crate::runtime_class::RuntimeClass;
use crate::service_account::ServiceAccount;
use crate::storage_object_in_use_protection::StorageObjectInUseProtection;
use crate::taint_nodes_by_condition::TaintNodesByCondition;
use crate::validating_admission_policy::ValidatingAdmissionPolicy;
use crate::webhooks::{MutatingAdmissionWebhook, ValidatingAdmissionWebhook};

/// A plug-in was named that cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PluginError {
    /// Kubernetes has none of this name, either.
    #[error("admission plug-in {0:?} is unknown")]
    Unknown(String),
    /// Kubernetes has it, and Coracle does not.
    #[error("admission plug-in {0:?} is not built and cannot be enabled")]
    NotBuilt(String),
}

/// A plug-in of Kubernetes, in the order in which they are asked.
struct Entry {
    name: &'static str,
    /// Whether kube-apiserver runs it by default.
    is_default: bool,
    make: Option<fn() -> Arc<dyn Admission>>,
}

const fn built(name: &'static str, make: fn() -> Arc<dyn Admission>) -> Entry {
    Entry { name, is_default: true, make: Some(make) }
}

const fn default_but_not_built(name: &'static str) -> Entry {
    Entry { name, is_default: true, make: None }
}

const fn off(name: &'static str) -> Entry {
    Entry { name, is_default: false, make: None }
}

/// All plug-ins of kube-apiserver 1.35, in its order. In Kubernetes: `AllOrderedPlugins`.
const ALL: &[Entry] = &[
    off("AlwaysAdmit"),
    off("NamespaceAutoProvision"),
    built("NamespaceLifecycle", || Arc::new(NamespaceLifecycle)),
    off("NamespaceExists"),
    off("LimitPodHardAntiAffinityTopology"),
    built("LimitRanger", || Arc::new(LimitRanger)),
    built("ServiceAccount", || Arc::new(ServiceAccount)),
    off("NodeRestriction"),
    built("TaintNodesByCondition", || Arc::new(TaintNodesByCondition)),
    off("AlwaysPullImages"),
    off("ImagePolicyWebhook"),
    built("PodSecurity", || Arc::new(PodSecurity)),
    off("PodNodeSelector"),
    built("Priority", || Arc::new(Priority)),
    built("DefaultTolerationSeconds", || Arc::new(DefaultTolerationSeconds::default())),
    off("PodTolerationRestriction"),
    off("EventRateLimit"),
    off("ExtendedResourceToleration"),
    built("DefaultStorageClass", || Arc::new(DefaultStorageClass)),
    built("StorageObjectInUseProtection", || Arc::new(StorageObjectInUseProtection)),
    off("OwnerReferencesPermissionEnforcement"),
    built("PersistentVolumeClaimResize", || Arc::new(PersistentVolumeClaimResize)),
    built("RuntimeClass", || Arc::new(RuntimeClass)),
    built("CertificateApproval", || Arc::new(CertificateApproval)),
    built("CertificateSigning", || Arc::new(CertificateSigning)),
    default_but_not_built("ClusterTrustBundleAttest"),
    built("CertificateSubjectRestriction", || Arc::new(CertificateSubjectRestriction)),
    built("DefaultIngressClass", || Arc::new(DefaultIngressClass)),
    off("DenyServiceExternalIPs"),
    built("PodTopologyLabels", || Arc::new(PodTopologyLabels)),
    default_but_not_built("NodeDeclaredFeatureValidator"),
    default_but_not_built("MutatingAdmissionPolicy"),
    built("MutatingAdmissionWebhook", || Arc::new(MutatingAdmissionWebhook::default())),
    built("ValidatingAdmissionPolicy", || Arc::new(ValidatingAdmissionPolicy::default())),
    built("ValidatingAdmissionWebhook", || Arc::new(ValidatingAdmissionWebhook::default())),
    built("ResourceQuota", || Arc::new(ResourceQuota)),
    off("AlwaysDeny"),
];

/// The plug-ins that kube-apiserver runs by default, in its order, without those of `disabled`.
/// In Kubernetes: `--enable-admission-plugins`, `--disable-admission-plugins`.
pub fn plugins<S: AsRef<str>>(enabled: &[S], disabled: &[S]) -> Result<Vec<Arc<dyn Admission>>, PluginError> {
    for name in enabled.iter().chain(disabled).map(AsRef::as_ref) {
        if !ALL.iter().any(|entry| entry.name == name) {
            return Err(PluginError::Unknown(name.to_owned()));
        }
    }
    let is_enabled = |entry: &Entry| enabled.iter().any(|name| name.as_ref() == entry.name);
    if let Some(entry) = ALL.iter().find(|entry| is_enabled(entry) && entry.make.is_none()) {
        return Err(PluginError::NotBuilt(entry.name.to_owned()));
    }
    let is_disabled = |entry: &Entry| disabled.iter().any(|name| name.as_ref() == entry.name);
    let wanted = ALL.iter().filter(|entry| (entry.is_default || is_enabled(entry)) && !is_disabled(entry));
    Ok(wanted.filter_map(|entry| entry.make).map(|make| make()).collect())
}

/// The plug-ins that kube-apiserver runs by default and Coracle does not have, to be said at start.
pub fn not_built() -> Vec<&'static str> {
    ALL.iter().filter(|entry| entry.is_default && entry.make.is_none()).map(|entry| entry.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: &[&str] = &[];

    #[test]
    fn every_plugin_carries_its_own_name() {
        for entry in ALL {
            if let Some(make) = entry.make {
                assert_eq!(make().name(), entry.name);
            }
        }
    }

    #[test]
    fn a_disabled_plugin_is_left_out_and_an_unknown_one_is_refused() {
        let all = plugins(NONE, NONE).unwrap().len();
        assert_eq!(plugins(NONE, &["ServiceAccount"]).unwrap().len(), all - 1);
        let refused = plugins(NONE, &["ServiceAcount"]).err();
        assert_eq!(refused, Some(PluginError::Unknown("ServiceAcount".to_owned())));
        assert!(matches!(plugins(&["AlwaysDeny"], NONE), Err(PluginError::NotBuilt(_))));
    }
}
