//! Validation of names. Each function returns the error messages; an empty list means that the name is valid.
//! In Kubernetes: apimachinery `util/validation`. The patterns quoted in the sentences are part of the answer.

const DNS1123_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS1123_SUBDOMAIN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const DNS1123_SUBDOMAIN_UNDERSCORE: &str = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*";
const LABEL_KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/// The longest DNS label, and the longest label value, in bytes.
pub const DNS1123_LABEL_MAX_LENGTH: usize = 63;
/// The longest DNS subdomain in bytes.
pub const DNS1123_SUBDOMAIN_MAX_LENGTH: usize = 253;

/// A lower-case DNS label: `my-name`. In Kubernetes: `IsDNS1123Label`.
pub fn dns1123_label(value: &str) -> Vec<String> {
    let mut wrong = longer_than(value, DNS1123_LABEL_MAX_LENGTH);
    if !is_label(value) {
        wrong.push(if is_subdomain(value) {
            "must not contain dots".to_owned()
        } else {
            pattern_sentence(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
                DNS1123_LABEL,
                &["my-name", "123-abc"],
            )
        });
    }
    wrong
}

/// Lower-case DNS labels with dots between them: `example.com`. In Kubernetes: `IsDNS1123Subdomain`.
pub fn dns1123_subdomain(value: &str) -> Vec<String> {
    let mut wrong = longer_than(value, DNS1123_SUBDOMAIN_MAX_LENGTH);
    if !is_subdomain(value) {
        wrong.push(pattern_sentence(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
            DNS1123_SUBDOMAIN,
            &["example.com"],
        ));
    }
    wrong
}

/// A subdomain whose labels may hold underscores. In Kubernetes: `IsDNS1123SubdomainWithUnderscore`.
pub fn dns1123_subdomain_with_underscore(value: &str) -> Vec<String> {
    let mut wrong = longer_than(value, DNS1123_SUBDOMAIN_MAX_LENGTH);
    let label = |label: &str| {
        let label = label.strip_prefix('_').unwrap_or(label);
        label.bytes().all(|sign| is_label_sign(sign) || sign == b'_') && has_ends(label, is_lower_alphanumeric)
    };
    if !value.split('.').all(label) {
        wrong.push(pattern_sentence(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
            DNS1123_SUBDOMAIN_UNDERSCORE,
            &["example.com"],
        ));
    }
    wrong
}

/// `*.` and a subdomain. In Kubernetes: `IsWildcardDNS1123Subdomain`.
pub fn wildcard_dns1123_subdomain(value: &str) -> Vec<String> {
    let mut wrong = longer_than(value, DNS1123_SUBDOMAIN_MAX_LENGTH);
    if !value.strip_prefix("*.").is_some_and(is_subdomain) {
        wrong.push(pattern_sentence(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
            &format!("\\*\\.{DNS1123_SUBDOMAIN}"),
            &["*.example.com"],
        ));
    }
    wrong
}

/// A DNS label that starts with a letter. In Kubernetes: `IsDNS1035Label`.
pub fn dns1035_label(value: &str) -> Vec<String> {
    let mut wrong = longer_than(value, DNS1123_LABEL_MAX_LENGTH);
    if !is_label(value) || !value.starts_with(|sign: char| sign.is_ascii_lowercase()) {
        wrong.push(pattern_sentence(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    wrong
}

/// A name with an optional DNS prefix, as the keys of labels and annotations are: `example.com/MyName`.
/// In Kubernetes: `IsQualifiedName`, `IsLabelKey`.
pub fn qualified_name(value: &str) -> Vec<String> {
    let sentence = || {
        pattern_sentence(
            "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            LABEL_KEY,
            &["MyName", "my.name", "123-abc"],
        )
    };
    let parts: Vec<&str> = value.split('/').collect();
    let mut wrong = Vec::new();
    let name = match parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".to_owned());
            } else {
                wrong.extend(dns1123_subdomain(prefix).into_iter().map(|what| format!("prefix part {what}")));
            }
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                sentence()
            )];
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else {
        wrong.extend(
            more_bytes_than(name, DNS1123_LABEL_MAX_LENGTH).into_iter().map(|what| format!("name part {what}")),
        );
    }
    if !is_label_name(name) {
        wrong.push(format!("name part {}", sentence()));
    }
    wrong
}

/// Whether a resource is an extended resource: one that nodes announce and that is not built into Kubernetes.
/// In Kubernetes: `helper.IsExtendedResourceName`.
pub fn is_extended_resource(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    !is_native && !name.starts_with("requests.") && qualified_name(&format!("requests.{name}")).is_empty()
}

/// The value of a label. In Kubernetes: `IsValidLabelValue`.
pub fn label_value(value: &str) -> Vec<String> {
    let mut wrong = more_bytes_than(value, DNS1123_LABEL_MAX_LENGTH);
    if !value.is_empty() && !is_label_name(value) {
        wrong.push(pattern_sentence(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            &format!("({LABEL_KEY})?"),
            &["MyValue", "my_value", "12345"],
        ));
    }
    wrong
}

/// A name that is valid in a path. In Kubernetes: `IsValidPathSegmentName`.
pub fn path_segment(value: &str) -> Vec<String> {
    if value == "." || value == ".." {
        return vec![format!("may not be '{value}'")];
    }
    let held = ["/", "%"].into_iter().filter(|sign| value.contains(sign));
    held.map(|sign| format!("may not contain '{sign}'")).collect()
}

/// The key of a ConfigMap or Secret. In Kubernetes: `IsConfigMapKey`.
pub fn config_map_key(value: &str) -> Vec<String> {
    let mut wrong = longer_than(value, DNS1123_SUBDOMAIN_MAX_LENGTH);
    if value.is_empty() || !value.bytes().all(|sign| sign.is_ascii_alphanumeric() || b"-._".contains(&sign)) {
        wrong.push(pattern_sentence(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    wrong.extend(parent_folder(value));
    wrong
}

/// The name of an environment variable as Kubernetes 1.34 and later takes it: printable ASCII without `=`.
/// In Kubernetes: `IsRelaxedEnvVarName`.
pub fn env_var_name(value: &str) -> Vec<String> {
    if value.is_empty() {
        return vec!["environment variable name must be non-empty".to_owned()];
    }
    if value.bytes().all(|sign| (b' '..=b'~').contains(&sign) && sign != b'=') {
        return Vec::new();
    }
    vec!["a valid environment variable name must consist only of printable ASCII characters other than '='".to_owned()]
}

/// The name of a port that a container or service gives away. In Kubernetes: `IsValidPortName`.
pub fn port_name(value: &str) -> Vec<String> {
    let mut wrong = longer_than(value, 15);
    if value.is_empty() || !value.bytes().all(is_label_sign) {
        wrong.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !value.bytes().any(|sign| sign.is_ascii_lowercase()) {
        wrong.push("must contain at least one letter (a-z)".to_owned());
    }
    if value.contains("--") {
        wrong.push("must not contain consecutive hyphens".to_owned());
    }
    if value.starts_with('-') || value.ends_with('-') {
        wrong.push("must not begin or end with a hyphen".to_owned());
    }
    wrong
}

/// The number of a port. In Kubernetes: `IsValidPortNum`.
pub fn port_number(value: i64) -> Vec<String> {
    in_range(value, 1, 65535)
}

/// A number between two others. In Kubernetes: `IsInRange`.
pub fn in_range(value: i64, low: i64, high: i64) -> Vec<String> {
    if (low..=high).contains(&value) {
        return Vec::new();
    }
    vec![format!("must be between {low} and {high}, inclusive")]
}

/// A share such as `25%`. In Kubernetes: `IsValidPercent`.
pub fn percent(value: &str) -> Vec<String> {
    let digits = value.strip_suffix('%').unwrap_or("");
    if !digits.is_empty() && digits.bytes().all(|sign| sign.is_ascii_digit()) {
        return Vec::new();
    }
    vec![pattern_sentence(
        "a valid percent string must be a numeric string followed by an ending '%'",
        "[0-9]+%",
        &["1%", "93%"],
    )]
}

/// The name of an HTTP header. In Kubernetes: `IsHTTPHeaderName`.
pub fn http_header_name(value: &str) -> Vec<String> {
    if !value.is_empty() && value.bytes().all(|sign| sign.is_ascii_alphanumeric() || sign == b'-') {
        return Vec::new();
    }
    vec![pattern_sentence(
        "a valid HTTP header must consist of alphanumeric characters or '-'",
        "[-A-Za-z0-9]+",
        &["X-Header-Name"],
    )]
}

/// A C identifier. In Kubernetes: `IsCIdentifier`.
pub fn c_identifier(value: &str) -> Vec<String> {
    let starts = value.starts_with(|sign: char| sign.is_ascii_alphabetic() || sign == '_');
    if starts && value.bytes().all(|sign| sign.is_ascii_alphanumeric() || sign == b'_') {
        return Vec::new();
    }
    vec![pattern_sentence(
        "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
        "[A-Za-z_][A-Za-z0-9_]*",
        &["my_name", "MY_NAME", "MyName"],
    )]
}

/// The sentence of a value that does not match a pattern. In Kubernetes: `RegexError`.
pub fn pattern_sentence(sentence: &str, pattern: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{sentence} (regex used for validation is '{pattern}')");
    }
    let examples: Vec<_> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{sentence} (e.g. {}regex used for validation is '{pattern}')", examples.join(" or "))
}

/// The sentence of a label that is too long. In Kubernetes: `content.MaxLenError`.
fn more_bytes_than(value: &str, limit: usize) -> Vec<String> {
    if value.len() <= limit { Vec::new() } else { vec![format!("must be no more than {limit} bytes")] }
}

/// The sentence of a text that is too long. In Kubernetes: `MaxLenError`.
pub fn longer_than(value: &str, limit: usize) -> Vec<String> {
    if value.len() <= limit { Vec::new() } else { vec![format!("must be no more than {limit} characters")] }
}

fn parent_folder(value: &str) -> Option<String> {
    match value {
        "." => Some("must not be '.'".to_owned()),
        ".." => Some("must not be '..'".to_owned()),
        _ if value.starts_with("..") => Some("must not start with '..'".to_owned()),
        _ => None,
    }
}

fn is_subdomain(value: &str) -> bool {
    value.split('.').all(is_label)
}

fn is_label(value: &str) -> bool {
    value.bytes().all(is_label_sign) && has_ends(value, is_lower_alphanumeric)
}

fn is_label_name(value: &str) -> bool {
    value.bytes().all(|sign| sign.is_ascii_alphanumeric() || b"-_.".contains(&sign))
        && has_ends(value, |sign| sign.is_ascii_alphanumeric())
}

fn has_ends(value: &str, is_end: impl Fn(u8) -> bool) -> bool {
    let bytes = value.as_bytes();
    bytes.first().is_some_and(|sign| is_end(*sign)) && bytes.last().is_some_and(|sign| is_end(*sign))
}

fn is_label_sign(sign: u8) -> bool {
    is_lower_alphanumeric(sign) || sign == b'-'
}

fn is_lower_alphanumeric(sign: u8) -> bool {
    sign.is_ascii_lowercase() || sign.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_names_have_no_errors() {
        for name in ["a", "a-b", "1", "a--1--2--b", "0a"] {
            assert!(dns1123_label(name).is_empty(), "{name}");
        }
        assert!(dns1123_subdomain("a.b-c.1").is_empty());
        assert!(dns1035_label("a-1").is_empty());
        assert!(qualified_name("example.com/My_Name.x").is_empty());
        assert!(label_value("").is_empty());
        assert!(wildcard_dns1123_subdomain("*.example.com").is_empty());
        assert!(dns1123_subdomain_with_underscore("_a_b.c").is_empty());
        assert!(percent("25%").is_empty());
        assert!(env_var_name("1 a").is_empty());
    }

    #[test]
    fn errors_of_names_have_kubernetes_words() {
        assert_eq!(
            dns1123_label("A"),
            [
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
            ]
        );
        assert_eq!(dns1123_label("a.b"), ["must not contain dots"]);
        assert_eq!(dns1123_label(&"a".repeat(64)), ["must be no more than 63 characters"]);
        assert_eq!(path_segment("a/b%c"), ["may not contain '/'", "may not contain '%'"]);
        assert_eq!(qualified_name("/x"), ["prefix part must be non-empty"]);
        assert_eq!(qualified_name("").len(), 2);
        assert_eq!(config_map_key("..a"), ["must not start with '..'"]);
    }

    #[test]
    fn bad_names_are_refused() {
        for name in ["", "-", "a-", "-a", "a_b", "A", "a b", "é"] {
            assert!(!dns1123_label(name).is_empty(), "{name}");
        }
        for name in ["", ".", "a..b", ".a", "a."] {
            assert!(!dns1123_subdomain(name).is_empty(), "{name}");
        }
        assert!(!dns1035_label("1a").is_empty());
        assert!(!label_value("-x").is_empty());
        assert!(!percent("%").is_empty());
    }
}
