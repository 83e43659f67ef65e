use std::path::PathBuf;

use crate::{AddressBlock, Config, names};

/// A flag that was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    /// kube-controller-manager has no flag of this name.
    #[error("`{0}` is not a flag of the controller-manager")]
    Unknown(String),
    /// The flag does not accept the value.
    #[error("`{name}`: `{value}` is not {expected}")]
    Value {
        /// The flag.
        name: String,
        /// The value.
        value: String,
        /// The values that the flag accepts.
        expected: &'static str,
    },
    /// kube-controller-manager has no controller of this name.
    #[error("`--controllers`: {name:?} is not in the list of known controllers: {all}")]
    NoController {
        /// The unknown name.
        name: String,
        /// The names of the implemented controllers.
        all: String,
    },
    /// The controller exists in Kubernetes, but is not implemented here.
    #[error("`--controllers`: {name} is not built; these are: {all}")]
    NotBuilt {
        /// The requested name.
        name: String,
        /// The names of the implemented controllers.
        all: String,
    },
    /// The key files are inconsistent.
    #[error("{0}")]
    Keys(String),
    /// The flag belongs to an implemented controller, but has no effect here.
    #[error("`{0}` is not supported: it would change a controller that is built, and does not")]
    NotSupported(String),
}

/// Flags for numbers of workers and polling periods, which have no visible effect here.
const REFUSED: &[&str] = &[
    "concurrent-replicaset-syncs",
    "concurrent-rc-syncs",
    "concurrent-deployment-syncs",
    "concurrent-statefulset-syncs",
    "concurrent-daemonset-syncs",
    "concurrent-job-syncs",
    "concurrent-cron-job-syncs",
    "concurrent-ttl-after-finished-syncs",
    "concurrent-namespace-syncs",
    "concurrent-gc-syncs",
    "concurrent-horizontal-pod-autoscaler-syncs",
    "concurrent-resource-quota-syncs",
    "concurrent-serviceaccount-token-syncs",
    "concurrent-endpoint-syncs",
    "concurrent-service-endpoint-syncs",
    "mirroring-concurrent-service-endpoint-syncs",
    "namespace-sync-period",
    "attach-detach-reconcile-sync-period",
    "disable-attach-detach-reconcile-sync",
    "enable-garbage-collector",
    "leader-elect",
    "min-resync-period",
];

impl Config {
    /// Parses flags of kube-controller-manager, without their dashes. The files that they name are not read.
    pub fn from_flags(flags: impl IntoIterator<Item = (String, String)>) -> Result<Self, FlagError> {
        let mut config = Self::default();
        for (name, value) in flags {
            let name = name.trim_start_matches('-').to_owned();
            let wrong = |expected| FlagError::Value { name: name.clone(), value: value.clone(), expected };
            let duration = || coracle_meta::parse_duration(&value).ok_or_else(|| wrong("a duration such as `40s`"));
            let number = || value.parse::<f64>().map_err(|_| wrong("a number"));
            let count = || value.parse::<usize>().map_err(|_| wrong("a whole number"));
            let truth = || value.parse::<bool>().map_err(|_| wrong("`true` or `false`"));
            let mask = || value.parse::<u8>().map_err(|_| wrong("a number such as 24"));
            let blocks = || {
                let blocks = value.split(',').filter(|block| !block.trim().is_empty()).map(str::parse);
                blocks.collect::<Result<Vec<AddressBlock>, _>>().map_err(|_| wrong("a block such as 10.244.0.0/16"))
            };
            let per_slice = || match count()? {
                count @ 1..=1000 => Ok(count),
                _ => Err(wrong("a number from 1 to 1000")),
            };
            match name.as_str() {
                "controllers" => config.controllers = controllers(&value)?,
                "kube-api-qps" => {
                    config.rate_limit = Some((number()? as f32, config.rate_limit.map_or(30, |(_, burst)| burst)))
                }
                "kube-api-burst" => {
                    let burst = u32::try_from(count()?).map_err(|_| wrong("a whole number"))?;
                    config.rate_limit = Some((config.rate_limit.map_or(20.0, |(rate, _)| rate), burst));
                }
                "use-service-account-credentials" => {
                    let own: bool = value.parse().map_err(|_| wrong("true or false"))?;
                    config.own_identity_for_all = !own;
                }
                "node-monitor-period" => config.node_monitor_period = duration()?,
                "node-monitor-grace-period" => config.node_monitor_grace_period = duration()?,
                "node-startup-grace-period" => config.node_startup_grace_period = duration()?,
                "node-eviction-rate" => config.node_eviction_rate = number()?,
                "secondary-node-eviction-rate" => config.secondary_node_eviction_rate = number()?,
                "large-cluster-size-threshold" => config.large_cluster_size_threshold = count()?,
                "unhealthy-zone-threshold" => config.unhealthy_zone_threshold = number()?,
                "endpoint-updates-batch-period" => config.endpoint_updates_batch_period = duration()?,
                "endpointslice-updates-batch-period" => config.endpoint_slice_updates_batch_period = duration()?,
                "max-endpoints-per-slice" => config.max_endpoints_per_slice = per_slice()?,
                "mirroring-endpointslice-updates-batch-period" => {
                    config.mirroring_endpoint_slice_updates_batch_period = duration()?;
                }
                "mirroring-max-endpoints-per-subset" => {
                    config.mirroring_max_endpoints_per_subset = per_slice()?;
                }
                "pvclaimbinder-sync-period" => config.pv_claim_binder_sync_period = duration()?,
                "disable-force-detach-on-timeout" => config.disable_force_detach_on_timeout = truth()?,
                "allocate-node-cidrs" => config.allocate_node_cidrs = truth()?,
                "cluster-cidr" => config.cluster_cidrs = blocks()?,
                "node-cidr-mask-size" => {
                    (config.node_cidr_mask_ipv4, config.node_cidr_mask_ipv6) = (mask()?, mask()?);
                }
                "node-cidr-mask-size-ipv4" => config.node_cidr_mask_ipv4 = mask()?,
                "node-cidr-mask-size-ipv6" => config.node_cidr_mask_ipv6 = mask()?,
                "service-cluster-ip-range" => config.node_ipam_service_cidrs = blocks()?,
                "service-lb-range" => config.service_lb_range = blocks()?.first().copied(),
                "cluster-signing-duration" => config.cluster_signing_duration = duration()?,
                "horizontal-pod-autoscaler-sync-period" => config.autoscaling.sync_period = duration()?,
                "horizontal-pod-autoscaler-tolerance" => config.autoscaling.tolerance = number()?,
                "horizontal-pod-autoscaler-downscale-stabilization" => {
                    config.autoscaling.downscale_stabilization = duration()?;
                }
                "horizontal-pod-autoscaler-initial-readiness-delay" => {
                    config.autoscaling.initial_readiness_delay = duration()?;
                }
                "horizontal-pod-autoscaler-cpu-initialization-period" => {
                    config.autoscaling.cpu_initialization_period = duration()?;
                }
                "resource-quota-sync-period" => config.resource_quota_sync_period = duration()?,
                "legacy-service-account-token-clean-up-period" => {
                    config.legacy_token_clean_up_period = Some(duration()?)
                        .filter(|period| !period.is_zero())
                        .ok_or_else(|| wrong("a duration longer than zero"))?;
                }
                "terminated-pod-gc-threshold" => config.terminated_pod_gc_threshold = count()?,
                other if REFUSED.contains(&other) => return Err(FlagError::NotSupported(name)),
                other => match config.key_files.of_flag(other) {
                    // In Kubernetes, too, an empty file name means no file.
                    Some(file) => *file = Some(PathBuf::from(&value)).filter(|_| !value.is_empty()),
                    None => return Err(FlagError::Unknown(name)),
                },
            }
        }
        if let Some((name, expected)) = config.wrong_node_cidrs() {
            let value = config.cluster_cidrs.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            return Err(FlagError::Value { name: name.to_owned(), value, expected });
        }
        config.key_files.check().map_err(FlagError::Keys)?;
        Ok(config)
    }
}

/// Parses the value of `--controllers`.
fn controllers(value: &str) -> Result<Vec<String>, FlagError> {
    let words: Vec<_> = value.split(',').map(|word| word.trim().to_owned()).collect();
    for word in words.iter().filter(|word| *word != "*") {
        let is_off = word.starts_with('-');
        let name = word.trim_start_matches('-');
        let all = || crate::names().collect::<Vec<_>>().join(", ");
        match names::find(name) {
            None => return Err(FlagError::NoController { name: name.to_owned(), all: all() }),
            // A controller that is not implemented may be switched off.
            Some(found) if !is_off && !crate::names().any(|built| built == found.name) => {
                return Err(FlagError::NotBuilt { name: name.to_owned(), all: all() });
            }
            Some(_) => {}
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn read(flags: &[(&str, &str)]) -> Result<Config, FlagError> {
        Config::from_flags(flags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn a_flag_takes_effect_or_is_refused_by_name() {
        let config = read(&[("node-monitor-period", "1s"), ("root-ca-file", "ca.crt")]).unwrap();
        assert_eq!(config.node_monitor_period, Duration::from_secs(1));
        assert_eq!(config.key_files.root_ca, Some("ca.crt".into()));
        assert!(matches!(read(&[("cluster-signing-key-file", "ca.key")]), Err(FlagError::Keys(_))));
        assert_eq!(read(&[("controllers", "*,-podgc,replicaset")]).unwrap().controllers, ["*", "-podgc", "replicaset"]);
        let unknown = read(&[("controllers", "*,gardener")]).unwrap_err().to_string();
        assert!(unknown.contains("\"gardener\" is not in the list") && unknown.contains("replicaset-controller"));
        assert!(matches!(read(&[("controllers", "tokencleaner")]), Err(FlagError::NotBuilt { .. })));
        assert!(read(&[("controllers", "*,-tokencleaner")]).is_ok());
        assert_eq!(read(&[("leader-elect", "true")]), Err(FlagError::NotSupported("leader-elect".to_owned())));
        assert_eq!(read(&[("colour", "red")]), Err(FlagError::Unknown("colour".to_owned())));
        assert!(matches!(read(&[("node-monitor-period", "soon")]), Err(FlagError::Value { .. })));
    }

    #[test]
    fn addresses_of_nodes_are_only_given_out_of_blocks_that_can_be_cut() {
        let cut = |cidr, mask| {
            let flags = [("allocate-node-cidrs", "true"), ("cluster-cidr", cidr), ("node-cidr-mask-size-ipv6", mask)];
            read(&flags).is_ok()
        };
        assert!(cut("10.244.0.0/16", "64") && cut("10.244.0.0/16,fd00::/48", "64"));
        assert!(!cut("", "64") && !cut("10.0.0.0/8,10.1.0.0/16", "64") && !cut("10.244.0.0/25", "64"));
        assert!(!cut("fd00::/48", "80") && !cut("nowhere", "64"));
    }
}
