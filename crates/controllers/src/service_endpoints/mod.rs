//! What the controllers of Endpoints and of EndpointSlices share: the pods behind a Service, and their layout.
//!
//! In Kubernetes: `k8s.io/endpointslice` and `pkg/api/v1/endpoints`.

mod addresses;
mod labels;
mod pods;
mod slices;
mod subsets;
mod tracker;
mod trigger_times;

pub(crate) use addresses::parse_ip;
pub(crate) use labels::{
    HEADLESS, LAST_CHANGE_TRIGGER_TIME, LEADER, MANAGED_BY, SERVICE_NAME, has_cluster_ip, is_filled, slice_prefix,
};
pub(crate) use pods::{belongs, chosen_pods, concerned_services, find_port, has_host_name, pod_selector, target_of};
pub(crate) use slices::{
    EndpointKey, PortsKey, SliceWrites, by_ports, count_of, index_by_service, is_as_wanted, key_of_endpoint,
    key_of_ports, slices_of,
};
pub(crate) use subsets::repack;
pub(crate) use tracker::SliceTracker;
pub(crate) use trigger_times::TriggerTimes;
