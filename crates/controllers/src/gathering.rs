//! How long changes of very many pods are batched before their owner is processed.
//!
//! Each pass of a controller reads all pods of an object. A pass for every single change of many pods would take far
//! longer than creating them.
//!
//! Unlike Kubernetes: there a pass takes so long that changes batch up by themselves, at the cost of a core.

use std::time::Duration;

/// Objects with at most this many pods are processed at each change.
const FEW: usize = 500;
/// Changes of larger ones are batched for one millisecond per this many pods: half a second with 25,000.
const PODS_A_MILLISECOND: usize = 50;

/// How long changes are batched for an object with this many pods.
pub(crate) fn gathered(pods: usize) -> Duration {
    let millis = if pods < FEW { 0 } else { pods / PODS_A_MILLISECOND };
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_pods_are_not_delayed_and_many_are_for_a_moment() {
        assert_eq!(gathered(FEW - 1), Duration::ZERO);
        assert_eq!(gathered(25_000), Duration::from_millis(500));
    }
}
