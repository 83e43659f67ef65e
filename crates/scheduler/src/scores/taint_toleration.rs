use coracle_api::core_v1::{Taint, Toleration};

use super::normalize;
use crate::arguments::Arguments;
use crate::framework::Score;
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// Prefers nodes with fewer `PreferNoSchedule` taints that the pod does not tolerate.
#[derive(Debug)]
struct TaintToleration;

pub(crate) fn make(_: &Arguments) -> Box<dyn Score> {
    Box::new(TaintToleration)
}

impl Score for TaintToleration {
    fn name(&self) -> &'static str {
        "TaintToleration"
    }

    fn score(&self, pod: &PodInfo, _: &Snapshot, nodes: &[&NodeInfo]) -> Option<Vec<i64>> {
        let soft = |toleration: &&Toleration| toleration.effect.is_empty() || toleration.effect == "PreferNoSchedule";
        let disliked = |node: &&NodeInfo| {
            let soft_taints = node.taints.iter().filter(|taint| taint.effect == "PreferNoSchedule");
            let tolerated =
                |taint: &Taint| pod.tolerations.iter().filter(soft).any(|toleration| toleration.tolerates(taint));
            soft_taints.filter(|taint| !tolerated(taint)).count() as i64
        };
        let mut scores: Vec<i64> = nodes.iter().map(disliked).collect();
        normalize(&mut scores, true);
        Some(scores)
    }
}
