use coracle_api::core_v1::{Taint, Toleration};

/// Whether a taint keeps off pods that do not tolerate it: its effect is `NoSchedule` or `NoExecute`.
fn keeps_off(taint: &Taint) -> bool {
    taint.effect == "NoSchedule" || taint.effect == "NoExecute"
}

/// Whether all taints with effect `NoSchedule` or `NoExecute` are tolerated.
pub(crate) fn tolerated(taints: &[Taint], tolerations: &[Toleration]) -> bool {
    let is_tolerated = |taint: &Taint| tolerations.iter().any(|toleration| toleration.tolerates(taint));
    taints.iter().all(|taint| !keeps_off(taint) || is_tolerated(taint))
}
