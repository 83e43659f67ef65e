use std::net::{IpAddr, SocketAddr};

use crate::output::note;
use clap::{Args, ValueEnum};
use coracle_cluster::serve::host_address;

/// How others find an API server: by the endpoints of the service `kubernetes`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct AdvertiseFlags {
    /// Where pods and other machines find the API server: the endpoints of the service `kubernetes`; by default the
    /// address of this machine
    #[arg(long, value_name = "IP")]
    advertise_address: Option<IpAddr>,
    /// How these endpoints are kept
    #[arg(long, value_name = "TYPE", value_enum, default_value_t)]
    endpoint_reconciler_type: EndpointReconcilerType,
}

/// The types that are built; `master-count` is not, which Kubernetes has deprecated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum EndpointReconcilerType {
    /// Each API server is in them for as long as it says that it is there
    #[default]
    Lease,
    /// There are none
    None,
}

impl AdvertiseFlags {
    /// The address for the endpoints of a server that listens at `listening`, if it has endpoints.
    pub(crate) fn address(&self, listening: SocketAddr) -> Option<IpAddr> {
        if self.endpoint_reconciler_type == EndpointReconcilerType::None {
            return None;
        }
        let named = self.advertise_address.filter(|address| !address.is_unspecified());
        let address = named.or_else(|| host_address(listening.ip()));
        if address.is_none() {
            note!(
                "note: the service kubernetes has no endpoints: this machine has no way to others; --advertise-address names its address"
            );
        }
        address
    }
}
