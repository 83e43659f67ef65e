use std::time::Duration;

use clap::builder::{OsStringValueParser, RangedU64ValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{ArgAction, Args, Command, FromArgMatches};
use coracle_cluster::controllers::{Autoscaling, Config, Selection};
use coracle_cluster::{KeyFiles, SigningFiles};
use coracle_meta::Cidr;

use super::controller_manager_unused::ControllerManagerUnused;
use super::election::Election;
use super::unused::Given;
use super::values::{Cidrs, FileName, duration, positive_duration};
use crate::exit;

/// kube-controller-manager's flags for its controllers, of `coracle controller-manager` and of
/// `coracle up --kube-controller-manager-arg`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ControllerFlags {
    /// The controllers that run: names, * for all, -NAME for all but this one
    #[arg(long, value_name = "NAMES", default_value = "*", allow_hyphen_values = true)]
    controllers: Selection,
    /// Use the service account of each controller; with false, all controllers use the identity of the kubeconfig,
    /// which then needs the rights of all of them
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", default_value_t = true,
        action = ArgAction::Set)]
    use_service_account_credentials: bool,
    /// The requests per second of each controller [default: no limit, or 20 with --kube-api-burst]
    #[arg(long, value_name = "NUMBER")]
    kube_api_qps: Option<f32>,
    /// The requests that a controller may send at once before --kube-api-qps limits it [default: no limit, or 30 with
    /// --kube-api-qps]
    #[arg(long, value_name = "COUNT")]
    kube_api_burst: Option<u32>,
    #[command(flatten, next_help_heading = "Leader election")]
    pub(crate) election: Election,
    #[command(flatten, next_help_heading = "Node lifecycle")]
    node_lifecycle: NodeLifecycleFlags,
    #[command(flatten, next_help_heading = "Pod CIDRs of nodes")]
    node_ipam: NodeIpamFlags,
    #[command(flatten, next_help_heading = "Services and endpoints")]
    services: ServiceFlags,
    #[command(flatten, next_help_heading = "Horizontal pod autoscaler")]
    autoscaling: AutoscalingFlags,
    #[command(flatten, next_help_heading = "Volumes, quotas and cleanup")]
    cleanup: CleanupFlags,
    #[command(flatten, next_help_heading = "Keys and certificates")]
    keys: KeyFlags,
    #[command(flatten)]
    unused: Given<ControllerManagerUnused>,
}

#[derive(Clone, Debug, Args)]
struct NodeLifecycleFlags {
    /// How often the heartbeats of nodes are checked
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "5s")]
    node_monitor_period: Duration,
    /// How long a node may go without a heartbeat before it is not ready
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "50s")]
    node_monitor_grace_period: Duration,
    /// How long a new node may go without a heartbeat before it is not ready
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "1m")]
    node_startup_grace_period: Duration,
    /// The nodes of a zone per second that get the taint NoExecute
    #[arg(long, value_name = "NUMBER", default_value_t = 0.1)]
    node_eviction_rate: f64,
    /// The same in a large zone in which many nodes are not ready
    #[arg(long, value_name = "NUMBER", default_value_t = 0.01)]
    secondary_node_eviction_rate: f64,
    /// A zone with more nodes is large
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    large_cluster_size_threshold: usize,
    /// The share of nodes that are not ready from which a zone counts as partly disrupted
    #[arg(long, value_name = "NUMBER", default_value_t = 0.55)]
    unhealthy_zone_threshold: f64,
}

#[derive(Clone, Debug, Args)]
struct NodeIpamFlags {
    /// Give each node a pod CIDR out of --cluster-cidr
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", default_value_t = false,
        action = ArgAction::Set)]
    allocate_node_cidrs: bool,
    /// The pod CIDRs of the cluster: one, or one for IPv4 and one for IPv6
    #[arg(long, value_name = "CIDRS", default_value = "", hide_default_value = true)]
    cluster_cidr: Cidrs,
    /// The prefix length of a node's pod CIDR [default: 24 for IPv4, 64 for IPv6]
    #[arg(long, value_name = "BITS")]
    node_cidr_mask_size: Option<u8>,
    /// The prefix length of a node's IPv4 pod CIDR [default: --node-cidr-mask-size]
    #[arg(long, value_name = "BITS")]
    node_cidr_mask_size_ipv4: Option<u8>,
    /// The prefix length of a node's IPv6 pod CIDR [default: --node-cidr-mask-size]
    #[arg(long, value_name = "BITS")]
    node_cidr_mask_size_ipv6: Option<u8>,
    /// The CIDRs of Services, which no node gets
    #[arg(long, value_name = "CIDRS", default_value = "", hide_default_value = true)]
    service_cluster_ip_range: Cidrs,
}

#[derive(Clone, Debug, Args)]
struct ServiceFlags {
    /// How long changes of pods are batched before Endpoints are written
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "0s")]
    endpoint_updates_batch_period: Duration,
    /// How long changes of pods are batched before EndpointSlices are written
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "0s")]
    endpointslice_updates_batch_period: Duration,
    /// The maximum number of endpoints in an EndpointSlice
    #[arg(long, value_name = "COUNT", value_parser = per_slice(), default_value = "100")]
    max_endpoints_per_slice: usize,
    /// How long changes of Endpoints are batched before they are mirrored
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "0s")]
    mirroring_endpointslice_updates_batch_period: Duration,
    /// The maximum number of addresses of a subset that are mirrored
    #[arg(long, value_name = "COUNT", value_parser = per_slice(), default_value = "1000")]
    mirroring_max_endpoints_per_subset: usize,
    /// The addresses for Services of type LoadBalancer, which get none without it; only in Coracle
    #[arg(long, value_name = "CIDR", value_parser = Cidr::parse_sloppy)]
    service_lb_range: Option<Cidr>,
}

#[derive(Clone, Debug, Args)]
struct AutoscalingFlags {
    /// How often each HorizontalPodAutoscaler is evaluated
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "15s")]
    horizontal_pod_autoscaler_sync_period: Duration,
    /// The deviation from the target ratio that is tolerated
    #[arg(long, value_name = "NUMBER", default_value_t = 0.1)]
    horizontal_pod_autoscaler_tolerance: f64,
    /// How long a lower recommendation must persist before it is followed
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "5m")]
    horizontal_pod_autoscaler_downscale_stabilization: Duration,
    /// How long a starting pod may be unready
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "30s")]
    horizontal_pod_autoscaler_initial_readiness_delay: Duration,
    /// How long the CPU usage of a new pod is disregarded
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "5m")]
    horizontal_pod_autoscaler_cpu_initialization_period: Duration,
}

#[derive(Clone, Debug, Args)]
struct CleanupFlags {
    /// How often pending PersistentVolumeClaims are reconsidered
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "15s")]
    pvclaimbinder_sync_period: Duration,
    /// Keep volumes attached to nodes that have been unreachable for long
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", default_value_t = false,
        action = ArgAction::Set)]
    disable_force_detach_on_timeout: bool,
    /// How often all ResourceQuotas are recalculated; 0 for never
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "5m")]
    resource_quota_sync_period: Duration,
    /// How long the token Secret of a service account must be unused before it is removed
    #[arg(long, value_name = "DURATION", value_parser = positive_duration, default_value = "8760h")]
    legacy_service_account_token_clean_up_period: Duration,
    /// The number of finished pods that are kept
    #[arg(long, value_name = "COUNT", default_value_t = 12_500)]
    terminated_pod_gc_threshold: usize,
}

/// Files of keys and certificates. An empty name means no file.
#[derive(Clone, Debug, Args)]
struct KeyFlags {
    /// The key that signs the tokens in Secrets of service accounts; without it, no controller fills these Secrets
    #[arg(long, value_name = "FILE", value_parser = file())]
    service_account_private_key_file: Option<FileName>,
    /// The CA bundle of the API server, which controllers publish to pods; by default the CA of the kubeconfig
    #[arg(long, value_name = "FILE", value_parser = file())]
    root_ca_file: Option<FileName>,
    /// The maximum validity of signed certificates
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "8760h")]
    cluster_signing_duration: Duration,
    /// The certificate authority that signs approved CertificateSigningRequests
    #[arg(long, value_name = "FILE", value_parser = file())]
    cluster_signing_cert_file: Option<FileName>,
    /// The key of this certificate authority
    #[arg(long, value_name = "FILE", value_parser = file())]
    cluster_signing_key_file: Option<FileName>,
    /// The certificate authority of the signer kubernetes.io/kubelet-serving
    #[arg(long, value_name = "FILE", value_parser = file())]
    cluster_signing_kubelet_serving_cert_file: Option<FileName>,
    /// The key of this certificate authority
    #[arg(long, value_name = "FILE", value_parser = file())]
    cluster_signing_kubelet_serving_key_file: Option<FileName>,
    /// The certificate authority of the signer kubernetes.io/kube-apiserver-client-kubelet
    #[arg(long, value_name = "FILE", value_parser = file())]
    cluster_signing_kubelet_client_cert_file: Option<FileName>,
    /// The key of this certificate authority
    #[arg(long, value_name = "FILE", value_parser = file())]
    cluster_signing_kubelet_client_key_file: Option<FileName>,
    /// The certificate authority of the signer kubernetes.io/kube-apiserver-client
    #[arg(long, value_name = "FILE", value_parser = file())]
    cluster_signing_kube_apiserver_client_cert_file: Option<FileName>,
    /// The key of this certificate authority
    #[arg(long, value_name = "FILE", value_parser = file())]
    cluster_signing_kube_apiserver_client_key_file: Option<FileName>,
    /// The certificate authority of the signer kubernetes.io/legacy-unknown
    #[arg(long, value_name = "FILE", value_parser = file())]
    cluster_signing_legacy_unknown_cert_file: Option<FileName>,
    /// The key of this certificate authority
    #[arg(long, value_name = "FILE", value_parser = file())]
    cluster_signing_legacy_unknown_key_file: Option<FileName>,
}

/// The number of endpoints that a slice may have.
fn per_slice() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=1000)
}

fn file() -> impl TypedValueParser<Value = FileName> {
    OsStringValueParser::new().map(FileName::from)
}

impl ControllerFlags {
    /// The configuration of the controllers, without keys, after a note about flags that change nothing.
    ///
    /// # Errors
    /// If a flag is refused, or if flags contradict each other.
    pub(crate) fn config(&self) -> Result<Config, exit::Usage> {
        self.unused.check()?;
        let rate_limit = match (self.kube_api_qps, self.kube_api_burst) {
            (None, None) => None,
            (rate, burst) => Some((rate.unwrap_or(20.0), burst.unwrap_or(30))),
        };
        let mut config = Config {
            controllers: self.controllers.clone(),
            rate_limit,
            own_identity_for_all: !self.use_service_account_credentials,
            cluster_signing_duration: self.keys.cluster_signing_duration,
            leader_election: self.election.timings(None)?,
            autoscaling: self.autoscaling.settings(),
            ..Config::default()
        };
        self.node_lifecycle.set(&mut config);
        self.node_ipam.set(&mut config);
        self.services.set(&mut config);
        self.cleanup.set(&mut config);
        config.check().map_err(|error| exit::Usage(error.to_string()))?;
        Ok(config)
    }

    /// The files of the controllers' keys.
    ///
    /// # Errors
    /// If a certificate has no key or a key no certificate, or if one certificate authority for all signers stands
    /// with one for a single signer.
    pub(crate) fn key_files(&self) -> Result<KeyFiles, exit::Usage> {
        let files = self.keys.files();
        files.check().map_err(exit::Usage)?;
        Ok(files)
    }

    /// The flags in `pairs`, each given as NAME=VALUE of `option`; the others have their defaults.
    ///
    /// # Errors
    /// If a pair has no value, or if there is no such flag, or if the flag does not take the value.
    pub(crate) fn of_pairs(option: &str, pairs: &[String]) -> Result<Self, exit::Usage> {
        let command = Self::augment_args(Command::new("kube-controller-manager"));
        parse(command, option, pairs, Self::from_arg_matches)
    }

    /// Replaces the flags in `pairs`, each given as NAME=VALUE of `option`.
    ///
    /// # Errors
    /// As of [`Self::of_pairs`].
    pub(crate) fn update(&mut self, option: &str, pairs: &[String]) -> Result<(), exit::Usage> {
        // A default is not a value that was given: it must not replace one.
        let command = Self::augment_args_for_update(Command::new("kube-controller-manager"));
        let command = command.mut_args(|arg| arg.default_value(None::<&'static str>));
        parse(command, option, pairs, |matches| self.update_from_arg_matches(matches))
    }
}

fn parse<T>(
    command: Command,
    option: &str,
    pairs: &[String],
    read: impl FnOnce(&clap::ArgMatches) -> Result<T, clap::Error>,
) -> Result<T, exit::Usage> {
    let mut words = Vec::new();
    for pair in pairs {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(exit::Usage(format!("{option} `{pair}` is not NAME=VALUE")));
        };
        words.push(format!("--{}={value}", name.trim_start_matches('-').replace('_', "-")));
    }
    let command = command.no_binary_name(true).args_override_self(true).disable_help_flag(true);
    command.try_get_matches_from(words).and_then(|matches| read(&matches)).map_err(|error| refused(option, &error))
}

/// The first line of clap's error, which names the flag.
fn refused(option: &str, error: &clap::Error) -> exit::Usage {
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(flag) = error.get(clap::error::ContextKind::InvalidArg)
    {
        return exit::Usage(format!("{option}: kube-controller-manager has no flag {flag}"));
    }
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    exit::Usage(format!("{option}: {}", line.trim_start_matches("error: ")))
}

impl NodeLifecycleFlags {
    fn set(&self, config: &mut Config) {
        config.node_monitor_period = self.node_monitor_period;
        config.node_monitor_grace_period = self.node_monitor_grace_period;
        config.node_startup_grace_period = self.node_startup_grace_period;
        config.node_eviction_rate = self.node_eviction_rate;
        config.secondary_node_eviction_rate = self.secondary_node_eviction_rate;
        config.large_cluster_size_threshold = self.large_cluster_size_threshold;
        config.unhealthy_zone_threshold = self.unhealthy_zone_threshold;
    }
}

impl NodeIpamFlags {
    fn set(&self, config: &mut Config) {
        config.allocate_node_cidrs = self.allocate_node_cidrs;
        config.cluster_cidrs.clone_from(&self.cluster_cidr.0);
        config.node_cidr_mask_ipv4 = self.node_cidr_mask_size_ipv4.or(self.node_cidr_mask_size).unwrap_or(24);
        config.node_cidr_mask_ipv6 = self.node_cidr_mask_size_ipv6.or(self.node_cidr_mask_size).unwrap_or(64);
        config.node_ipam_service_cidrs.clone_from(&self.service_cluster_ip_range.0);
    }
}

impl ServiceFlags {
    fn set(&self, config: &mut Config) {
        config.endpoint_updates_batch_period = self.endpoint_updates_batch_period;
        config.endpoint_slice_updates_batch_period = self.endpointslice_updates_batch_period;
        config.max_endpoints_per_slice = self.max_endpoints_per_slice;
        config.mirroring_endpoint_slice_updates_batch_period = self.mirroring_endpointslice_updates_batch_period;
        config.mirroring_max_endpoints_per_subset = self.mirroring_max_endpoints_per_subset;
        config.service_lb_range = self.service_lb_range;
    }
}

impl AutoscalingFlags {
    fn settings(&self) -> Autoscaling {
        Autoscaling {
            sync_period: self.horizontal_pod_autoscaler_sync_period,
            tolerance: self.horizontal_pod_autoscaler_tolerance,
            downscale_stabilization: self.horizontal_pod_autoscaler_downscale_stabilization,
            initial_readiness_delay: self.horizontal_pod_autoscaler_initial_readiness_delay,
            cpu_initialization_period: self.horizontal_pod_autoscaler_cpu_initialization_period,
        }
    }
}

impl CleanupFlags {
    fn set(&self, config: &mut Config) {
        config.pv_claim_binder_sync_period = self.pvclaimbinder_sync_period;
        config.disable_force_detach_on_timeout = self.disable_force_detach_on_timeout;
        config.resource_quota_sync_period = self.resource_quota_sync_period;
        config.legacy_token_clean_up_period = self.legacy_service_account_token_clean_up_period;
        config.terminated_pod_gc_threshold = self.terminated_pod_gc_threshold;
    }
}

impl KeyFlags {
    fn files(&self) -> KeyFiles {
        let file = |name: &Option<FileName>| name.clone().unwrap_or_default().0;
        let pair = |certificate, key| SigningFiles { certificate: file(certificate), key: file(key) };
        KeyFiles {
            service_account_private_key: file(&self.service_account_private_key_file),
            root_ca: file(&self.root_ca_file),
            cluster_signing: pair(&self.cluster_signing_cert_file, &self.cluster_signing_key_file),
            kubelet_serving: pair(
                &self.cluster_signing_kubelet_serving_cert_file,
                &self.cluster_signing_kubelet_serving_key_file,
            ),
            kubelet_client: pair(
                &self.cluster_signing_kubelet_client_cert_file,
                &self.cluster_signing_kubelet_client_key_file,
            ),
            kube_apiserver_client: pair(
                &self.cluster_signing_kube_apiserver_client_cert_file,
                &self.cluster_signing_kube_apiserver_client_key_file,
            ),
            legacy_unknown: pair(
                &self.cluster_signing_legacy_unknown_cert_file,
                &self.cluster_signing_legacy_unknown_key_file,
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::flags::unused::UnusedFlags;

    /// The flags of kube-controller-manager 1.35.3.
    const ALL: &str = include_str!("kube_controller_manager_flags.txt");

    fn flags(pairs: &[&str]) -> Result<ControllerFlags, String> {
        let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        ControllerFlags::of_pairs("--arg", &pairs).map_err(|usage| usage.to_string())
    }

    fn config(pairs: &[&str]) -> Result<Config, String> {
        flags(pairs)?.config().map_err(|usage| usage.to_string())
    }

    fn assert_default(config: &Config) {
        // Metrics are equal if they are the same ones.
        assert_eq!(*config, Config { metrics: config.metrics.clone(), ..Config::default() });
    }

    #[test]
    fn without_flags_the_configuration_is_the_default() {
        assert_default(&config(&[]).unwrap());
        assert_eq!(flags(&[]).unwrap().key_files().unwrap(), KeyFiles::default());
    }

    #[test]
    fn a_flag_is_obeyed_or_refused_by_name() {
        let changed = config(&["node-monitor-period=1s", "--kube_api_burst=7", "controllers=*,-podgc"]).unwrap();
        assert_eq!((changed.node_monitor_period, changed.rate_limit), (Duration::from_secs(1), Some((20.0, 7))));
        assert_ne!(changed.controllers, Selection::default());
        assert_default(&config(&["concurrent-gc-syncs=3", "profiling=false"]).unwrap());
        assert_eq!(config(&["node-cidr-mask-size=25", "node-cidr-mask-size-ipv6=65"]).unwrap().node_cidr_mask_ipv4, 25);
        for (pair, why) in [
            ("node-monitor-period=soon", "--node-monitor-period"),
            ("max-endpoints-per-slice=1001", "--max-endpoints-per-slice"),
            ("legacy-service-account-token-clean-up-period=0s", "longer than zero"),
            ("controllers=gardener", "--controllers"),
            ("enable-garbage-collector=false", "--enable-garbage-collector: refused, because"),
            ("colour=red", "kube-controller-manager has no flag --colour"),
            ("colour", "`colour` is not NAME=VALUE"),
            ("allocate-node-cidrs=true", "--cluster-cidr"),
        ] {
            let refused = config(&[pair]).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn keys_stand_in_pairs_and_an_empty_name_is_no_file() {
        let files = |pairs: &[&str]| flags(pairs).unwrap().key_files();
        assert_eq!(files(&["root-ca-file=ca.crt"]).unwrap().root_ca, Some("ca.crt".into()));
        assert_eq!(files(&["root-ca-file="]).unwrap(), KeyFiles::default());
        assert!(files(&["cluster-signing-key-file=ca.key"]).unwrap_err().to_string().contains("without cert"));
    }

    #[test]
    fn an_update_replaces_what_it_names() {
        let mut flags = flags(&["node-monitor-period=1s", "terminated-pod-gc-threshold=1"]).unwrap();
        flags.update("--arg", &["terminated-pod-gc-threshold=2".to_owned()]).unwrap();
        let config = flags.config().unwrap();
        assert_eq!((config.node_monitor_period, config.terminated_pod_gc_threshold), (Duration::from_secs(1), 2));
    }

    #[test]
    fn every_flag_of_kube_controller_manager_is_obeyed_or_changes_nothing_or_is_refused() {
        let command = ControllerFlags::augment_args(Command::new("kube-controller-manager"));
        let known: BTreeSet<&str> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
        let all: BTreeSet<&str> = ALL.lines().collect();
        let elsewhere = ["feature-gates", "help", "kubeconfig", "version"];
        let missing: Vec<_> = all.difference(&known).filter(|name| !elsewhere.contains(name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
        assert_eq!(known.difference(&all).collect::<Vec<_>>(), [&"service-lb-range"]);
        assert!(ControllerManagerUnused::rows().all(|flag| !flag.because.ends_with('.')));
    }
}
