/// Parses a `resourceVersion` as a revision of the store; `None` for other texts, including the empty one.
///
/// To a client it is a text to be handed back; that of two versions of one resource the greater is the newer is all that may
/// be made of it. In Kubernetes: `k8s.io/apimachinery/pkg/util/resourceversion`.
pub fn parse_resource_version(text: &str) -> Option<i64> {
    if text.starts_with(['0', '+', '-']) { None } else { text.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_and_anything_else_is_no_version() {
        assert_eq!(parse_resource_version("42"), Some(42));
        for text in ["", "0", "042", "+42", "-1", "4 2", "x", "99999999999999999999"] {
            assert_eq!(parse_resource_version(text), None, "{text}");
        }
    }
}
