use coracle_sim::faults::FaultTarget;

/// The keys that may be next to the word of a fault.
pub(crate) fn words_with(target: FaultTarget) -> &'static [&'static str] {
    match target {
        FaultTarget::Watches | FaultTarget::OpenWatches => &["kind", "to"],
        FaultTarget::Requester => &["start"],
        FaultTarget::Requests | FaultTarget::Cluster => &[],
    }
}
