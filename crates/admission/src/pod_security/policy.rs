use std::collections::BTreeMap;
use std::fmt;

use coracle_meta::FieldError;
use coracle_meta::fields::Fields;
use serde_json::Value;

/// The level of a standard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// Everything is allowed.
    #[default]
    Privileged,
    /// Prevents known privilege escalations.
    Baseline,
    /// Only hardened pods.
    Restricted,
}

/// The version of the standards: the minor number of `v1.x`, or the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version(Option<u32>);

impl Version {
    pub(super) const LATEST: Self = Self(None);

    #[cfg(test)]
    pub(super) fn of(minor: u32) -> Self {
        Self(Some(minor))
    }

    /// Whether this version includes the rules of a minor version.
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

/// A level of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standard {
    /// The level.
    pub(super) level: Level,
    /// The version.
    pub(super) version: Version,
}

/// The standards of a namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Policy {
    /// The standard that refuses pods.
    pub(super) enforce: Standard,
    /// The standard for annotations in the audit log.
    pub(super) audit: Standard,
    /// The standard for warnings.
    pub(super) warn: Standard,
}

impl Default for Standard {
    fn default() -> Self {
        Self { level: Level::Privileged, version: Version::LATEST }
    }
}

impl Policy {
    /// Whether all three are privileged.
    pub(super) fn is_privileged(&self) -> bool {
        [self.enforce, self.audit, self.warn].iter().all(|standard| standard.level == Level::Privileged)
    }

    /// Reads the labels, with `self` as the default; the second value is their errors.
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
                        // An invalid enforce label counts as the strictest level.
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
        // Without a warn label, the enforced standard also applies to warnings.
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
