use std::sync::Arc;

use coracle_meta::Release;

use coracle_registry::{Admission, Operation};
use serde_json::Value;

use crate::always::{AlwaysAdmit, AlwaysDeny};
use crate::always_pull_images::AlwaysPullImages;
use crate::certificates::{
    CertificateApproval, CertificateSigning, CertificateSubjectRestriction, ClusterTrustBundleAttest,
};
use crate::configurations::Configurations;
use crate::default_ingress_class::DefaultIngressClass;
use crate::default_storage_class::DefaultStorageClass;
use crate::default_toleration_seconds::DefaultTolerationSeconds;
use crate::deny_service_external_ips::DenyServiceExternalIPs;
use crate::extended_resource_toleration::ExtendedResourceToleration;
use crate::limit_pod_hard_anti_affinity_topology::LimitPodHardAntiAffinityTopology;
use crate::limit_ranger::LimitRanger;
use crate::mutating_admission_policy::MutatingAdmissionPolicy;
use crate::namespace_auto_provision::NamespaceAutoProvision;
use crate::namespace_exists::NamespaceExists;
use crate::namespace_lifecycle::NamespaceLifecycle;
use crate::node_declared_features::NodeDeclaredFeatureValidator;
use crate::node_restriction::NodeRestriction;
use crate::owner_references_permission_enforcement::OwnerReferencesPermissionEnforcement;
use crate::persistent_volume_claim_resize::PersistentVolumeClaimResize;
use crate::pod_node_selector::PodNodeSelector;
use crate::pod_resize::PodResizeValidator;
use crate::pod_security::PodSecurity;
use crate::pod_toleration_restriction::PodTolerationRestriction;
use crate::pod_topology_labels::PodTopologyLabels;
use crate::priority::Priority;
use crate::resource_quota::ResourceQuota;
use crate::runtime_class::RuntimeClass;
use crate::service_account::ServiceAccount;
use crate::storage_object_in_use_protection::StorageObjectInUseProtection;
use crate::taint_nodes_by_condition::TaintNodesByCondition;
use crate::validating_admission_policy::ValidatingAdmissionPolicy;
use crate::webhooks::{MutatingAdmissionWebhook, ValidatingAdmissionWebhook};

/// An invalid configuration of plug-ins.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PluginError {
    /// Kubernetes does not have this plug-in either.
    #[error("admission plug-in {0:?} is unknown")]
    Unknown(String),
    /// Kubernetes has this plug-in, and Coracle does not.
    #[error("admission plug-in {0:?} is not built and cannot be enabled")]
    NotBuilt(String),
    /// These plug-ins are both enabled and disabled.
    #[error("[{}] in enable-admission-plugins and disable-admission-plugins overlapped", .0.join(" "))]
    Both(Vec<String>),
    /// The configuration of a plug-in is invalid.
    #[error("the configuration of admission plug-in {name:?} cannot be read: {why}")]
    Unreadable {
        /// The plug-in.
        name: String,
        /// The reason.
        why: String,
    },
}

/// A plug-in of Kubernetes, in the order of calls.
struct Entry {
    name: &'static str,
    /// Whether kube-apiserver runs it by default.
    is_default: bool,
    /// The behaviour of the releases that have the plug-in, if not all have it.
    needs: Option<&'static str>,
    make: Option<Make>,
}

/// How a plug-in is created.
#[derive(Clone, Copy)]
enum Make {
    Plain(fn() -> Arc<dyn Admission>),
    /// From its configuration; `Err` if that is invalid.
    Configured(fn(&Value) -> Result<Arc<dyn Admission>, String>),
}

const fn built(name: &'static str, make: fn() -> Arc<dyn Admission>) -> Entry {
    Entry { name, is_default: true, needs: None, make: Some(Make::Plain(make)) }
}

const fn off(name: &'static str, make: fn() -> Arc<dyn Admission>) -> Entry {
    Entry { name, is_default: false, needs: None, make: Some(Make::Plain(make)) }
}

const fn configured(
    name: &'static str,
    is_default: bool,
    make: fn(&Value) -> Result<Arc<dyn Admission>, String>,
) -> Entry {
    Entry { name, is_default, needs: None, make: Some(Make::Configured(make)) }
}

/// A plug-in that only the releases with a behaviour of its name have.
const fn later(name: &'static str, make: fn() -> Arc<dyn Admission>) -> Entry {
    Entry { name, is_default: true, needs: Some(name), make: Some(Make::Plain(make)) }
}

const fn not_to_be_had(name: &'static str) -> Entry {
    Entry { name, is_default: false, needs: None, make: None }
}

/// The plug-ins of kube-apiserver of all releases, in its order. In Kubernetes: `AllOrderedPlugins`.
const ALL: &[Entry] = &[
    off("AlwaysAdmit", || Arc::new(AlwaysAdmit)),
    off("NamespaceAutoProvision", || Arc::new(NamespaceAutoProvision)),
    built("NamespaceLifecycle", || Arc::new(NamespaceLifecycle)),
    off("NamespaceExists", || Arc::new(NamespaceExists)),
    off("LimitPodHardAntiAffinityTopology", || Arc::new(LimitPodHardAntiAffinityTopology)),
    built("LimitRanger", || Arc::new(LimitRanger)),
    built("ServiceAccount", || Arc::new(ServiceAccount)),
    off("NodeRestriction", || Arc::new(NodeRestriction)),
    built("TaintNodesByCondition", || Arc::new(TaintNodesByCondition)),
    off("AlwaysPullImages", || Arc::new(AlwaysPullImages)),
    not_to_be_had("ImagePolicyWebhook"),
    configured("PodSecurity", true, |value| Ok(Arc::new(PodSecurity::new(value)?))),
    configured("PodNodeSelector", false, |value| Ok(Arc::new(PodNodeSelector::new(value)))),
    built("Priority", || Arc::new(Priority)),
    built("DefaultTolerationSeconds", || Arc::new(DefaultTolerationSeconds::default())),
    configured("PodTolerationRestriction", false, |value| Ok(Arc::new(PodTolerationRestriction::new(value)))),
    not_to_be_had("EventRateLimit"),
    off("ExtendedResourceToleration", || Arc::new(ExtendedResourceToleration)),
    built("DefaultStorageClass", || Arc::new(DefaultStorageClass)),
    built("StorageObjectInUseProtection", || Arc::new(StorageObjectInUseProtection)),
    later("PodGroupProtection", || Arc::new(Idle("PodGroupProtection"))),
    off("OwnerReferencesPermissionEnforcement", || Arc::new(OwnerReferencesPermissionEnforcement)),
    built("PersistentVolumeClaimResize", || Arc::new(PersistentVolumeClaimResize)),
    built("RuntimeClass", || Arc::new(RuntimeClass)),
    built("CertificateApproval", || Arc::new(CertificateApproval)),
    built("CertificateSigning", || Arc::new(CertificateSigning)),
    built("ClusterTrustBundleAttest", || Arc::new(ClusterTrustBundleAttest)),
    built("CertificateSubjectRestriction", || Arc::new(CertificateSubjectRestriction)),
    built("DefaultIngressClass", || Arc::new(DefaultIngressClass)),
    off("DenyServiceExternalIPs", || Arc::new(DenyServiceExternalIPs)),
    built("PodTopologyLabels", || Arc::new(PodTopologyLabels)),
    later("PodGroupWorkloadExists", || Arc::new(Idle("PodGroupWorkloadExists"))),
    built("NodeDeclaredFeatureValidator", || Arc::new(NodeDeclaredFeatureValidator)),
    later("JobValidation", || Arc::new(Idle("JobValidation"))),
    later("PodResizeValidator", || Arc::new(PodResizeValidator)),
    built("MutatingAdmissionPolicy", || Arc::new(MutatingAdmissionPolicy::default())),
    built("MutatingAdmissionWebhook", || Arc::new(MutatingAdmissionWebhook::default())),
    built("ValidatingAdmissionPolicy", || Arc::new(ValidatingAdmissionPolicy::default())),
    built("ValidatingAdmissionWebhook", || Arc::new(ValidatingAdmissionWebhook::default())),
    built("ResourceQuota", || Arc::new(ResourceQuota)),
    off("AlwaysDeny", || Arc::new(AlwaysDeny)),
];

/// A plug-in that does nothing, because it is for kinds that are off by default.
struct Idle(&'static str);

impl Admission for Idle {
    fn name(&self) -> &'static str {
        self.0
    }

    fn handles(&self, _operation: Operation) -> bool {
        false
    }
}

/// The plug-ins of a release.
fn of_release(release: &Release) -> Vec<&'static Entry> {
    ALL.iter().filter(|entry| entry.needs.is_none_or(|behaviour| release.has(behaviour))).collect()
}

/// The plug-ins that kube-apiserver runs by default and those of `enabled`, in its order, without those of `disabled`.
/// In Kubernetes: `--enable-admission-plugins`, `--disable-admission-plugins`, `--admission-control-config-file`.
pub fn plugins<S: AsRef<str>>(
    enabled: &[S],
    disabled: &[S],
    configurations: &Configurations,
    release: &Release,
) -> Result<Vec<Arc<dyn Admission>>, PluginError> {
    let all = of_release(release);
    let named = enabled.iter().chain(disabled).map(AsRef::as_ref).chain(configurations.names());
    for name in named {
        if !all.iter().any(|entry| entry.name == name) {
            return Err(PluginError::Unknown(name.to_owned()));
        }
    }
    let enabled_names = enabled.iter().map(AsRef::as_ref);
    let mut both: Vec<&str> =
        enabled_names.filter(|name| disabled.iter().any(|other| other.as_ref() == *name)).collect();
    both.sort_unstable();
    both.dedup();
    if !both.is_empty() {
        return Err(PluginError::Both(both.into_iter().map(str::to_owned).collect()));
    }
    let is_enabled = |entry: &Entry| enabled.iter().any(|name| name.as_ref() == entry.name);
    if let Some(entry) = all.iter().find(|entry| is_enabled(entry) && entry.make.is_none()) {
        return Err(PluginError::NotBuilt(entry.name.to_owned()));
    }
    let is_disabled = |entry: &Entry| disabled.iter().any(|name| name.as_ref() == entry.name);
    let wanted = all.iter().filter(|entry| (entry.is_default || is_enabled(entry)) && !is_disabled(entry));
    let made = wanted.filter_map(|entry| Some((entry.name, entry.make?)));
    made.map(|(name, make)| match make {
        Make::Plain(make) => Ok(make()),
        Make::Configured(make) => {
            let unreadable = |why| PluginError::Unreadable { name: name.to_owned(), why };
            make(configurations.of(name)).map_err(unreadable)
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: &[&str] = &[];

    #[test]
    fn every_plugin_carries_its_own_name() {
        for entry in ALL {
            match entry.make {
                Some(Make::Plain(make)) => assert_eq!(make().name(), entry.name),
                Some(Make::Configured(make)) => assert_eq!(make(&Value::Null).unwrap().name(), entry.name),
                None => {}
            }
        }
    }

    #[test]
    fn a_disabled_plugin_is_left_out_and_an_unknown_one_is_refused() {
        let plugins = |enabled: &[&str], disabled: &[&str]| {
            super::plugins(enabled, disabled, &Configurations::default(), &Release::default())
        };
        let all = plugins(NONE, NONE).unwrap().len();
        assert_eq!(plugins(NONE, &["ServiceAccount"]).unwrap().len(), all - 1);
        let refused = plugins(NONE, &["ServiceAcount"]).err();
        assert_eq!(refused, Some(PluginError::Unknown("ServiceAcount".to_owned())));
        assert!(matches!(plugins(&["EventRateLimit"], NONE), Err(PluginError::NotBuilt(_))));
        assert_eq!(plugins(&["AlwaysDeny", "NodeRestriction"], NONE).unwrap().len(), all + 2);
    }

    #[test]
    fn a_plugin_that_is_both_asked_for_and_left_out_is_refused_and_not_left_out() {
        let both = ["NodeRestriction"];
        let refused = plugins(&both, &both, &Configurations::default(), &Release::default()).err().unwrap();
        let expected = "[NodeRestriction] in enable-admission-plugins and disable-admission-plugins overlapped";
        assert_eq!(refused.to_string(), expected);
    }

    #[test]
    fn a_plugin_of_a_later_release_is_unknown_before() {
        let with =
            |release: &Release| super::plugins(&["PodResizeValidator"], NONE, &Configurations::default(), release);
        let refused = with(&Release::default()).err();
        assert_eq!(refused, Some(PluginError::Unknown("PodResizeValidator".to_owned())));
        let names: Vec<&str> =
            with(&Release::with(["PodResizeValidator"])).unwrap().iter().map(|plugin| plugin.name()).collect();
        let at = |name: &str| names.iter().position(|known| *known == name);
        assert!(at("NodeDeclaredFeatureValidator") < at("PodResizeValidator"));
        assert!(at("PodResizeValidator") < at("MutatingAdmissionPolicy"));
    }
}
