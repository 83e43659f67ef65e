//! Which taints a pod tolerates, and for how long.

use coracle_api::core_v1::{Taint, Toleration};

/// The tolerations that match these taints, the first for each; `None` if a taint is not tolerated.
pub(crate) fn matching<'a>(tolerations: &'a [Toleration], taints: &[Taint]) -> Option<Vec<&'a Toleration>> {
    taints.iter().map(|taint| tolerations.iter().find(|toleration| toleration.tolerates(taint))).collect()
}
