use std::net::{IpAddr, SocketAddr};

use crate::output::note;
use clap::{Args, ValueEnum};
use coracle_secure_serving::host_address;

/// How clients find an API server: by the endpoints of the Service `kubernetes`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct AdvertiseFlags {
    /// The address of the API server for pods and other machines, which the endpoints of the Service `kubernetes`
    /// contain; by default the address of this machine
    #[arg(long, value_name = "IP")]
    advertise_address: Option<IpAddr>,
    /// The reconciler of these endpoints
    #[arg(long, value_name = "TYPE", value_enum, default_value_t)]
    endpoint_reconciler_type: EndpointReconcilerType,
}

/// The implemented types. Unlike Kubernetes: not `master-count`, which is deprecated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum EndpointReconcilerType {
    /// The endpoints contain each API server that renews its lease
    #[default]
    Lease,
    /// The API server does not write endpoints
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
