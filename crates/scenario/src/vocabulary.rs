use std::collections::BTreeSet;

use coracle_expression::Expression;
use coracle_meta::GroupVersion;

use crate::parse::Vocabulary;

/// The built-in kinds of the cluster, and expressions over lists of them by their plurals.
#[derive(Debug)]
pub struct BuiltIn {
    kinds: Vec<BuiltInKind>,
}

#[derive(Debug)]
struct BuiltInKind {
    api_version: String,
    kind: String,
    plural: String,
}

impl Default for BuiltIn {
    fn default() -> Self {
        let kinds = coracle_cluster::built_in_kinds().map(|(kind, plural)| BuiltInKind {
            api_version: kind.api_version(),
            kind: kind.kind,
            plural,
        });
        Self { kinds: kinds.collect() }
    }
}

impl Vocabulary for BuiltIn {
    fn plural(&self, api_version: &str, kind: &str) -> Option<String> {
        GroupVersion::parse(api_version)?;
        let found = self.kinds.iter().find(|known| known.api_version == api_version && known.kind == kind)?;
        Some(found.plural.clone())
    }

    fn kinds(&self) -> Vec<String> {
        self.kinds.iter().map(|known| known.kind.clone()).collect()
    }

    fn expression_problem(&self, text: &str, bindings: &[String]) -> Option<String> {
        let expression = match Expression::compile(text) {
            Ok(expression) => expression,
            Err(error) => return Some(error.to_string()),
        };
        let plurals: BTreeSet<&str> = self.kinds.iter().map(|known| known.plural.as_str()).collect();
        let known = |name: &str| plurals.contains(name) || name == "revision" || bindings.iter().any(|own| own == name);
        let unknown = expression.variables().iter().find(|name| !known(name))?;
        let names = plurals.iter().copied().chain(bindings.iter().map(String::as_str));
        let hint = crate::parse::did_you_mean(unknown, names);
        Some(format!("`{unknown}` is neither the plural of a kind, nor `revision`, nor a name given by a step{hint}"))
    }
}
