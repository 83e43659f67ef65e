use coracle_meta::fields::Fields;
use serde_json::Value;

use super::policy::Policy;

/// The configuration: the default levels of namespaces without labels, and the exemptions.
/// In Kubernetes: `PodSecurityConfiguration`.
#[derive(Debug, Default)]
pub(super) struct Configuration {
    pub(super) defaults: Policy,
    users: Vec<String>,
    namespaces: Vec<String>,
    runtime_classes: Vec<String>,
}

impl Configuration {
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let texts = |path: &str| {
            let texts = value.list(path).iter().filter_map(|text| text.as_str().map(str::to_owned));
            texts.collect()
        };
        Ok(Self {
            defaults: Policy::of_configuration(value.at("defaults"))?,
            users: texts("exemptions.usernames"),
            namespaces: texts("exemptions.namespaces"),
            runtime_classes: texts("exemptions.runtimeClasses"),
        })
    }

    /// The exemption of a user or a namespace, if any.
    pub(super) fn exemption(&self, namespace: &str, user: &str) -> Option<&'static str> {
        match () {
            () if self.exempts_namespace(namespace) => Some("namespace"),
            () if self.users.iter().any(|exempt| exempt == user) => Some("user"),
            () => None,
        }
    }

    pub(super) fn exempts_namespace(&self, namespace: &str) -> bool {
        !namespace.is_empty() && self.namespaces.iter().any(|exempt| exempt == namespace)
    }

    pub(super) fn exempts_runtime_class(&self, class: &str) -> bool {
        !class.is_empty() && self.runtime_classes.iter().any(|exempt| exempt == class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn exempt_requests_are_not_checked() {
        let value = json!({"defaults": {"enforce": "restricted"}, "exemptions": {
            "usernames": ["ann"], "namespaces": ["system"], "runtimeClasses": ["vm"]
        }});
        let read = Configuration::read(&value).unwrap();
        assert_eq!(read.defaults.enforce.to_string(), "restricted:latest");
        assert_eq!(read.exemption("system", "bob"), Some("namespace"));
        assert_eq!(read.exemption("n", "ann"), Some("user"));
        assert_eq!(read.exemption("n", "bob"), None);
        assert!(read.exempts_runtime_class("vm") && !read.exempts_runtime_class(""));
    }
}
