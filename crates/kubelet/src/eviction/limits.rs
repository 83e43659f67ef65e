use coracle_api::core_v1::Pod;
use coracle_api::pod_resources::Amounts;
use coracle_meta::Quantity;

use crate::PodReading;

const STORAGE: &str = "ephemeral-storage";

/// Why a pod is evicted that exceeds its ephemeral storage limits; none if it does not exceed them.
///
/// In Kubernetes: `localStorageEviction`, except for volumes.
pub(crate) fn beyond_local_limits(pod: &Pod, reading: &PodReading) -> Option<String> {
    let used = |bytes: u64| Quantity::of(i64::try_from(bytes).unwrap_or(i64::MAX));
    let limits = pod.spec.containers.iter().filter_map(|own| own.resources.limits.get(STORAGE).copied());
    let total = limits.reduce(|sum, limit| sum + limit);
    if let Some(total) = total.filter(|total| used(reading.total(|own| own.storage)) > *total) {
        return Some(format!("Pod ephemeral local storage usage exceeds the total limit of containers {total}. "));
    }
    pod.spec.containers.iter().find_map(|container| {
        let limits: &Amounts = &container.resources.limits;
        let limit = limits.get(STORAGE).filter(|limit| !limit.is_zero())?;
        let own = reading.containers.iter().find(|own| own.name == container.name)?;
        let why = format!("Container {} exceeded its local ephemeral storage limit \"{limit}\". ", container.name);
        (used(own.storage) > *limit).then_some(why)
    })
}
