use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use coracle_meta::Status;
use coracle_store::Revision;
use serde::{Deserialize, Serialize};

/// The end of a page of a list. The format is that of `storage.continueToken` in Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContinueToken {
    /// The revision at which the list continues; `None` for the newest (after history was compacted).
    pub(crate) revision: Option<Revision>,
    /// The key at which the next page starts, relative to the list's range.
    pub(crate) start: String,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    #[serde(default)]
    v: String,
    #[serde(default)]
    rv: i64,
    #[serde(default)]
    start: String,
}

impl ContinueToken {
    pub(crate) fn encode(&self) -> String {
        let wire = Wire { v: "meta.k8s.io/v1".to_owned(), rv: self.revision.unwrap_or(-1), start: self.start.clone() };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&wire).expect("three plain fields can be written"))
    }

    pub(crate) fn decode(token: &str) -> Result<Self, Status> {
        let invalid =
            |why: String| Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|error| invalid(go_base64_error(token, &error)))?;
        let wire: Wire = serde_json::from_slice(&bytes).map_err(|error| invalid(go_json_error(&bytes, &error)))?;
        if wire.v != "meta.k8s.io/v1" {
            let why = format!("server does not recognize this encoded version {}", wire.v);
            return Err(Status::bad_request(format!("invalid continue token: continue key is not valid: {why}")));
        }
        if wire.start.is_empty() {
            let why = "encoded start key empty (version meta.k8s.io/v1)";
            return Err(Status::bad_request(format!("invalid continue token: continue key is not valid: {why}")));
        }
        if wire.start.starts_with('/') || wire.start.split('/').any(|step| matches!(step, "." | "..")) {
            return Err(Status::bad_request(format!(
                "invalid continue token: continue key is not valid: {}",
                wire.start
            )));
        }
        match wire.rv {
            0 => Err(Status::bad_request(
                "invalid continue token: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
            )),
            revision => Ok(Self { revision: (revision > 0).then_some(revision), start: wire.start }),
        }
    }
}

/// The error of Go's decoder for text that is not base64.
fn go_base64_error(text: &str, error: &base64::DecodeError) -> String {
    let at = match error {
        base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => *at,
        base64::DecodeError::InvalidLength(_) | base64::DecodeError::InvalidPadding => text.len() / 4 * 4,
    };
    format!("illegal base64 data at input byte {at}")
}

/// The error of Go's decoder for bytes that do not start like JSON; for others the error of ours.
fn go_json_error(bytes: &[u8], error: &serde_json::Error) -> String {
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => "unexpected end of JSON input".to_owned(),
        Some(byte) if !b"{[\"-0123456789tfn".contains(byte) => {
            let sign = match byte {
                b'\'' => r"'\''".to_owned(),
                0x20..=0x7e => format!("'{}'", char::from(*byte)),
                byte => format!("'\\u{byte:04x}'"),
            };
            format!("invalid character {sign} looking for beginning of value")
        }
        Some(_) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_round_trip() {
        for revision in [Some(7), None] {
            let token = ContinueToken { revision, start: "ns/name\0".to_owned() };
            assert_eq!(ContinueToken::decode(&token.encode()), Ok(token));
        }
    }

    #[test]
    fn anything_else_is_a_bad_request() {
        for token in ["nonsense", "", "!!", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0"] {
            assert_eq!(ContinueToken::decode(token).unwrap_err().code, 400, "{token}");
        }
        let status = ContinueToken::decode("nonsense").unwrap_err();
        assert!(status.message.ends_with(r"invalid character '\u009e' looking for beginning of value"), "{status}");
    }
}
