use std::path::PathBuf;
use std::time::Duration;

use coracle_meta::Cidr;

use crate::{Config, names};

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
            config.set(Flag { name: name.trim_start_matches('-').to_owned(), value })?;
        }
        if let Some((name, expected)) = config.wrong_node_cidrs() {
            let value = config.cluster_cidrs.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            return Err(FlagError::Value { name: name.to_owned(), value, expected });
        }
        config.key_files.check().map_err(FlagError::Keys)?;
        Ok(config)
    }

    fn set(&mut self, flag: Flag) -> Result<(), FlagError> {
        let is_set = self.set_common(&flag)?
            || self.set_of_nodes(&flag)?
            || self.set_of_networks(&flag)?
            || self.set_of_autoscaling(&flag)?
            || self.set_of_storage_and_cleanup(&flag)?;
        if is_set {
            return Ok(());
        }
        if REFUSED.contains(&flag.name.as_str()) {
            return Err(FlagError::NotSupported(flag.name));
        }
        match self.key_files.of_flag(&flag.name) {
            // In Kubernetes, too, an empty file name means no file.
            Some(file) => *file = Some(PathBuf::from(&flag.value)).filter(|_| !flag.value.is_empty()),
            None => return Err(FlagError::Unknown(flag.name)),
        }
        Ok(())
    }

    /// Sets a flag of the program as a whole; false if it is not one.
    fn set_common(&mut self, flag: &Flag) -> Result<bool, FlagError> {
        match flag.name.as_str() {
            "controllers" => self.controllers = controllers(&flag.value)?,
            "kube-api-qps" => {
                self.rate_limit = Some((flag.number()? as f32, self.rate_limit.map_or(30, |(_, burst)| burst)));
            }
            "kube-api-burst" => {
                let burst = u32::try_from(flag.count()?).map_err(|_| flag.wrong("a whole number"))?;
                self.rate_limit = Some((self.rate_limit.map_or(20.0, |(rate, _)| rate), burst));
            }
            "use-service-account-credentials" => {
                let own: bool = flag.value.parse().map_err(|_| flag.wrong("true or false"))?;
                self.own_identity_for_all = !own;
            }
            "cluster-signing-duration" => self.cluster_signing_duration = flag.duration()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Sets a flag about node health or pod CIDRs; false if it is not one.
    fn set_of_nodes(&mut self, flag: &Flag) -> Result<bool, FlagError> {
        match flag.name.as_str() {
            "node-monitor-period" => self.node_monitor_period = flag.duration()?,
            "node-monitor-grace-period" => self.node_monitor_grace_period = flag.duration()?,
            "node-startup-grace-period" => self.node_startup_grace_period = flag.duration()?,
            "node-eviction-rate" => self.node_eviction_rate = flag.number()?,
            "secondary-node-eviction-rate" => self.secondary_node_eviction_rate = flag.number()?,
            "large-cluster-size-threshold" => self.large_cluster_size_threshold = flag.count()?,
            "unhealthy-zone-threshold" => self.unhealthy_zone_threshold = flag.number()?,
            "allocate-node-cidrs" => self.allocate_node_cidrs = flag.truth()?,
            "cluster-cidr" => self.cluster_cidrs = flag.blocks()?,
            "node-cidr-mask-size" => {
                (self.node_cidr_mask_ipv4, self.node_cidr_mask_ipv6) = (flag.mask()?, flag.mask()?);
            }
            "node-cidr-mask-size-ipv4" => self.node_cidr_mask_ipv4 = flag.mask()?,
            "node-cidr-mask-size-ipv6" => self.node_cidr_mask_ipv6 = flag.mask()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Sets a flag about Services and their endpoints; false if it is not one.
    fn set_of_networks(&mut self, flag: &Flag) -> Result<bool, FlagError> {
        match flag.name.as_str() {
            "endpoint-updates-batch-period" => self.endpoint_updates_batch_period = flag.duration()?,
            "endpointslice-updates-batch-period" => self.endpoint_slice_updates_batch_period = flag.duration()?,
            "max-endpoints-per-slice" => self.max_endpoints_per_slice = flag.per_slice()?,
            "mirroring-endpointslice-updates-batch-period" => {
                self.mirroring_endpoint_slice_updates_batch_period = flag.duration()?;
            }
            "mirroring-max-endpoints-per-subset" => self.mirroring_max_endpoints_per_subset = flag.per_slice()?,
            "service-cluster-ip-range" => self.node_ipam_service_cidrs = flag.blocks()?,
            "service-lb-range" => self.service_lb_range = flag.blocks()?.first().copied(),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Sets a flag of the horizontal pod autoscaler; false if it is not one.
    fn set_of_autoscaling(&mut self, flag: &Flag) -> Result<bool, FlagError> {
        let autoscaling = &mut self.autoscaling;
        match flag.name.as_str() {
            "horizontal-pod-autoscaler-sync-period" => autoscaling.sync_period = flag.duration()?,
            "horizontal-pod-autoscaler-tolerance" => autoscaling.tolerance = flag.number()?,
            "horizontal-pod-autoscaler-downscale-stabilization" => {
                autoscaling.downscale_stabilization = flag.duration()?;
            }
            "horizontal-pod-autoscaler-initial-readiness-delay" => {
                autoscaling.initial_readiness_delay = flag.duration()?;
            }
            "horizontal-pod-autoscaler-cpu-initialization-period" => {
                autoscaling.cpu_initialization_period = flag.duration()?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Sets a flag about volumes, quotas or the deletion of old objects; false if it is not one.
    fn set_of_storage_and_cleanup(&mut self, flag: &Flag) -> Result<bool, FlagError> {
        match flag.name.as_str() {
            "pvclaimbinder-sync-period" => self.pv_claim_binder_sync_period = flag.duration()?,
            "disable-force-detach-on-timeout" => self.disable_force_detach_on_timeout = flag.truth()?,
            "resource-quota-sync-period" => self.resource_quota_sync_period = flag.duration()?,
            "legacy-service-account-token-clean-up-period" => {
                self.legacy_token_clean_up_period = Some(flag.duration()?)
                    .filter(|period| !period.is_zero())
                    .ok_or_else(|| flag.wrong("a duration longer than zero"))?;
            }
            "terminated-pod-gc-threshold" => self.terminated_pod_gc_threshold = flag.count()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// A flag with its value; the methods parse the value.
struct Flag {
    name: String,
    value: String,
}

impl Flag {
    fn wrong(&self, expected: &'static str) -> FlagError {
        FlagError::Value { name: self.name.clone(), value: self.value.clone(), expected }
    }

    fn duration(&self) -> Result<Duration, FlagError> {
        coracle_meta::parse_duration(&self.value).ok_or_else(|| self.wrong("a duration such as `40s`"))
    }

    fn number(&self) -> Result<f64, FlagError> {
        self.value.parse().map_err(|_| self.wrong("a number"))
    }

    fn count(&self) -> Result<usize, FlagError> {
        self.value.parse().map_err(|_| self.wrong("a whole number"))
    }

    fn truth(&self) -> Result<bool, FlagError> {
        self.value.parse().map_err(|_| self.wrong("`true` or `false`"))
    }

    fn mask(&self) -> Result<u8, FlagError> {
        self.value.parse().map_err(|_| self.wrong("a number such as 24"))
    }

    fn blocks(&self) -> Result<Vec<Cidr>, FlagError> {
        let blocks = self
            .value
            .split(',')
            .filter(|block| !block.trim().is_empty())
            .map(|block| Cidr::parse_sloppy(block.trim()));
        blocks.collect::<Result<Vec<Cidr>, _>>().map_err(|_| self.wrong("a block such as 10.244.0.0/16"))
    }

    fn per_slice(&self) -> Result<usize, FlagError> {
        match self.count()? {
            count @ 1..=1000 => Ok(count),
            _ => Err(self.wrong("a number from 1 to 1000")),
        }
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
