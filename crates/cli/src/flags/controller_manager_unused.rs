use super::common_unused::{COMPONENT, OBSERVABILITY, VERSIONS};
use super::unused::{UnusedFlag, UnusedFlags, changes_nothing, refused};

const WORKERS: &str = "the number of workers changes only how fast a controller works";
const NO_CLOUD: &str = "there is no cloud provider";
const START_AND_STOP: &str = "all controllers start at once and stop at once";
const RECYCLING: &str = "volumes are not recycled";

/// The flags of kube-controller-manager that the controllers do not obey.
#[derive(Debug)]
pub(crate) struct ControllerManagerUnused;

impl UnusedFlags for ControllerManagerUnused {
    const ROWS: &'static [&'static [UnusedFlag]] = &[OWN, COMPONENT, OBSERVABILITY, VERSIONS];
}

const OWN: &[UnusedFlag] = &[
    changes_nothing("concurrent-cron-job-syncs", "COUNT", WORKERS),
    changes_nothing("concurrent-daemonset-syncs", "COUNT", WORKERS),
    changes_nothing("concurrent-deployment-syncs", "COUNT", WORKERS),
    changes_nothing("concurrent-device-taint-eviction-syncs", "COUNT", WORKERS),
    changes_nothing("concurrent-endpoint-syncs", "COUNT", WORKERS),
    changes_nothing("concurrent-ephemeralvolume-syncs", "COUNT", WORKERS),
    changes_nothing("concurrent-gc-syncs", "COUNT", WORKERS),
    changes_nothing("concurrent-horizontal-pod-autoscaler-syncs", "COUNT", WORKERS),
    changes_nothing("concurrent-job-syncs", "COUNT", WORKERS),
    changes_nothing("concurrent-namespace-syncs", "COUNT", WORKERS),
    changes_nothing("concurrent-rc-syncs", "COUNT", WORKERS),
    changes_nothing("concurrent-replicaset-syncs", "COUNT", WORKERS),
    changes_nothing("concurrent-resource-quota-syncs", "COUNT", WORKERS),
    changes_nothing("concurrent-service-endpoint-syncs", "COUNT", WORKERS),
    changes_nothing("concurrent-service-syncs", "COUNT", WORKERS),
    changes_nothing("concurrent-serviceaccount-token-syncs", "COUNT", WORKERS),
    changes_nothing("concurrent-statefulset-syncs", "COUNT", WORKERS),
    changes_nothing("concurrent-ttl-after-finished-syncs", "COUNT", WORKERS),
    changes_nothing("concurrent-validating-admission-policy-status-syncs", "COUNT", WORKERS),
    changes_nothing("mirroring-concurrent-service-endpoint-syncs", "COUNT", WORKERS),
    changes_nothing("cloud-config", "TEXT", NO_CLOUD),
    changes_nothing("cloud-provider", "TEXT", NO_CLOUD),
    changes_nothing("cluster-name", "TEXT", NO_CLOUD),
    changes_nothing("configure-cloud-routes", "BOOL", NO_CLOUD),
    changes_nothing("enable-leader-migration", "BOOL", NO_CLOUD),
    changes_nothing("external-cloud-volume-plugin", "TEXT", NO_CLOUD),
    changes_nothing("leader-migration-config", "TEXT", NO_CLOUD),
    changes_nothing("route-reconciliation-period", "DURATION", NO_CLOUD),
    changes_nothing("controller-shutdown-timeout", "DURATION", START_AND_STOP),
    changes_nothing("controller-start-interval", "DURATION", START_AND_STOP),
    changes_nothing("pv-recycler-increment-timeout-nfs", "COUNT", RECYCLING),
    changes_nothing("pv-recycler-minimum-timeout-hostpath", "COUNT", RECYCLING),
    changes_nothing("pv-recycler-minimum-timeout-nfs", "COUNT", RECYCLING),
    changes_nothing("pv-recycler-pod-template-filepath-hostpath", "TEXT", RECYCLING),
    changes_nothing("pv-recycler-pod-template-filepath-nfs", "TEXT", RECYCLING),
    changes_nothing("pv-recycler-timeout-increment-hostpath", "COUNT", RECYCLING),
    changes_nothing("flex-volume-plugin-dir", "DIR", "there are no FlexVolume plug-ins"),
    refused("attach-detach-reconcile-sync-period", "DURATION", "the period is fixed").unless("1m0s"),
    refused("cidr-allocator-type", "TEXT", "there is no other allocator").unless("RangeAllocator"),
    refused("disable-attach-detach-reconcile-sync", "BOOL", "the attach-detach controller always reconciles")
        .unless("false"),
    refused("enable-dynamic-provisioning", "BOOL", "volumes are provisioned by CSI drivers, which run or do not run")
        .unless("true"),
    refused("enable-garbage-collector", "BOOL", "--controllers=*,-garbagecollector stops the garbage collector")
        .unless("true"),
    refused("enable-hostpath-provisioner", "BOOL", "the provisioner for host paths is not supported").unless("false"),
    refused("leader-elect-resource-name", "TEXT", "the name of the Lease is fixed").unless("kube-controller-manager"),
    refused("min-resync-period", "DURATION", "informers do not resync").unless("12h0m0s"),
    refused("namespace-sync-period", "DURATION", "the period is fixed").unless("5m0s"),
];
