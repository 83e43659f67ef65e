//! Image references, and the full names of images.

use std::fmt::{self, Display, Formatter};

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

/// The registry of an image that names none.
const DEFAULT_HOST: &str = "docker.io";

/// Whether a text is an image reference: `[HOST[:PORT]/]PATH[:TAG][@DIGEST]`.
///
/// In Kubernetes: `reference.ParseNormalizedNamed` of `distribution/reference`.
pub(crate) fn is_reference(image: &str) -> bool {
    let ImageParts { host, path, tag, digest } = ImageParts::of(image);
    host.is_none_or(is_host) && is_path(path) && tag.is_none_or(is_tag) && digest.is_none_or(is_digest)
}

/// The parts of an image reference as it is written.
struct ImageParts<'a> {
    host: Option<&'a str>,
    path: &'a str,
    tag: Option<&'a str>,
    digest: Option<&'a str>,
}

impl<'a> ImageParts<'a> {
    fn of(image: &'a str) -> Self {
        let (rest, digest) = image.split_once('@').map_or((image, None), |(rest, digest)| (rest, Some(digest)));
        let (host, path) = match rest.split_once('/') {
            Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => (Some(host), path),
            _ => (None, rest),
        };
        let (path, tag) = match path.rsplit_once(':') {
            Some((path, tag)) if !tag.contains('/') => (path, Some(tag)),
            _ => (path, None),
        };
        Self { host, path, tag, digest }
    }
}

/// An image by its full name: `nginx` is `docker.io/library/nginx:latest`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ImageName {
    host: String,
    pub(crate) path: String,
    /// None for all tags of the image.
    pub(crate) tag: Option<String>,
    digest: Option<String>,
}

impl ImageName {
    /// The image that a container names; none if the name is invalid.
    pub(crate) fn of(image: &str) -> Option<Self> {
        let mut name = is_reference(image).then(|| Self::written(image))?;
        if name.tag.is_none() && name.digest.is_none() {
            name.tag = Some("latest".to_owned());
        }
        Some(name)
    }

    /// The name without a default for a tag that is absent.
    pub(crate) fn written(image: &str) -> Self {
        let ImageParts { host, path, tag, digest } = ImageParts::of(image);
        let host = host.unwrap_or(DEFAULT_HOST);
        let is_official = host == DEFAULT_HOST && !path.contains('/');
        let path = if is_official { format!("library/{path}") } else { path.to_owned() };
        let owned = |part: Option<&str>| part.map(str::to_owned);
        Self { host: host.to_owned(), path, tag: owned(tag), digest: owned(digest) }
    }

    pub(crate) fn of_all_tags(&self) -> Self {
        Self { tag: None, digest: None, ..self.clone() }
    }
}

impl Display for ImageName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.path)?;
        self.tag.iter().try_for_each(|tag| write!(f, ":{tag}"))?;
        self.digest.iter().try_for_each(|digest| write!(f, "@{digest}"))
    }
}

impl Serialize for ImageName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ImageName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::of(&text).ok_or_else(|| D::Error::custom(format!("`{text}` is not an image name")))
    }
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
    fn a_full_name_has_the_registry_and_the_tag_that_a_short_one_leaves_out() {
        let full = |image: &str| ImageName::of(image).map(|name| name.to_string()).unwrap_or_default();
        assert_eq!(full("nginx"), "docker.io/library/nginx:latest");
        assert_eq!(full("team/app:1"), "docker.io/team/app:1");
        assert_eq!(full("r.example.com:5000/app"), "r.example.com:5000/app:latest");
        assert_eq!(full("Not Valid"), "");
    }

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
