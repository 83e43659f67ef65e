//! Whether a container's image is there, and what its program does.

use std::time::Duration;

use coracle_api::core_v1::Container;

use crate::images::{ImageName, Images, is_reference};
use crate::pod::behaviour::Behaviour;
use crate::pod::out_of_memory::{KILLED, OOM_KILLED};
use crate::pod::waiting_reason::WaitingReason;

/// The exit code of a program that crashes.
const CRASHED: i32 = 1;

/// Why the node cannot get the image of a container.
pub(crate) fn problem(container: &Container, behaviour: &Behaviour) -> Option<WaitingReason> {
    if !is_reference(&container.image) {
        return Some(WaitingReason::InvalidImageName);
    }
    match (behaviour.has_no_image, container.image_pull_policy.as_str()) {
        (false, _) => None,
        (true, "Never") => Some(WaitingReason::ErrImageNeverPull),
        (true, _) => Some(WaitingReason::ErrImagePull),
    }
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
