//! Which taints a pod tolerates, and for how long.

use coracle_api::core_v1::{Taint, Toleration};

/// Whether a toleration covers a taint. In Kubernetes: `Toleration.ToleratesTaint`.
pub(crate) fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    (toleration.effect.is_empty() || toleration.effect == taint.effect)
        && (toleration.key.is_empty() || toleration.key == taint.key)
        && match toleration.operator.as_str() {
            "Exists" => true,
            _ => toleration.value == taint.value && !toleration.key.is_empty(),
        }
}

/// The tolerations that cover these taints, the first for each; none if a taint is not covered.
pub(crate) fn matching<'a>(tolerations: &'a [Toleration], taints: &[Taint]) -> Option<Vec<&'a Toleration>> {
    taints.iter().map(|taint| tolerations.iter().find(|toleration| tolerates(toleration, taint))).collect()
}
