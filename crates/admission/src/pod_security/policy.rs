use std::collections::BTreeMap;
use std::fmt;

use coracle_meta::FieldError;

/// How strict a standard is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// Everything is allowed.
    #[default]
    Privileged,
    /// No known way to more privileges.
    Baseline,
    /// Hardened pods alone.
    Restricted,
}

/// A level, in the state of a version. Unlike Kubernetes: what is checked is always what the newest version checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Standard {
    /// How strict.
    pub(super) level: Level,
    version: String,
}

/// What the labels of a namespace ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Policy {
    /// What pods are refused by.
    pub(super) enforce: Standard,
    /// What is warned of.
    pub(super) warn: Standard,
}

impl Default for Standard {
    fn default() -> Self {
        Self { level: Level::Privileged, version: "latest".to_owned() }
    }
}

impl Policy {
    /// Reads the labels; what is wrong with them comes second. In Kubernetes: `api.PolicyToEvaluate`.
    pub(super) fn of(labels: &BTreeMap<String, String>) -> (Self, Vec<FieldError>) {
        let mut wrong = Vec::new();
        let mut read = |mode: &str| {
            let mut standard = Standard::default();
            let name = format!("pod-security.kubernetes.io/{mode}");
            if let Some(text) = labels.get(&name) {
                match level(text) {
                    Some(level) => standard.level = level,
                    None => {
                        let path = format!("metadata.labels[{name}]");
                        let what = "must be one of privileged, baseline, restricted";
                        wrong.push(FieldError::invalid(path, text.as_str(), what));
                        // What cannot be read is taken as strict as can be where pods are refused.
                        if mode == "enforce" {
                            standard.level = Level::Restricted;
                        }
                    }
                }
            }
            let name = format!("{name}-version");
            if let Some(text) = labels.get(&name) {
                if is_version(text) {
                    standard.version.clone_from(text);
                } else {
                    let path = format!("metadata.labels[{name}]");
                    let what = "must be \"latest\" or \"v1.x\"";
                    wrong.push(FieldError::invalid(path, text.as_str(), what));
                }
            }
            standard
        };
        let enforce = read("enforce");
        read("audit");
        let warn = read("warn");
        (Self { enforce, warn }, wrong)
    }
}

fn level(text: &str) -> Option<Level> {
    match text {
        "privileged" => Some(Level::Privileged),
        "baseline" => Some(Level::Baseline),
        "restricted" => Some(Level::Restricted),
        _ => None,
    }
}

fn is_version(text: &str) -> bool {
    let minor = text.strip_prefix("v1.").unwrap_or("");
    let is_number = !minor.is_empty() && minor.bytes().all(|sign| sign.is_ascii_digit());
    text == "latest" || (is_number && (minor == "0" || !minor.starts_with('0')))
}

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        };
        write!(f, "{level}:{}", self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_and_wrong_ones_named() {
        let labels = [
            ("pod-security.kubernetes.io/enforce", "baseline"),
            ("pod-security.kubernetes.io/enforce-version", "v1.30"),
            ("pod-security.kubernetes.io/warn", "tight"),
        ];
        let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let (policy, wrong) = Policy::of(&labels);
        assert_eq!(policy.enforce.to_string(), "baseline:v1.30");
        assert_eq!(wrong[0].field, "metadata.labels[pod-security.kubernetes.io/warn]");
    }
}
