use std::collections::BTreeMap;

use coracle_meta::fields::Fields;
use serde_json::Value;

/// The configurations of plug-ins in a file. In Kubernetes: `--admission-control-config-file`,
/// `AdmissionConfiguration`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configurations {
    of_plugins: BTreeMap<String, Value>,
}

impl Configurations {
    /// Reads an `AdmissionConfiguration`; `open` reads the document at a path in it.
    ///
    /// # Errors
    /// Why the configuration is invalid.
    pub fn read(document: &Value, open: impl Fn(&str) -> Result<Value, String>) -> Result<Self, String> {
        let (version, kind) = (document.text("apiVersion"), document.text("kind"));
        if version != "apiserver.config.k8s.io/v1" || kind != "AdmissionConfiguration" {
            return Err(format!("no apiserver.config.k8s.io/v1 AdmissionConfiguration but {version} {kind}"));
        }
        let mut of_plugins = BTreeMap::new();
        for plugin in document.list("plugins") {
            let name = plugin.text("name").to_owned();
            let configuration = match plugin.text("path") {
                "" => plugin.at("configuration").clone(),
                path => open(path)?,
            };
            of_plugins.insert(name, configuration);
        }
        Ok(Self { of_plugins })
    }

    /// The configuration of a plug-in.
    pub(crate) fn of(&self, plugin: &str) -> &Value {
        self.of_plugins.get(plugin).unwrap_or(&Value::Null)
    }

    /// The configured plug-ins.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.of_plugins.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_configuration_is_inline_or_in_a_file_relative_to_it() {
        let document = json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": [
            {"name": "A", "configuration": {"a": 1}}, {"name": "B", "path": "b.yaml"}
        ]});
        let read = Configurations::read(&document, |path| Ok(json!({ "path": path }))).unwrap();
        assert_eq!(read.of("A"), &json!({"a": 1}));
        assert_eq!(read.of("B"), &json!({"path": "b.yaml"}));
        assert_eq!(read.of("C"), &Value::Null);
        assert!(Configurations::read(&json!({}), |_| Ok(Value::Null)).is_err());
        assert!(Configurations::read(&document, |path| Err(format!("no {path}"))).is_err());
    }
}
