//! Whether a ServiceCIDR may be deleted.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Timestamp;
use coracle_api::networking_v1::{IPAddress, ServiceCIDR};
use coracle_meta::{Cidr, parse_time};

/// How long a range is kept after its deletion, so that concurrent allocations from it complete.
const GRACE: Duration = Duration::from_secs(10);

/// What to do for a range.
#[derive(Debug, PartialEq)]
pub(super) enum ServiceCidrStep {
    /// Add the finalizer, and set it to ready.
    Ready,
    /// Report that it is still in use.
    Keep,
    /// Sync again after this time.
    Wait(Duration),
    /// Remove the finalizer.
    LetGo,
}

/// What to do for a range.
pub(super) fn step(
    range: &ServiceCIDR,
    all: &[Arc<ServiceCIDR>],
    addresses: impl FnOnce() -> Vec<Arc<IPAddress>>,
    now: Timestamp,
) -> ServiceCidrStep {
    let Some(deleted) = &range.metadata.deletion_timestamp else { return ServiceCidrStep::Ready };
    let others: Vec<_> =
        all.iter().filter(|other| other.metadata.name != range.metadata.name).flat_map(|other| blocks(other)).collect();
    let has_parent = blocks(range).iter().all(|block| others.iter().any(|other| other.contains_block(*block)));
    let is_left_alone = |address: IpAddr| {
        blocks(range).iter().any(|block| block.has_host(address)) && !others.iter().any(|other| other.has_host(address))
    };
    if !has_parent && addresses().iter().filter_map(|address| allocated(address)).any(is_left_alone) {
        return ServiceCidrStep::Keep;
    }
    let since = parse_time(deleted)
        .map_or(GRACE, |deleted| Duration::try_from(now.duration_since(deleted)).unwrap_or_default());
    match GRACE.checked_sub(since) {
        Some(left) if !left.is_zero() => ServiceCidrStep::Wait(left),
        _ => ServiceCidrStep::LetGo,
    }
}

/// The decision as a sentence, for the event log.
pub(super) fn sentence(step: &ServiceCidrStep) -> &'static str {
    match step {
        ServiceCidrStep::Ready => "it is ready",
        ServiceCidrStep::Keep => "it is to go, and holds addresses that no other range holds: keep it",
        ServiceCidrStep::Wait(_) => "deletion requested: wait until no address of it is allocated",
        ServiceCidrStep::LetGo => "it is to go: let it go",
    }
}

/// The CIDR blocks of a range.
pub(super) fn blocks(range: &ServiceCIDR) -> Vec<Cidr> {
    range.spec.cidrs.iter().filter_map(|cidr| Cidr::parse_sloppy(cidr).ok()).collect()
}

/// The address, if the API server allocated it for a Service.
pub(super) fn allocated(address: &IPAddress) -> Option<IpAddr> {
    let manager = address.metadata.labels.get("ipaddress.kubernetes.io/managed-by");
    manager.filter(|manager| *manager == "ipallocator.k8s.io")?;
    address.metadata.name.as_ref()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(name: &str, cidr: &str) -> ServiceCIDR {
        let mut range = ServiceCIDR::default();
        range.metadata.name = Some(name.to_owned());
        range.spec.cidrs = vec![cidr.to_owned()];
        range
    }

    fn address(name: &str) -> Arc<IPAddress> {
        let mut address = IPAddress::default();
        address.metadata.name = Some(name.to_owned());
        let label = ("ipaddress.kubernetes.io/managed-by".to_owned(), "ipallocator.k8s.io".to_owned());
        address.metadata.labels = [label].into();
        Arc::new(address)
    }

    #[test]
    fn a_range_goes_when_its_addresses_are_gone_or_in_another_range() {
        let now = parse_time("2026-01-01T00:01:00Z").unwrap();
        let mut going = range("a", "10.0.0.0/24");
        let decided = |going: &ServiceCIDR, others: &[ServiceCIDR], addresses: &[&str]| {
            let all: Vec<_> = others.iter().chain([going]).cloned().map(Arc::new).collect();
            step(going, &all, || addresses.iter().map(|name| address(name)).collect(), now)
        };
        assert_eq!(decided(&going, &[], &["10.0.0.1"]), ServiceCidrStep::Ready);
        going.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
        assert_eq!(decided(&going, &[], &["10.0.0.1"]), ServiceCidrStep::Keep);
        assert_eq!(decided(&going, &[], &["10.0.1.1"]), ServiceCidrStep::LetGo);
        assert_eq!(decided(&going, &[range("b", "10.0.0.0/16")], &["10.0.0.1"]), ServiceCidrStep::LetGo);
        assert_eq!(decided(&going, &[range("b", "10.0.0.0/30")], &["10.0.0.1"]), ServiceCidrStep::LetGo);
        assert_eq!(decided(&going, &[range("b", "10.0.0.0/30")], &["10.0.0.9"]), ServiceCidrStep::Keep);
        going.metadata.deletion_timestamp = Some("2026-01-01T00:00:57Z".to_owned());
        assert_eq!(decided(&going, &[], &[]), ServiceCidrStep::Wait(Duration::from_secs(7)));
    }
}
