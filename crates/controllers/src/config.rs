use std::time::Duration;

use coracle_client::Client;
use coracle_controller_runtime::{ControllerMetrics, LeaderTimings, Process};
use coracle_meta::Cidr;
use coracle_release::Release;

use crate::keys::{CertificateKey, CertificateKeys, TokenKey};
use crate::{ConfigError, Selection, names};

/// The configuration of the controller-manager. In Kubernetes: the flags of `kube-controller-manager`.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The release, with switched feature gates. `--feature-gates`
    pub release: Release,
    /// Which controllers run. `--controllers`
    pub controllers: Selection,
    /// The client rate limit of each controller: requests per second, and burst; `None` for no limit.
    /// `--kube-api-qps`, `--kube-api-burst`
    ///
    /// Unlike Kubernetes (20 and 30): no limit by default, because the controllers and the API server run in one
    /// process.
    pub rate_limit: Option<(f32, u32)>,
    /// The certificate authority of the API server, PEM, for the ConfigMap `kube-root-ca.crt` of each namespace.
    /// `--root-ca-file`
    pub root_ca: String,
    /// The key that signs service account tokens for Secrets that request one; without it those Secrets stay empty.
    /// `--service-account-private-key-file`
    pub token_key: Option<TokenKey>,
    /// The keys that sign approved certificate requests; a signer without a key signs nothing.
    pub certificate_keys: CertificateKeys,
    /// The authority of the signer `coracle.dev/pod-certificate`, which Kubernetes does not have; without it requests for
    /// that signer stay pending. `--cluster-signing-cert-file`
    pub pod_certificate_key: Option<CertificateKey>,
    /// The maximum lifetime of certificates. `--cluster-signing-duration`
    pub cluster_signing_duration: Duration,
    /// Whether leader election is used, and its timings. `--leader-elect`, `--leader-elect-lease-duration`,
    /// `--leader-elect-renew-deadline`, `--leader-elect-retry-period`
    ///
    /// Unlike Kubernetes: off by default, because a control plane in one process has no competitor.
    pub leader_election: Option<LeaderTimings>,
    /// Whether all controllers use the identity of the program, which then needs the rights of all of them.
    /// `--use-service-account-credentials=false`
    ///
    /// Unlike Kubernetes, where that is the default: with service accounts each controller has only its own rights.
    pub own_identity_for_all: bool,
    /// Metrics of the controllers.
    pub metrics: ControllerMetrics,
    /// How often nodes are checked. `--node-monitor-period`
    pub node_monitor_period: Duration,
    /// How long a node may go without a heartbeat. `--node-monitor-grace-period`
    pub node_monitor_grace_period: Duration,
    /// How long a new node may go without a heartbeat. `--node-startup-grace-period`
    pub node_startup_grace_period: Duration,
    /// `NoExecute` taints per second in a zone. `--node-eviction-rate`
    pub node_eviction_rate: f64,
    /// The same in a large zone that is partly disrupted. `--secondary-node-eviction-rate`
    pub secondary_node_eviction_rate: f64,
    /// A zone with more nodes than this is large. `--large-cluster-size-threshold`
    pub large_cluster_size_threshold: usize,
    /// The share of not-ready nodes from which a zone counts as partly disrupted. `--unhealthy-zone-threshold`
    pub unhealthy_zone_threshold: f64,
    /// How long pod changes are batched before their Endpoints are written. `--endpoint-updates-batch-period`
    pub endpoint_updates_batch_period: Duration,
    /// The same for EndpointSlices. `--endpointslice-updates-batch-period`
    pub endpoint_slice_updates_batch_period: Duration,
    /// The maximum number of endpoints in an EndpointSlice. `--max-endpoints-per-slice`
    pub max_endpoints_per_slice: usize,
    /// How long changes are batched before Endpoints are mirrored again.
    /// `--mirroring-endpointslice-updates-batch-period`
    pub mirroring_endpoint_slice_updates_batch_period: Duration,
    /// The maximum number of addresses of a subset that are mirrored. `--mirroring-max-endpoints-per-subset`
    pub mirroring_max_endpoints_per_subset: usize,
    /// How often pending claims are reconsidered. `--pvclaimbinder-sync-period`
    pub pv_claim_binder_sync_period: Duration,
    /// Whether volumes stay attached to nodes that have been unreachable for long.
    /// `--disable-force-detach-on-timeout`
    pub disable_force_detach_on_timeout: bool,
    /// Whether nodes get a pod CIDR. `--allocate-node-cidrs`
    pub allocate_node_cidrs: bool,
    /// The pod CIDRs of the cluster: one block, or one for each family. `--cluster-cidr`
    pub cluster_cidrs: Vec<Cidr>,
    /// The mask size of a node's IPv4 block. `--node-cidr-mask-size`, `--node-cidr-mask-size-ipv4`
    pub node_cidr_mask_ipv4: u8,
    /// The mask size of a node's IPv6 block. `--node-cidr-mask-size`, `--node-cidr-mask-size-ipv6`
    pub node_cidr_mask_ipv6: u8,
    /// Service CIDRs, which are not allocated to nodes. `--service-cluster-ip-range`
    pub node_ipam_service_cidrs: Vec<Cidr>,
    /// The addresses for Services of type LoadBalancer; without it they get none. `--service-lb-range`, which
    /// Kubernetes does not have
    pub service_lb_range: Option<Cidr>,
    /// How long a token Secret must be unused before it is removed; not zero.
    /// `--legacy-service-account-token-clean-up-period`
    pub legacy_token_clean_up_period: Duration,
    /// How many finished pods are kept. `--terminated-pod-gc-threshold`
    pub terminated_pod_gc_threshold: usize,
    /// How often quotas are fully recalculated; zero for never. `--resource-quota-sync-period`
    pub resource_quota_sync_period: Duration,
    /// Settings of the horizontal pod autoscaler.
    pub autoscaling: Autoscaling,
}

/// Settings of the horizontal pod autoscaler. In Kubernetes: the flags `--horizontal-pod-autoscaler-…`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Autoscaling {
    /// How often each autoscaler is evaluated. `--horizontal-pod-autoscaler-sync-period`
    pub sync_period: Duration,
    /// The deviation from the target ratio that is tolerated. `--horizontal-pod-autoscaler-tolerance`
    pub tolerance: f64,
    /// How long a lower recommendation must persist. `--horizontal-pod-autoscaler-downscale-stabilization`
    pub downscale_stabilization: Duration,
    /// How long a starting pod may be unready. `--horizontal-pod-autoscaler-initial-readiness-delay`
    pub initial_readiness_delay: Duration,
    /// How long the CPU usage of a new pod is disregarded. `--horizontal-pod-autoscaler-cpu-initialization-period`
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
            release: Release::default(),
            controllers: Selection::default(),
            rate_limit: None,
            root_ca: String::new(),
            token_key: None,
            certificate_keys: CertificateKeys::default(),
            pod_certificate_key: None,
            cluster_signing_duration: Duration::from_secs(365 * 24 * 60 * 60),
            leader_election: None,
            own_identity_for_all: false,
            metrics: ControllerMetrics::default(),
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
    /// Whether a controller runs: it is selected, and the feature gate that it needs is on.
    pub(crate) fn runs(&self, controller: &str) -> bool {
        let gate = names::find(controller).and_then(|name| name.gate);
        self.controllers.runs(controller) && gate.is_none_or(|gate| self.release.enabled(gate))
    }

    /// A client for one controller.
    pub(crate) fn client(&self, process: &Process) -> Client {
        match self.rate_limit {
            Some((rate, burst)) => process.client.clone().with_rate_limit(rate, burst),
            None => process.client.clone(),
        }
    }

    /// The mask size of a node's block of this family.
    pub(crate) fn node_cidr_mask(&self, cidr: Cidr) -> u8 {
        if cidr.is_ipv6() { self.node_cidr_mask_ipv6 } else { self.node_cidr_mask_ipv4 }
    }

    /// Checks the settings that depend on each other. In Kubernetes: `NodeIPAMControllerOptions.Validate` and
    /// `cidrset.NewMultiCIDRRangeAllocator`.
    ///
    /// # Errors
    /// With [`Self::allocate_node_cidrs`], if the nodes cannot get pod CIDRs out of [`Self::cluster_cidrs`].
    pub fn check(&self) -> Result<(), ConfigError> {
        if !self.allocate_node_cidrs {
            return Ok(());
        }
        let fits = |cidr: &Cidr| {
            let mask = self.node_cidr_mask(*cidr);
            let most = if cidr.is_ipv6() { 128 } else { 32 };
            // In Kubernetes, too, an IPv6 block is split into at most 2^16 blocks.
            (cidr.prefix()..=most).contains(&mask) && (!cidr.is_ipv6() || mask - cidr.prefix() <= 16)
        };
        match self.cluster_cidrs.as_slice() {
            [] => Err(ConfigError::NoClusterCidr),
            [one, other] if one.is_ipv6() == other.is_ipv6() => Err(ConfigError::ClusterCidrs),
            [_, _, _, ..] => Err(ConfigError::ClusterCidrs),
            cidrs => match cidrs.iter().find(|cidr| !fits(cidr)) {
                None => Ok(()),
                Some(cidr) => Err(ConfigError::NodeCidrMask { mask: self.node_cidr_mask(*cidr), cluster_cidr: *cidr }),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_get_pod_cidrs_only_from_cluster_cidrs_that_can_be_split() {
        let check = |cidrs: &[&str], mask: u8| {
            Config {
                allocate_node_cidrs: true,
                cluster_cidrs: cidrs.iter().map(|cidr| Cidr::parse(cidr).unwrap()).collect(),
                node_cidr_mask_ipv6: mask,
                ..Config::default()
            }
            .check()
        };
        assert_eq!(check(&["10.244.0.0/16"], 64), Ok(()));
        assert_eq!(check(&["10.244.0.0/16", "fd00::/48"], 64), Ok(()));
        assert_eq!(check(&[], 64), Err(ConfigError::NoClusterCidr));
        assert_eq!(check(&["10.0.0.0/8", "10.1.0.0/16"], 64), Err(ConfigError::ClusterCidrs));
        assert!(matches!(check(&["10.244.0.0/25"], 64), Err(ConfigError::NodeCidrMask { mask: 24, .. })));
        assert!(matches!(check(&["fd00::/48"], 80), Err(ConfigError::NodeCidrMask { mask: 80, .. })));
        assert_eq!(Config::default().check(), Ok(()), "without --allocate-node-cidrs");
    }
    #[test]
    fn a_controller_runs_if_it_is_selected_and_its_feature_gate_is_on() {
        let config = |release: &str, controllers: &str| Config {
            release: Release::named(release).unwrap(),
            controllers: controllers.parse().unwrap(),
            ..Config::default()
        };
        let migrator = "storage-version-migrator-controller";
        assert!(config("1.37", "*").runs(migrator));
        assert!(!config("1.37", "*,-svm").runs(migrator));
        assert!(!config("1.35", "*").runs(migrator) && !config("1.35", "svm").runs(migrator));
        assert!(config("1.35", "*").runs("job-controller"));
        let taints = "device-taint-eviction-controller";
        assert!(!config("1.35", "*").runs(taints) && config("1.36", "*").runs(taints));
        let publisher = "kube-apiserver-serving-clustertrustbundle-publisher-controller";
        assert!(!config("1.36", "*").runs(publisher) && config("1.37", "*").runs(publisher));
    }
}
