//! Container images: whether a reference is valid, and whether the node has the image.

use coracle_api::core_v1::Container;

use crate::pod::behaviour::Behaviour;
use crate::pod::waiting_reason::WaitingReason;

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

/// Whether a text is an image reference: `[HOST[:PORT]/]PATH[:TAG][@DIGEST]`.
///
/// In Kubernetes: `reference.ParseNormalizedNamed` of `distribution/reference`.
pub(crate) fn is_reference(image: &str) -> bool {
    let (rest, digest) = image.split_once('@').map_or((image, None), |(rest, digest)| (rest, Some(digest)));
    let (host, path) = match rest.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => (Some(host), path),
        _ => (None, rest),
    };
    let (path, tag) = match path.rsplit_once(':') {
        Some((path, tag)) if !tag.contains('/') => (path, Some(tag)),
        _ => (path, None),
    };
    host.is_none_or(is_host) && is_path(path) && tag.is_none_or(is_tag) && digest.is_none_or(is_digest)
}

fn is_host(host: &str) -> bool {
    let (name, port) = host.rsplit_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '.' | '-' | '[' | ']' | ':');
    !name.is_empty()
        && name.chars().all(is_sign)
        && port.is_none_or(|port| port.chars().all(|sign| sign.is_ascii_digit()))
}

fn is_path(path: &str) -> bool {
    let is_part = |part: &str| {
        let is_inner =
            |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || matches!(sign, '.' | '_' | '-');
        let is_edge = |sign: Option<char>| sign.is_some_and(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit());
        part.chars().all(is_inner) && is_edge(part.chars().next()) && is_edge(part.chars().next_back())
    };
    path.split('/').all(is_part)
}

fn is_tag(tag: &str) -> bool {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '.' | '-');
    (1..=128).contains(&tag.len()) && tag.chars().all(is_sign) && !tag.starts_with(['.', '-'])
}

fn is_digest(digest: &str) -> bool {
    let Some((algorithm, hex)) = digest.split_once(':') else { return false };
    !algorithm.is_empty() && hex.len() >= 32 && hex.chars().all(|sign| sign.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_an_image_is_read_as_registries_read_it() {
        for good in ["a", "app:1", "team/app", "r.example.com:5000/team/app:v1.2_3", "localhost/a", "a__b/c-d.e"] {
            assert!(is_reference(good), "{good}");
        }
        let digest = format!("app@sha256:{}", "0a".repeat(32));
        assert!(is_reference(&digest));
        for bad in ["", "App", "a b", "a:", "a:-1", "/a", "a/", "a//b", "-a", "a@sha256:12", "a:b c", "ä"] {
            assert!(!is_reference(bad), "{bad}");
        }
    }
}
