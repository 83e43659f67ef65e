//! Parses names of container images for defaults.

/// The tag of an image reference: `latest` without tag and digest, empty for an invalid reference or only a digest.
/// In Kubernetes: `parsers.ParseImageName`.
pub(crate) fn tag_of(image: &str) -> &str {
    let (name, digest) = match image.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (image, None),
    };
    let after_host = name.rfind('/').map_or(0, |slash| slash + 1);
    let (repository, tag) = match name.get(after_host..).and_then(|last| last.find(':')) {
        Some(colon) => (&name[..after_host + colon], Some(&name[after_host + colon + 1..])),
        None => (name, None),
    };
    if !is_repository(repository) || tag.is_some_and(|tag| !is_tag(tag)) {
        return "";
    }
    match (tag, digest) {
        (Some(tag), _) => tag,
        (None, Some(_)) => "",
        (None, None) => "latest",
    }
}

/// A host, which may contain capitals and a port, and path components of lower-case words.
fn is_repository(name: &str) -> bool {
    let mut parts: Vec<&str> = name.split('/').collect();
    if let [host, _, ..] = parts.as_slice()
        && (host.contains(['.', ':']) || *host == "localhost" || host.contains(|sign: char| sign.is_ascii_uppercase()))
    {
        if !host.bytes().all(|sign| sign.is_ascii_alphanumeric() || b".-:[]".contains(&sign)) {
            return false;
        }
        parts.remove(0);
    }
    parts.iter().all(|part| is_path_part(part))
}

fn is_path_part(part: &str) -> bool {
    let is_word = |sign: u8| sign.is_ascii_lowercase() || sign.is_ascii_digit();
    let bytes = part.as_bytes();
    bytes.first().is_some_and(|sign| is_word(*sign))
        && bytes.last().is_some_and(|sign| is_word(*sign))
        && bytes.iter().all(|sign| is_word(*sign) || b"._-".contains(sign))
        && !part.contains("..")
}

fn is_tag(tag: &str) -> bool {
    let is_word = |sign: u8| sign.is_ascii_alphanumeric() || sign == b'_';
    tag.len() <= 128
        && tag.as_bytes().first().is_some_and(|sign| is_word(*sign))
        && tag.bytes().all(|sign| is_word(sign) || b".-".contains(&sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_without_tag_or_digest_is_the_latest() {
        assert_eq!(tag_of("nginx"), "latest");
        assert_eq!(tag_of("registry.example.com:5000/a/b"), "latest");
        assert_eq!(tag_of("nginx:1.25"), "1.25");
        assert_eq!(tag_of("localhost:5000/nginx:v1"), "v1");
        assert_eq!(tag_of("nginx@sha256:0123"), "");
    }

    #[test]
    fn invalid_image_references_have_no_tag() {
        assert_eq!(tag_of(""), "");
        assert_eq!(tag_of("Nginx"), "");
        assert_eq!(tag_of("a b"), "");
        assert_eq!(tag_of("nginx:"), "");
    }
}
