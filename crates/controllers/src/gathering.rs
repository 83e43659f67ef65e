//! How long changes of very many pods are gathered before they are looked at together.
//!
//! Each pass of a controller looks at all pods of an object, so that looking at every change of many pods by itself would
//! take far longer than making them.
//!
//! Unlike Kubernetes: there a pass takes so long that changes are gathered by themselves, at the cost of a core.

use std::time::Duration;

/// Objects of so many pods look at each change.
const FEW: usize = 500;
/// Changes of larger ones are gathered for a millisecond for so many pods: for half a second with 25,000.
const PODS_A_MILLISECOND: usize = 50;

/// How long changes are gathered for an object of so many pods.
pub(crate) fn gathered(pods: usize) -> Duration {
    let millis = if pods < FEW { 0 } else { pods / PODS_A_MILLISECOND };
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_pods_wait_for_nobody_and_many_for_a_moment() {
        assert_eq!(gathered(FEW - 1), Duration::ZERO);
        assert_eq!(gathered(25_000), Duration::from_millis(500));
    }
}
