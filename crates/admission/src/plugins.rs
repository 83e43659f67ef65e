use std::sync::Arc;

use coracle_release::Release;

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

/// A plug-in of Kubernetes. Whether a release has it, its place and whether it runs by default are data of the release.
struct Entry {
    name: &'static str,
    make: Make,
}

/// How a plug-in is created.
#[derive(Clone, Copy)]
enum Make {
    Plain(fn() -> Arc<dyn Admission>),
    /// From its configuration; `Err` if that is invalid.
    Configured(fn(&Value) -> Result<Arc<dyn Admission>, String>),
}

const fn plain(name: &'static str, make: fn() -> Arc<dyn Admission>) -> Entry {
    Entry { name, make: Make::Plain(make) }
}

const fn configured(name: &'static str, make: fn(&Value) -> Result<Arc<dyn Admission>, String>) -> Entry {
    Entry { name, make: Make::Configured(make) }
}

/// The plug-ins of all releases that are built here.
const ALL: &[Entry] = &[
    plain("AlwaysAdmit", || Arc::new(AlwaysAdmit)),
    plain("NamespaceAutoProvision", || Arc::new(NamespaceAutoProvision)),
    plain("NamespaceLifecycle", || Arc::new(NamespaceLifecycle)),
    plain("NamespaceExists", || Arc::new(NamespaceExists)),
    plain("LimitPodHardAntiAffinityTopology", || Arc::new(LimitPodHardAntiAffinityTopology)),
    plain("LimitRanger", || Arc::new(LimitRanger)),
    plain("ServiceAccount", || Arc::new(ServiceAccount)),
    plain("NodeRestriction", || Arc::new(NodeRestriction)),
    plain("TaintNodesByCondition", || Arc::new(TaintNodesByCondition)),
    plain("AlwaysPullImages", || Arc::new(AlwaysPullImages)),
    configured("PodSecurity", |value| Ok(Arc::new(PodSecurity::new(value)?))),
    configured("PodNodeSelector", |value| Ok(Arc::new(PodNodeSelector::new(value)))),
    plain("Priority", || Arc::new(Priority)),
    plain("DefaultTolerationSeconds", || Arc::new(DefaultTolerationSeconds::default())),
    configured("PodTolerationRestriction", |value| Ok(Arc::new(PodTolerationRestriction::new(value)))),
    plain("ExtendedResourceToleration", || Arc::new(ExtendedResourceToleration)),
    plain("DefaultStorageClass", || Arc::new(DefaultStorageClass)),
    plain("StorageObjectInUseProtection", || Arc::new(StorageObjectInUseProtection)),
    plain("PodGroupProtection", || Arc::new(Idle("PodGroupProtection"))),
    plain("OwnerReferencesPermissionEnforcement", || Arc::new(OwnerReferencesPermissionEnforcement)),
    plain("PersistentVolumeClaimResize", || Arc::new(PersistentVolumeClaimResize)),
    plain("RuntimeClass", || Arc::new(RuntimeClass)),
    plain("CertificateApproval", || Arc::new(CertificateApproval)),
    plain("CertificateSigning", || Arc::new(CertificateSigning)),
    plain("ClusterTrustBundleAttest", || Arc::new(ClusterTrustBundleAttest)),
    plain("CertificateSubjectRestriction", || Arc::new(CertificateSubjectRestriction)),
    plain("DefaultIngressClass", || Arc::new(DefaultIngressClass)),
    plain("DenyServiceExternalIPs", || Arc::new(DenyServiceExternalIPs)),
    plain("PodTopologyLabels", || Arc::new(PodTopologyLabels)),
    plain("PodGroupWorkloadExists", || Arc::new(Idle("PodGroupWorkloadExists"))),
    plain("NodeDeclaredFeatureValidator", || Arc::new(NodeDeclaredFeatureValidator)),
    plain("JobValidation", || Arc::new(Idle("JobValidation"))),
    plain("PodResizeValidator", || Arc::new(PodResizeValidator)),
    plain("MutatingAdmissionPolicy", || Arc::new(MutatingAdmissionPolicy::default())),
    plain("MutatingAdmissionWebhook", || Arc::new(MutatingAdmissionWebhook::default())),
    plain("ValidatingAdmissionPolicy", || Arc::new(ValidatingAdmissionPolicy::default())),
    plain("ValidatingAdmissionWebhook", || Arc::new(ValidatingAdmissionWebhook::default())),
    plain("ResourceQuota", || Arc::new(ResourceQuota)),
    plain("AlwaysDeny", || Arc::new(AlwaysDeny)),
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

/// The plug-ins that kube-apiserver runs by default and those of `enabled`, in the order of the release, without those of
/// `disabled`.
/// In Kubernetes: `--enable-admission-plugins`, `--disable-admission-plugins`, `--admission-control-config-file`.
pub fn plugins<S: AsRef<str>>(
    enabled: &[S],
    disabled: &[S],
    configurations: &Configurations,
    release: &Release,
) -> Result<Vec<Arc<dyn Admission>>, PluginError> {
    let all = release.list("admission-plugins");
    let named = enabled.iter().chain(disabled).map(AsRef::as_ref).chain(configurations.names());
    for name in named {
        if !all.contains(&name) {
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
    let runs_by_default = release.list("default-admission-plugins");
    let is_enabled = |name: &str| enabled.iter().any(|other| other.as_ref() == name);
    let is_disabled = |name: &str| disabled.iter().any(|other| other.as_ref() == name);
    let wanted = all.iter().filter(|name| (runs_by_default.contains(name) || is_enabled(name)) && !is_disabled(name));
    wanted.map(|name| made(name, configurations)).collect()
}

fn made(name: &str, configurations: &Configurations) -> Result<Arc<dyn Admission>, PluginError> {
    let entry = ALL.iter().find(|entry| entry.name == name);
    match entry.ok_or_else(|| PluginError::NotBuilt(name.to_owned()))?.make {
        Make::Plain(make) => Ok(make()),
        Make::Configured(make) => {
            let unreadable = |why| PluginError::Unreadable { name: name.to_owned(), why };
            make(configurations.of(name)).map_err(unreadable)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: &[&str] = &[];

    #[test]
    fn every_plugin_carries_its_own_name() {
        for entry in ALL {
            match entry.make {
                Make::Plain(make) => assert_eq!(make().name(), entry.name),
                Make::Configured(make) => assert_eq!(make(&Value::Null).unwrap().name(), entry.name),
            }
        }
    }

    #[test]
    fn every_plugin_that_a_release_runs_by_default_is_built() {
        for release in Release::all() {
            let plugins = plugins(NONE, NONE, &Configurations::default(), &release).unwrap();
            assert_eq!(plugins.len(), release.list("default-admission-plugins").len(), "{release}");
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
        let refused = with(&Release::named("1.35").unwrap()).err();
        assert_eq!(refused, Some(PluginError::Unknown("PodResizeValidator".to_owned())));
        let names: Vec<&str> =
            with(&Release::named("1.36").unwrap()).unwrap().iter().map(|plugin| plugin.name()).collect();
        let at = |name: &str| names.iter().position(|known| *known == name);
        assert!(at("NodeDeclaredFeatureValidator") < at("PodResizeValidator"));
        assert!(at("PodResizeValidator") < at("MutatingAdmissionPolicy"));
    }
}
