//! Whether a container's image is there or has to be pulled, and what its program does.

use std::time::Duration;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::Container;

use crate::images::{ImageName, Images, NodeImages, Pull};
use crate::pod::behaviour::Behaviour;
use crate::pod::out_of_memory::{KILLED, OOM_KILLED};
use crate::pod::waiting_reason::WaitingReason;

/// The exit code of a program that crashes.
const CRASHED: i32 = 1;

/// What a node does to get the image of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ImageStep {
    /// The image is on the node.
    IsPresent,
    /// The node asks the registry for it.
    Pull(Pull),
    /// The node does not ask for it.
    Refuse(WaitingReason),
}

/// What a node with these images does to get the image of a container.
///
/// In Kubernetes: `EnsureImageExists` of `pkg/kubelet/images/image_manager.go`.
pub(crate) fn image_step(
    container: &Container,
    behaviour: &Behaviour,
    images: &Images,
    on_node: &NodeImages,
    now: Timestamp,
) -> ImageStep {
    let Some(name) = ImageName::of(&container.image) else {
        return ImageStep::Refuse(WaitingReason::InvalidImageName);
    };
    let lasts = images.pull_time(&name);
    let is_present = !behaviour.has_no_image && (lasts.is_none() || on_node.has(&name, now));
    match (container.image_pull_policy.as_str(), is_present) {
        ("Never", false) => ImageStep::Refuse(WaitingReason::ErrImageNeverPull),
        // An image that takes no time to pull was there before the node was.
        ("Always", true) if lasts.is_some() => ImageStep::Pull(on_node.pull(name, lasts, now)),
        (_, true) => ImageStep::IsPresent,
        (_, false) => ImageStep::Pull(on_node.pull(name, lasts.filter(|_| !behaviour.has_no_image), now)),
    }
}

/// Whether a node may get the image of a container after it was found absent.
pub(crate) fn can_appear(container: &Container, images: &Images) -> bool {
    ImageName::of(&container.image).is_some_and(|name| images.pull_time(&name).is_some())
}

/// The behaviour of a container, with what its image does. Annotations of the pod take precedence. A program that the
/// command of the container names is not that of the image.
pub(crate) fn with_image(mut behaviour: Behaviour, container: &Container, images: &Images) -> Behaviour {
    let Some(name) = ImageName::of(&container.image) else { return behaviour };
    behaviour.has_no_image |= !images.has(&name);
    let own = images.find(&name).filter(|_| behaviour.exits.is_none() && container.command.is_empty());
    let Some(image) = own else { return behaviour };
    let limit = container.resources.limits.get("memory").and_then(|limit| u64::try_from(limit.value()).ok());
    let is_too_large = image.needs.zip(limit).is_some_and(|(needs, limit)| needs > limit);
    let end = match (is_too_large, image.crashes, image.exits) {
        (true, ..) => Some((KILLED, Duration::ZERO)),
        (false, Some(after), _) => Some((CRASHED, after)),
        (false, None, Some(after)) => Some((0, after)),
        (false, None, None) => None,
    };
    if let Some((code, after)) = end {
        let exit_reason = is_too_large.then(|| OOM_KILLED.to_owned());
        behaviour = Behaviour { exits: Some(code), exit_after: after, exit_reason, ..behaviour };
    }
    behaviour
}

#[cfg(test)]
mod tests;
