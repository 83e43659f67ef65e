use std::collections::BTreeMap;
use std::fmt;

use coracle_meta::FieldError;
use coracle_meta::fields::Fields;
use serde_json::Value;

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

/// A version of Kubernetes whose standards hold: the second number of `v1.x`, or the newest there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version(Option<u32>);

impl Version {
    pub(super) const LATEST: Self = Self(None);

    #[cfg(test)]
    pub(super) fn of(minor: u32) -> Self {
        Self(Some(minor))
    }

    /// Whether what came with a version is part of this one.
    pub(super) fn has(self, minor: u32) -> bool {
        self.0.is_none_or(|own| own >= minor)
    }

    fn parse(text: &str) -> Option<Self> {
        let minor = text.strip_prefix("v1.").unwrap_or("");
        let is_number = !minor.is_empty() && minor.bytes().all(|sign| sign.is_ascii_digit());
        match text {
            "latest" => Some(Self::LATEST),
            _ if is_number && (minor == "0" || !minor.starts_with('0')) => {
                minor.parse().ok().map(|minor| Self(Some(minor)))
            }
            _ => None,
        }
    }
}

/// A level, in the state of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standard {
    /// How strict.
    pub(super) level: Level,
    /// As which version has it.
    pub(super) version: Version,
}

/// What the labels of a namespace ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Policy {
    /// What pods are refused by.
    pub(super) enforce: Standard,
    /// What is noted in the audit log.
    pub(super) audit: Standard,
    /// What is warned of.
    pub(super) warn: Standard,
}

impl Default for Standard {
    fn default() -> Self {
        Self { level: Level::Privileged, version: Version::LATEST }
    }
}

impl Policy {
    /// Whether nothing is forbidden, noted or warned of.
    pub(super) fn is_privileged(&self) -> bool {
        [self.enforce, self.audit, self.warn].iter().all(|standard| standard.level == Level::Privileged)
    }

    /// Reads the labels, where they say nothing `self` holds; what is wrong with them comes second.
    /// In Kubernetes: `api.PolicyToEvaluate`.
    pub(super) fn with(self, labels: &BTreeMap<String, String>) -> (Self, Vec<FieldError>) {
        let mut wrong = Vec::new();
        let mut read = |mode: &str, default: Standard| {
            let name = format!("pod-security.kubernetes.io/{mode}");
            let mut standard = default;
            if let Some(text) = labels.get(&name) {
                match level(text) {
                    Some(level) => standard = Standard { level, ..standard },
                    None => {
                        let path = format!("metadata.labels[{name}]");
                        let what = "must be one of privileged, baseline, restricted";
                        wrong.push(FieldError::invalid(path, text.as_str(), what));
                        // What cannot be read is taken as strict as can be where pods are refused.
                        standard.level = if mode == "enforce" { Level::Restricted } else { Level::Privileged };
                    }
                }
            }
            let name = format!("{name}-version");
            if let Some(text) = labels.get(&name) {
                match Version::parse(text) {
                    Some(version) => standard.version = version,
                    None => {
                        let path = format!("metadata.labels[{name}]");
                        let what = "must be \"latest\" or \"v1.x\"";
                        wrong.push(FieldError::invalid(path, text.as_str(), what));
                        standard.version = Version::LATEST;
                    }
                }
            }
            standard
        };
        let enforce = read("enforce", self.enforce);
        let audit = read("audit", self.audit);
        let mut warn = read("warn", self.warn);
        // Who asks for a standard is warned of it, too, unless something is said of warnings.
        let says = |name: &str| labels.contains_key(&format!("pod-security.kubernetes.io/{name}"));
        let is_enforced = labels.get("pod-security.kubernetes.io/enforce").is_some_and(|text| level(text).is_some());
        if is_enforced && !says("warn") && enforce.level > warn.level {
            let version = if says("warn-version") { warn.version } else { enforce.version };
            warn = Standard { level: enforce.level, version };
        }
        (Self { enforce, audit, warn }, wrong)
    }

    /// Reads the defaults of a configuration. In Kubernetes: `PodSecurityDefaults`.
    pub(super) fn of_configuration(defaults: &Value) -> Result<Self, String> {
        let modes = ["enforce", "audit", "warn"].map(|mode| [mode.to_owned(), format!("{mode}-version")]);
        let labels = modes.iter().flatten().filter(|name| !defaults.text(name).is_empty());
        let labels = labels.map(|name| (format!("pod-security.kubernetes.io/{name}"), defaults.text(name).to_owned()));
        match Self::default().with(&labels.collect()) {
            (policy, wrong) if wrong.is_empty() => Ok(policy),
            (_, wrong) => Err(wrong.iter().map(FieldError::message).collect::<Vec<_>>().join(", ")),
        }
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

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        };
        match self.version.0 {
            None => write!(f, "{level}:latest"),
            Some(minor) => write!(f, "{level}:v1.{minor}"),
        }
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
        let (policy, wrong) = Policy::default().with(&labels);
        assert_eq!(policy.enforce.to_string(), "baseline:v1.30");
        assert_eq!(wrong[0].field, "metadata.labels[pod-security.kubernetes.io/warn]");
        let labels = [("pod-security.kubernetes.io/enforce".to_owned(), "restricted".to_owned())].into();
        let (policy, _) = Policy::default().with(&labels);
        assert_eq!(policy.warn, policy.enforce);
        assert!(!policy.is_privileged());
    }

    #[test]
    fn labels_count_for_more_than_the_configuration() {
        let defaults = serde_json::json!({"enforce": "baseline", "enforce-version": "v1.30", "warn": "restricted"});
        let configured = Policy::of_configuration(&defaults).unwrap();
        let labels = [("pod-security.kubernetes.io/enforce".to_owned(), "privileged".to_owned())].into();
        let (policy, _) = configured.with(&labels);
        assert_eq!(policy.enforce.to_string(), "privileged:v1.30");
        assert_eq!(policy.warn.to_string(), "restricted:latest");
        assert!(Policy::of_configuration(&serde_json::json!({"audit": "tight"})).is_err());
    }
}
