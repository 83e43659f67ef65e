use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use http::{HeaderMap, HeaderValue};

use crate::front::upgrade::is_web_socket;

/// The prefix of a subprotocol with a token: browsers cannot set other headers of a WebSocket.
const SUBPROTOCOL: &str = "base64url.bearer.authorization.k8s.io.";

/// The token of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Token {
    /// There is no token.
    #[default]
    None,
    /// A token to verify.
    Shown(String),
    /// A token that cannot be valid.
    Unreadable,
}

impl Token {
    /// The bearer token of the header `Authorization`; without one, the token of a WebSocket's subprotocols.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        match Self::bearer(headers) {
            Self::None => Self::of_subprotocols(headers),
            token => token,
        }
    }

    /// In Kubernetes: `bearertoken.Authenticator`.
    fn bearer(headers: &HeaderMap) -> Self {
        let value = headers.get(AUTHORIZATION).map_or(&b""[..], HeaderValue::as_bytes).trim_ascii();
        let end = value.iter().position(|byte| *byte == b' ').unwrap_or(value.len());
        let (scheme, token) = (&value[..end], value[end..].trim_ascii());
        match std::str::from_utf8(token) {
            _ if !scheme.eq_ignore_ascii_case(b"bearer") || token.is_empty() => Self::None,
            Ok(token) => Self::Shown(token.to_owned()),
            Err(_) => Self::Unreadable,
        }
    }

    /// In Kubernetes: `websocket.ProtocolAuthenticator`, which requires another subprotocol that the server can choose.
    fn of_subprotocols(headers: &HeaderMap) -> Self {
        if !is_web_socket(headers) {
            return Self::None;
        }
        let encoded: Vec<&str> = offered(headers).filter_map(|offer| offer.strip_prefix(SUBPROTOCOL)).collect();
        let has_other = offered(headers).any(|offer| !offer.starts_with(SUBPROTOCOL));
        let decoded = |text: &str| String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok();
        match encoded.as_slice() {
            [] => Self::None,
            [one] => match decoded(one) {
                Some(token) if token.is_empty() => Self::None,
                Some(token) if has_other => Self::Shown(token),
                _ => Self::Unreadable,
            },
            _ => Self::Unreadable,
        }
    }
}

/// The subprotocols that the client offers.
fn offered(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(SEC_WEBSOCKET_PROTOCOL).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

/// Removes a token from the offered subprotocols, so that it is neither chosen nor forwarded.
pub(crate) fn hide_subprotocol(headers: &mut HeaderMap) {
    if !offered(headers).any(|offer| offer.starts_with(SUBPROTOCOL)) {
        return;
    }
    let others: Vec<&str> = offered(headers).filter(|offer| !offer.starts_with(SUBPROTOCOL)).collect();
    match HeaderValue::from_str(&others.join(", ")) {
        Ok(value) if !others.is_empty() => drop(headers.insert(SEC_WEBSOCKET_PROTOCOL, value)),
        _ => drop(headers.remove(SEC_WEBSOCKET_PROTOCOL)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::header_pairs::headers;

    fn shown(token: &str) -> Token {
        Token::Shown(token.to_owned())
    }

    #[test]
    fn a_bearer_token_is_read_whatever_the_case_of_the_word() {
        for (value, expected) in [
            (&b"bearer  abc "[..], shown("abc")),
            (b"Bearer abc", shown("abc")),
            (b"Basic abc", Token::None),
            (b"Bearer ", Token::None),
            (b"Bearer", Token::None),
            (b"", Token::None),
        ] {
            assert_eq!(Token::of(&headers(&[("authorization", value)])), expected);
        }
        assert_eq!(Token::of(&HeaderMap::new()), Token::None);
    }

    #[test]
    fn a_token_that_is_not_ascii_is_a_token() {
        let in_utf_8 = headers(&[("authorization", "Bearer schlüssel".as_bytes())]);
        assert_eq!(Token::of(&in_utf_8), shown("schlüssel"));
        assert_eq!(Token::of(&headers(&[("authorization", b"Bearer schl\xfcssel")])), Token::Unreadable);
    }

    #[test]
    fn a_web_socket_shows_one_token_as_a_subprotocol_among_others() {
        let upgrade: [(&str, &[u8]); 2] = [("connection", b"Upgrade"), ("upgrade", b"websocket")];
        let of = |offers: &[&[u8]]| {
            let offers = offers.iter().map(|offer| ("sec-websocket-protocol", *offer));
            headers(&upgrade.into_iter().chain(offers).collect::<Vec<_>>())
        };
        // `c2VjcmV0` is `secret`, and `_w` a byte that is not UTF-8.
        let token = b"base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io";
        assert_eq!(Token::of(&of(&[token])), shown("secret"));
        let alone = &b"base64url.bearer.authorization.k8s.io.c2VjcmV0"[..];
        assert_eq!(Token::of(&of(&[alone, b"v5.channel.k8s.io"])), shown("secret"));
        let unpadded = &b"base64url.bearer.authorization.k8s.io.c2VjcmV0=, x"[..];
        let wrong = &b"base64url.bearer.authorization.k8s.io._w, x"[..];
        for unreadable in [&[alone][..], &[alone, token], &[unpadded], &[wrong]] {
            assert_eq!(Token::of(&of(unreadable)), Token::Unreadable);
        }
        assert_eq!(Token::of(&headers(&[("sec-websocket-protocol", token)])), Token::None, "no WebSocket");
        let mut both = of(&[token]);
        both.insert(AUTHORIZATION, HeaderValue::from_static("Bearer other"));
        assert_eq!(Token::of(&both), shown("other"));
        hide_subprotocol(&mut both);
        assert_eq!(both[SEC_WEBSOCKET_PROTOCOL], "v5.channel.k8s.io");
        let mut only = of(&[alone]);
        hide_subprotocol(&mut only);
        assert!(!only.contains_key(SEC_WEBSOCKET_PROTOCOL));
    }
}
