//! Percent-encoding: which characters of a text stay as they are in which part of a request.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};

/// All but the unreserved characters of RFC 3986.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// All but the characters that a header's name may contain, and the percent sign.
const HEADER_KEY: &AsciiSet = &COMPONENT
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'*')
    .remove(b'+')
    .remove(b'^')
    .remove(b'`')
    .remove(b'|');

/// All but the characters that Go's `net/url` leaves in a path, and the percent sign.
const PATH: &AsciiSet = &COMPONENT
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b',')
    .remove(b'/')
    .remove(b':')
    .remove(b';')
    .remove(b'=')
    .remove(b'@')
    .remove(b'%')
    .remove(b'!')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'[')
    .remove(b']');

/// A text as a segment of a path, or as a name or a value in a query.
///
/// ```
/// assert_eq!(coracle_meta::percent::component("app in (a,b)").to_string(), "app%20in%20%28a%2Cb%29");
/// ```
pub fn component(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, COMPONENT)
}

/// A key as part of a header's name. In Kubernetes: `headerKeyEscape`.
pub fn header_key(key: &str) -> PercentEncode<'_> {
    utf8_percent_encode(key, HEADER_KEY)
}

/// A path whose percent-encoded parts stay as they are. In Kubernetes: Go's `url.URL.EscapedPath` of a parsed URL.
pub fn path(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, PATH)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The characters of ASCII that stay.
    fn kept(encode: fn(&str) -> PercentEncode<'_>) -> String {
        (0..=127_u8).map(|byte| char::from(byte).to_string()).filter(|sign| encode(sign).to_string() == *sign).collect()
    }

    #[test]
    fn each_set_keeps_its_characters_and_no_others() {
        const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        for (encode, signs) in [
            (component as fn(&str) -> PercentEncode<'_>, "-._~"),
            (header_key, "!#$&'*+-.^_`|~"),
            (path, "!$%&'()*+,-./:;=@[]_~"),
        ] {
            let mut want: Vec<char> = format!("{LETTERS}0123456789{signs}").chars().collect();
            want.sort_unstable();
            assert_eq!(kept(encode), want.into_iter().collect::<String>());
        }
        assert_eq!(
            header_key("authentication.kubernetes.io/pod-name").to_string(),
            "authentication.kubernetes.io%2Fpod-name"
        );
        assert_eq!(component("a%b/ü").to_string(), "a%25b%2F%C3%BC");
    }
}
