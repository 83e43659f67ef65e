use coracle_meta::GroupVersionResource;

use crate::Error;

/// Which groups, versions and resources are served. In Kubernetes: `--runtime-config`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeConfig {
    /// The settings, in order.
    said: Vec<(Of, bool)>,
}

/// The key of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Of {
    All,
    /// Versions of this stability: `alpha`, `beta` or neither.
    Stability(Option<&'static str>),
    Version(String),
    Resource(String, String),
}

impl RuntimeConfig {
    /// Parses `api/all=false,apps/v1=true`; a key without a value is enabled.
    ///
    /// # Errors
    /// The error in the text.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut said = Vec::new();
        for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let refused = |why: &str| Error::Options(format!("--runtime-config {pair}: {why}"));
            let (key, value) = pair.split_once('=').unwrap_or((pair, "true"));
            let on = match value {
                "" | "true" | "1" => true,
                "false" | "0" => false,
                _ => return Err(refused("invalid value: want true or false")),
            };
            let of = match key.split('/').collect::<Vec<_>>().as_slice() {
                ["api", "all"] => Of::All,
                ["api", "ga"] => Of::Stability(None),
                ["api", "beta"] => Of::Stability(Some("beta")),
                ["api", "alpha"] => Of::Stability(Some("alpha")),
                ["v1"] => Of::Version("v1".to_owned()),
                [group, version] if !group.is_empty() && !version.is_empty() => Of::Version(key.to_owned()),
                [group, version, resource] => Of::Resource(format!("{group}/{version}"), (*resource).to_owned()),
                _ => return Err(refused("runtime-config invalid key")),
            };
            said.push((of, on));
        }
        Ok(Self { said })
    }

    /// Whether a resource that is enabled by default is served: its own setting overrides that of its version, which
    /// overrides general ones.
    pub(crate) fn serves(&self, resource: &GroupVersionResource) -> bool {
        let version = match resource.group.as_str() {
            "" => resource.version.clone(),
            group => format!("{group}/{}", resource.version),
        };
        let stability = ["alpha", "beta"].into_iter().find(|word| resource.version.contains(word));
        let weight = |of: &Of| match of {
            Of::All => Some(0),
            Of::Stability(of) => (*of == stability).then_some(1),
            Of::Version(of) => (*of == version).then_some(2),
            Of::Resource(of, name) => (*of == version && *name == resource.resource).then_some(3),
        };
        let said = self.said.iter().filter_map(|(of, on)| Some((weight(of)?, *on)));
        said.max_by_key(|(weight, _)| *weight).is_none_or(|(_, on)| on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serves(text: &str, group: &str, version: &str, resource: &str) -> bool {
        RuntimeConfig::parse(text).unwrap().serves(&GroupVersionResource::new(group, version, resource))
    }

    #[test]
    fn a_specific_key_overrides_a_general_one() {
        assert!(serves("", "apps", "v1", "deployments"));
        assert!(!serves("api/all=false,v1=true", "apps", "v1", "deployments"));
        assert!(serves("api/all=false,v1=true", "", "v1", "pods"));
        assert!(!serves("batch/v1/cronjobs=false", "batch", "v1", "cronjobs"));
        assert!(serves("batch/v1/cronjobs=false", "batch", "v1", "jobs"));
        assert!(serves("api/beta=false", "apps", "v1", "deployments"));
    }

    #[test]
    fn invalid_keys_are_refused_with_their_text() {
        for text in ["apps=false", "apps/v1=maybe", "a/b/c/d=true"] {
            let refused = RuntimeConfig::parse(text).unwrap_err().to_string();
            assert!(refused.starts_with(&format!("--runtime-config {text}: ")), "{refused}");
        }
    }
}
