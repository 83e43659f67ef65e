use std::time::Duration;

use coracle_client::Client;
use coracle_controller_runtime::{LeaderTimings, Metrics, Process};

use crate::key_files::KeyFiles;
use crate::keys::{CertificateKeys, TokenKey};
use crate::{AddressBlock, names};

/// What the controller-manager can be told. In Kubernetes: the flags of `kube-controller-manager`.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Which controllers run: names, `*` for all, `-name` for all but this one. `--controllers`
    pub controllers: Vec<String>,
    /// Requests a second for each controller, and how many at once; none for no limit. `--kube-api-qps`,
    /// `--kube-api-burst`
    ///
    /// Unlike Kubernetes (20 and 30): without a limit by default, because here controllers and API server are meant to
    /// keep up with each other.
    pub rate_limit: Option<(f32, u32)>,
    /// The certificate authority of the API server, PEM, for the ConfigMap `kube-root-ca.crt` of each namespace.
    /// `--root-ca-file`
    pub root_ca: String,
    /// What signs tokens for the Secrets that ask for one; without it nobody fills them.
    /// `--service-account-private-key-file`
    pub token_key: Option<TokenKey>,
    /// What signs certificates that are asked for and approved; without it nobody does.
    pub certificate_keys: CertificateKeys,
    /// Where keys are that are still to be read.
    pub key_files: KeyFiles,
    /// How long certificates last at most. `--cluster-signing-duration`
    pub cluster_signing_duration: Duration,
    /// Whether to stand for election before acting, and how long a lease lasts. `--leader-elect`,
    /// `--leader-elect-lease-duration`, `--leader-elect-renew-deadline`, `--leader-elect-retry-period`
    ///
    /// Unlike Kubernetes: none by default, because one control plane in one process has nobody to stand against.
    pub leader_election: Option<LeaderTimings>,
    /// Whether all controllers speak as the program itself, which then needs the rights of all of them.
    /// `--use-service-account-credentials=false`
    ///
    /// Unlike Kubernetes, where that is the default: a program that may do everything is what service accounts avoid.
    pub own_identity_for_all: bool,
    /// Where what the controllers do is counted.
    pub metrics: Metrics,
    /// How often nodes are looked at. `--node-monitor-period`
    pub node_monitor_period: Duration,
    /// How long a node may be silent. `--node-monitor-grace-period`
    pub node_monitor_grace_period: Duration,
    /// How long a new node may be silent. `--node-startup-grace-period`
    pub node_startup_grace_period: Duration,
    /// Taints `NoExecute` a second, in a zone. `--node-eviction-rate`
    pub node_eviction_rate: f64,
    /// The same in a large zone that is partly down. `--secondary-node-eviction-rate`
    pub secondary_node_eviction_rate: f64,
    /// A zone with more nodes than this is large. `--large-cluster-size-threshold`
    pub large_cluster_size_threshold: usize,
    /// From which share of nodes that are not ready on a zone is partly down. `--unhealthy-zone-threshold`
    pub unhealthy_zone_threshold: f64,
    /// How long changes of pods are gathered before their Endpoints are written. `--endpoint-updates-batch-period`
    pub endpoint_updates_batch_period: Duration,
    /// The same for EndpointSlices. `--endpointslice-updates-batch-period`
    pub endpoint_slice_updates_batch_period: Duration,
    /// How many endpoints one EndpointSlice holds at most. `--max-endpoints-per-slice`
    pub max_endpoints_per_slice: usize,
    /// How long changes are gathered before Endpoints are mirrored again.
    /// `--mirroring-endpointslice-updates-batch-period`
    pub mirroring_endpoint_slice_updates_batch_period: Duration,
    /// How many addresses of a subset of Endpoints are mirrored at most. `--mirroring-max-endpoints-per-subset`
    pub mirroring_max_endpoints_per_subset: usize,
    /// How often claims that wait for a volume are looked at. `--pvclaimbinder-sync-period`
    pub pv_claim_binder_sync_period: Duration,
    /// Whether volumes stay with nodes that have been silent for long. `--disable-force-detach-on-timeout`
    pub disable_force_detach_on_timeout: bool,
    /// Whether nodes are given addresses for their pods. `--allocate-node-cidrs`
    pub allocate_node_cidrs: bool,
    /// The addresses of pods: a block, or one of each family. `--cluster-cidr`
    pub cluster_cidrs: Vec<AddressBlock>,
    /// The prefix of a node's block of IPv4. `--node-cidr-mask-size`, `--node-cidr-mask-size-ipv4`
    pub node_cidr_mask_ipv4: u8,
    /// The prefix of a node's block of IPv6. `--node-cidr-mask-size`, `--node-cidr-mask-size-ipv6`
    pub node_cidr_mask_ipv6: u8,
    /// Addresses of Services, which no node gets. `--service-cluster-ip-range`
    pub node_ipam_service_cidrs: Vec<AddressBlock>,
    /// The addresses that Services of type LoadBalancer get; none without it. `--service-lb-range`, which Kubernetes does
    /// not have
    pub service_lb_range: Option<AddressBlock>,
    /// How long a token in a Secret has to be unused before it goes; not zero.
    /// `--legacy-service-account-token-clean-up-period`
    pub legacy_token_clean_up_period: Duration,
    /// How many finished pods are kept. `--terminated-pod-gc-threshold`
    pub terminated_pod_gc_threshold: usize,
    /// How often everything is counted again for quotas; zero for never. `--resource-quota-sync-period`
    pub resource_quota_sync_period: Duration,
    /// How pods are scaled by what they use.
    pub autoscaling: Autoscaling,
}

/// How pods are scaled by what they use. In Kubernetes: the flags `--horizontal-pod-autoscaler-…`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Autoscaling {
    /// How often each autoscaler is looked at. `--horizontal-pod-autoscaler-sync-period`
    pub sync_period: Duration,
    /// From which ratio to the target on something is done. `--horizontal-pod-autoscaler-tolerance`
    pub tolerance: f64,
    /// For how long a lower number has to be asked for. `--horizontal-pod-autoscaler-downscale-stabilization`
    pub downscale_stabilization: Duration,
    /// How long a pod that starts may be unready. `--horizontal-pod-autoscaler-initial-readiness-delay`
    pub initial_readiness_delay: Duration,
    /// How long what a new pod uses says little. `--horizontal-pod-autoscaler-cpu-initialization-period`
    pub cpu_initialization_period: Duration,
}

impl Default for Autoscaling {
    fn default() -> Self {
        Self {
            sync_period: Duration::from_secs(15),
            tolerance: 0.1,
            downscale_stabilization: Duration::from_secs(300),
            initial_readiness_delay: Duration::from_secs(30),
            cpu_initialization_period: Duration::from_secs(300),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            controllers: vec!["*".to_owned()],
            rate_limit: None,
            root_ca: String::new(),
            token_key: None,
            certificate_keys: CertificateKeys::default(),
            key_files: KeyFiles::default(),
            cluster_signing_duration: Duration::from_secs(365 * 24 * 60 * 60),
            leader_election: None,
            own_identity_for_all: false,
            metrics: Metrics::default(),
            node_monitor_period: Duration::from_secs(5),
            node_monitor_grace_period: Duration::from_secs(50),
            node_startup_grace_period: Duration::from_secs(60),
            node_eviction_rate: 0.1,
            secondary_node_eviction_rate: 0.01,
            large_cluster_size_threshold: 50,
            unhealthy_zone_threshold: 0.55,
            endpoint_updates_batch_period: Duration::ZERO,
            endpoint_slice_updates_batch_period: Duration::ZERO,
            max_endpoints_per_slice: 100,
            mirroring_endpoint_slice_updates_batch_period: Duration::ZERO,
            mirroring_max_endpoints_per_subset: 1000,
            pv_claim_binder_sync_period: Duration::from_secs(15),
            disable_force_detach_on_timeout: false,
            allocate_node_cidrs: false,
            cluster_cidrs: Vec::new(),
            node_cidr_mask_ipv4: 24,
            node_cidr_mask_ipv6: 64,
            node_ipam_service_cidrs: Vec::new(),
            service_lb_range: None,
            legacy_token_clean_up_period: Duration::from_secs(365 * 24 * 60 * 60),
            terminated_pod_gc_threshold: 12_500,
            resource_quota_sync_period: Duration::from_secs(300),
            autoscaling: Autoscaling::default(),
        }
    }
}

impl Config {
    /// A client for one controller.
    pub(crate) fn client(&self, process: &Process) -> Client {
        match self.rate_limit {
            Some((rate, burst)) => process.client.clone().with_rate_limit(rate, burst),
            None => process.client.clone(),
        }
    }

    /// The prefix of a node's block of this family.
    pub(crate) fn node_cidr_mask(&self, cidr: AddressBlock) -> u8 {
        if cidr.is_v6() { self.node_cidr_mask_ipv6 } else { self.node_cidr_mask_ipv4 }
    }

    /// Why nodes cannot be given addresses as this asks for: the flag, and what it takes.
    pub(crate) fn wrong_node_cidrs(&self) -> Option<(&'static str, &'static str)> {
        if !self.allocate_node_cidrs {
            return None;
        }
        let fits = |cidr: &AddressBlock| {
            let mask = self.node_cidr_mask(*cidr);
            let most = if cidr.is_v6() { 128 } else { 32 };
            // In Kubernetes, too, a block of IPv6 is cut into no more than 2^16.
            (cidr.prefix()..=most).contains(&mask) && (!cidr.is_v6() || mask - cidr.prefix() <= 16)
        };
        match self.cluster_cidrs.as_slice() {
            [] => Some(("cluster-cidr", "a block of addresses, or one of each family")),
            [one, other] if one.is_v6() == other.is_v6() => Some(("cluster-cidr", "one block of each family")),
            [_, _, _, ..] => Some(("cluster-cidr", "one block of each family")),
            cidrs if cidrs.iter().all(fits) => None,
            _ => Some(("node-cidr-mask-size", "a prefix that cuts the cluster's block into at most 2^16")),
        }
    }

    /// Whether the controller of this name runs. The first entry that speaks of it decides, and `*` if none does.
    pub(crate) fn runs(&self, name: &str) -> bool {
        let speaks_of = |word: &str| word == name || names::find(word).is_some_and(|found| found.name == name);
        let mut all = false;
        for entry in &self.controllers {
            match entry.strip_prefix('-') {
                Some(off) if speaks_of(off) => return false,
                None if speaks_of(entry) => return true,
                _ => all |= entry == "*",
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_are_chosen_by_name_and_by_star() {
        let config = |entries: &[&str]| Config {
            controllers: entries.iter().map(|&entry| entry.to_owned()).collect(),
            ..Config::default()
        };
        assert!(Config::default().runs("a"));
        assert!(config(&["a"]).runs("a") && !config(&["a"]).runs("b"));
        assert!(config(&["*", "-a"]).runs("b") && !config(&["*", "-a"]).runs("a"));
        let podgc = "pod-garbage-collector-controller";
        assert!(config(&["podgc"]).runs(podgc) && !config(&["*", "-podgc"]).runs(podgc), "an alias is a name");
    }
}
