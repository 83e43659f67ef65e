use coracle_meta::FieldError;
use coracle_meta::fields::Fields;
use serde_json::Value;

use crate::field_checks::{Wrong, required};

/// The errors of a volume that iSCSI provides. In Kubernetes: `validateISCSIVolumeSource`.
pub(super) fn wrong_iscsi(source: &Value, path: &str) -> Wrong {
    let mut wrong = required(source, "targetPortal", path);
    let name = source.text("iqn");
    if name.is_empty() {
        wrong.push(FieldError::required(format!("{path}.iqn"), ""));
    } else {
        wrong.extend(wrong_qualified_name(name, &format!("{path}.iqn")));
    }
    let unit = source.int("lun");
    if !(0..=255).contains(&unit) {
        wrong.push(FieldError::invalid(format!("{path}.lun"), unit, "must be between 0 and 255, inclusive"));
    }
    let authenticates = source.flag("chapAuthDiscovery") || source.flag("chapAuthSession");
    if authenticates && !source.has("secretRef") {
        wrong.push(FieldError::required(format!("{path}.secretRef"), ""));
    }
    if let Some(name) = source.at("initiatorName").as_str() {
        wrong.extend(wrong_qualified_name(name, &format!("{path}.initiatorname")));
    }
    wrong
}

fn wrong_qualified_name(name: &str, path: &str) -> Wrong {
    let is_alphanumeric =
        |text: &str, length: usize| text.len() == length && text.bytes().all(|sign| sign.is_ascii_alphanumeric());
    // Any one character is between the prefix and the rest.
    let rest = || name.char_indices().nth(4).map_or("", |(at, _)| &name[at..]);
    let is_well_formed = match name.get(..3) {
        Some("iqn") => is_iqn(name),
        Some("eui") => is_alphanumeric(rest(), 16),
        Some("naa") => is_alphanumeric(rest(), 32),
        _ => {
            let what = "must be valid format starting with iqn, eui, or naa";
            return vec![FieldError::invalid(path, name, what)];
        }
    };
    if is_well_formed { Wrong::new() } else { vec![FieldError::invalid(path, name, "must be valid format")] }
}

/// `iqn.yyyy-mm.domain:rest`, at the end of the text.
fn is_iqn(text: &str) -> bool {
    text.match_indices("iqn.").any(|(at, prefix)| {
        let rest = &text[at + prefix.len()..];
        let Some((date, rest)) = rest.split_once('.') else { return false };
        let Some((domain, name)) = rest.split_once(':') else { return false };
        let is_date = date.len() == 7
            && date.bytes().enumerate().all(|(at, sign)| if at == 4 { sign == b'-' } else { sign.is_ascii_digit() });
        let is_domain_sign = |sign: u8| sign.is_ascii_alphanumeric() || matches!(sign, b'-' | b'.');
        is_date
            && !domain.is_empty()
            && domain.bytes().all(is_domain_sign)
            && !name.is_empty()
            && !name.contains([',', ';', '*', '&', '$', '|', ' ', '\t', '\n', '\r', '\u{c}'])
    })
}
