use std::net::{IpAddr, SocketAddr, UdpSocket};

/// The address by which other machines reach a server that listens at `listening`. If that is unspecified or loopback,
/// it is the address from which this machine reaches others. `None` if it reaches none.
///
/// In Kubernetes: `ResolveBindAddress`, which reads the routes of Linux.
pub fn host_address(listening: IpAddr) -> Option<IpAddr> {
    if !listening.is_loopback() && !listening.is_unspecified() {
        return Some(listening);
    }
    // Connecting a UDP socket sends nothing, but chooses the route. The addresses are reserved for documentation.
    let (any, other): (SocketAddr, SocketAddr) = match listening {
        IpAddr::V4(_) => (([0; 4], 0).into(), ([192, 0, 2, 1], 9).into()),
        IpAddr::V6(_) => (([0; 8], 0).into(), ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 9).into()),
    };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(other).ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_others_reach_is_taken_as_it_is_and_loopback_never() {
        let listening = IpAddr::from([10, 1, 2, 3]);
        assert_eq!(host_address(listening), Some(listening));
        for hidden in ["127.0.0.1", "0.0.0.0", "::1"] {
            let found = host_address(hidden.parse().unwrap());
            assert!(found.is_none_or(|found| !found.is_loopback() && !found.is_unspecified()), "{found:?}");
        }
    }
}
