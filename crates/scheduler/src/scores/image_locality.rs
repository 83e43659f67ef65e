use crate::arguments::Arguments;
use crate::framework::{MAX_SCORE, Score};
use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;

/// Images smaller than this, in bytes, do not count.
const LEAST: i64 = 23 * 1024 * 1024;
/// More than this many bytes per container do not raise the score.
const MOST: i64 = 1000 * 1024 * 1024;

/// Prefers nodes that already have the pod's images.
#[derive(Debug)]
struct ImageLocality;

pub(crate) fn make(_: &Arguments) -> Box<dyn Score> {
    Box::new(ImageLocality)
}

impl Score for ImageLocality {
    fn name(&self) -> &'static str {
        "ImageLocality"
    }

    fn score(&self, pod: &PodInfo, snapshot: &Snapshot, nodes: &[&NodeInfo]) -> Option<Vec<i64>> {
        let all = snapshot.len() as f64;
        // An image on few nodes counts less, so that pods do not concentrate on those nodes.
        let spread = |image: &String| snapshot.nodes_with_image(image) as f64 / all;
        let spreads: Vec<f64> = pod.images.iter().map(spread).collect();
        if spreads.iter().all(|spread| *spread == 0.0) {
            return None;
        }
        let most = MOST * pod.images.len() as i64;
        let local = |node: &&NodeInfo| {
            let size = |image| node.images.get(image).map_or(0.0, |size| *size as f64);
            let sizes = pod.images.iter().zip(&spreads).map(|(image, spread)| (size(image) * spread) as i64);
            let sum = sizes.fold(0_i64, i64::saturating_add);
            MAX_SCORE * (sum.clamp(LEAST, most) - LEAST) / (most - LEAST)
        };
        Some(nodes.iter().map(local).collect())
    }
}
