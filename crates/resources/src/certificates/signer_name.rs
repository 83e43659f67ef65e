use coracle_meta::{FieldError, names};

use crate::field_checks::Wrong;

const LONGEST_DOMAIN: usize = 253;
/// The length of a domain, a slash, and a path with a label, a dot and a subdomain.
const LONGEST: usize = LONGEST_DOMAIN + 1 + 253 + 63 + 1;

/// The errors of the name of a signer, `domain/path`. In Kubernetes: `ValidateSignerName`.
pub(crate) fn wrong(name: &str, path: &str) -> Wrong {
    if name.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let Some((domain, rest)) = name.split_once('/').filter(|(_, rest)| !rest.contains('/')) else {
        let what = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return vec![FieldError::invalid(path, name, what)];
    };
    let mut wrong = Wrong::new();
    if domain.len() > LONGEST_DOMAIN {
        wrong.push(FieldError::too_long(path, LONGEST_DOMAIN));
    }
    wrong.extend(first_wrong_label(domain, path, names::dns1123_label));
    if !domain.contains('.') {
        let what = "should be a domain with at least two segments separated by dots";
        wrong.push(FieldError::invalid(path, domain, what));
    }
    wrong.extend(first_wrong_label(rest, path, names::dns1123_subdomain));
    if name.len() > LONGEST {
        wrong.push(FieldError::too_long(path, LONGEST));
    }
    wrong
}

/// The errors of the first invalid label.
fn first_wrong_label(segment: &str, path: &str, check: fn(&str) -> Vec<String>) -> Wrong {
    let sentences = |label: &str| -> Wrong {
        let said = check(label).into_iter().map(|what| format!("validating label {label:?}: {what}"));
        said.map(|what| FieldError::invalid(path, segment, what)).collect()
    };
    segment.split('.').map(sentences).find(|wrong| !wrong.is_empty()).unwrap_or_default()
}
