//! The images on one node, and the queue in which it pulls more.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::{TimeShift, Timestamp};
use coracle_kubelet_api::save_format;
use serde::{Deserialize, Serialize};

use crate::images::ImageName;

/// The images on a node. Clones share their data until one changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeImages(Arc<Pulled>);

/// The images that a node has pulled or is pulling.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Pulled {
    /// From when on each image is on the node.
    images: BTreeMap<ImageName, Since>,
    /// When the last pull in the queue ends.
    #[serde(with = "save_format::maybe_time")]
    busy_until: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct Since(#[serde(with = "save_format::time")] Timestamp);

/// A pull of an image: its place in the queue of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pull {
    pub(crate) image: ImageName,
    /// Whether the registry has the image.
    pub(crate) succeeds: bool,
    /// When the pulls before it have ended.
    pub(crate) begins: Timestamp,
    pub(crate) ends: Timestamp,
}

impl Pulled {
    /// Whether the node has pulled nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.images.is_empty() && self.busy_until.is_none()
    }
}

impl NodeImages {
    /// The images of a saved node.
    pub(crate) fn of(saved: Pulled) -> Self {
        Self(Arc::new(saved))
    }

    /// The images as they are saved.
    pub(crate) fn save(&self) -> Pulled {
        Pulled::clone(&self.0)
    }

    /// Whether an image is on the node.
    pub(crate) fn has(&self, image: &ImageName, now: Timestamp) -> bool {
        self.0.images.get(image).is_some_and(|since| since.0 <= now)
    }

    /// The images that are on the node.
    pub(crate) fn present(&self, now: Timestamp) -> impl Iterator<Item = &ImageName> {
        self.0.images.iter().filter(move |(_, since)| since.0 <= now).map(|(image, _)| image)
    }

    /// A pull that is asked for now. It waits for the pulls before it, and takes no time if one of them pulls the same
    /// image: the runtime has the layers then.
    ///
    /// In Kubernetes: `serialImagePuller` of `pkg/kubelet/images/puller.go`, since `serializeImagePulls` is true by
    /// default.
    pub(crate) fn pull(&self, image: ImageName, lasts: Option<Duration>, now: Timestamp) -> Pull {
        let begins = self.0.busy_until.map_or(now, |busy_until| busy_until.max(now));
        let lasts_now = lasts.filter(|_| !self.has(&image, begins)).unwrap_or_default();
        Pull { image, succeeds: lasts.is_some(), begins, ends: begins.later(lasts_now) }
    }

    /// Puts a pull into the queue.
    pub(crate) fn begin(&mut self, pull: &Pull) {
        let own = Arc::make_mut(&mut self.0);
        own.busy_until = Some(pull.ends);
        if pull.succeeds {
            own.images.entry(pull.image.clone()).or_insert(Since(pull.ends));
        }
    }

    /// Ends the pulls that have not ended: the node has lost power. Images that were pulled stay.
    pub(crate) fn interrupt(&mut self, now: Timestamp) {
        let own = Arc::make_mut(&mut self.0);
        own.busy_until = None;
        own.images.retain(|_, since| since.0 <= now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::parse_time;

    const LASTS: Option<Duration> = Some(Duration::from_secs(3));

    fn at(second: i64) -> Timestamp {
        parse_time("2026-01-01T00:00:00Z").unwrap().later(Duration::from_secs(second.unsigned_abs()))
    }

    fn name(image: &str) -> ImageName {
        ImageName::of(image).unwrap()
    }

    /// When a pull that is asked for begins and ends.
    fn pulled(images: &mut NodeImages, image: &str, lasts: Option<Duration>, second: i64) -> (Timestamp, Timestamp) {
        let pull = images.pull(name(image), lasts, at(second));
        images.begin(&pull);
        (pull.begins, pull.ends)
    }

    #[test]
    fn a_node_pulls_one_image_after_the_other_and_the_same_image_once() {
        let mut images = NodeImages::default();
        assert_eq!(pulled(&mut images, "a:1", LASTS, 0), (at(0), at(3)));
        assert_eq!(pulled(&mut images, "b:1", LASTS, 1), (at(3), at(6)));
        assert_eq!(pulled(&mut images, "a:1", LASTS, 2), (at(6), at(6)));
        assert!(!images.has(&name("a:1"), at(2)) && images.has(&name("a:1"), at(3)));
        assert_eq!(pulled(&mut images, "a:1", LASTS, 9), (at(9), at(9)));
        assert_eq!(images.present(at(5)).map(ToString::to_string).collect::<Vec<_>>(), ["docker.io/library/a:1"]);
    }

    #[test]
    fn a_pull_that_fails_waits_for_its_turn_and_leaves_no_image() {
        let mut images = NodeImages::default();
        pulled(&mut images, "a:1", LASTS, 0);
        assert_eq!(pulled(&mut images, "b:1", None, 1), (at(3), at(3)));
        assert!(!images.has(&name("b:1"), at(9)));
    }

    #[test]
    fn a_power_cut_ends_pulls_and_keeps_images() {
        let mut images = NodeImages::default();
        pulled(&mut images, "a:1", LASTS, 0);
        pulled(&mut images, "b:1", LASTS, 0);
        images.interrupt(at(4));
        assert!(images.has(&name("a:1"), at(9)) && !images.has(&name("b:1"), at(9)));
        assert_eq!(pulled(&mut images, "b:1", LASTS, 5), (at(5), at(8)));
    }
}
