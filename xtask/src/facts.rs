//! The facts that no registry carries, written by hand in `xtask/facts/fields.txt`.

use std::collections::BTreeMap;

use crate::schema::Failure;

/// What is said of fields: `core.v1.Pod.spec` to its words.
pub(crate) struct Facts {
    fields: BTreeMap<String, Vec<String>>,
    /// Protobuf names of fields whose JSON name differs by more than case, by `core.v1.Pod.spec`.
    names: BTreeMap<String, String>,
}

impl Facts {
    pub(crate) fn read(folder: &std::path::Path) -> Result<Self, Failure> {
        let mut facts = Self { fields: BTreeMap::new(), names: BTreeMap::new() };
        for line in std::fs::read_to_string(folder.join("fields.txt"))?.lines() {
            let mut words = line.split(' ').map(str::to_owned);
            let Some(field) = words.next().filter(|word| !word.is_empty() && !word.starts_with('#')) else { continue };
            for word in words {
                match word.strip_prefix("protobuf=") {
                    Some(name) => drop(facts.names.insert(field.clone(), name.to_owned())),
                    None => facts.fields.entry(field.clone()).or_default().push(word),
                }
            }
        }
        Ok(facts)
    }

    pub(crate) fn of(&self, ty: &str, field: &str) -> &[String] {
        self.fields.get(&key(ty, field)).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn protobuf_name(&self, ty: &str, field: &str) -> Option<&str> {
        self.names.get(&key(ty, field)).map(String::as_str)
    }

    /// The fields of which something is said, to find words that say something of nothing.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &String> {
        self.fields.keys().chain(self.names.keys())
    }
}

fn key(ty: &str, field: &str) -> String {
    format!("{}.{field}", short(ty))
}

/// `core.v1.Pod` of `io.k8s.api.core.v1.Pod`.
pub(crate) fn short(ty: &str) -> &str {
    const PREFIXES: [&str; 5] = [
        "io.k8s.api.",
        "io.k8s.apimachinery.pkg.apis.",
        "io.k8s.apimachinery.pkg.",
        "io.k8s.apiextensions-apiserver.pkg.apis.",
        "io.k8s.kube-aggregator.pkg.apis.",
    ];
    PREFIXES.iter().find_map(|prefix| ty.strip_prefix(prefix)).unwrap_or(ty)
}
