use coracle_meta::GroupVersionKind;

use super::{Descriptions, META};
use std::sync::Arc;

use crate::table::{Table, TypeNode};

/// A parameter in a path or a query. Parameters are ordered by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Parameter {
    pub name: String,
    /// `path` or `query`
    pub location: &'static str,
    pub ty: &'static str,
    pub description: String,
}

/// The parameter that not every release has.
pub(super) const SHARDS: &str = "shardSelector";
pub(super) const LIST: [&str; 11] = [
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    SHARDS,
    "timeoutSeconds",
    "watch",
];
pub(super) const DELETE: [&str; 5] = [
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
];
pub(super) const DELETE_COLLECTION: [&str; 14] = [
    "continue",
    "dryRun",
    "fieldSelector",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "labelSelector",
    "limit",
    "orphanDependents",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    SHARDS,
    "timeoutSeconds",
];
pub(super) const WRITE: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];
pub(super) const PATCH: [&str; 4] = ["dryRun", "fieldManager", "fieldValidation", "force"];

/// The boolean parameters of the generic verbs.
const BOOLEANS: [&str; 6] = [
    "allowWatchBookmarks",
    "force",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "sendInitialEvents",
    "watch",
];
const INTEGERS: [&str; 3] = ["gracePeriodSeconds", "limit", "timeoutSeconds"];

/// The options whose fields describe parameters.
pub(super) const LIST_OPTIONS: &str = "ListOptions";
pub(super) const DELETE_OPTIONS: &str = "DeleteOptions";

impl Parameter {
    /// A parameter of the generic verbs: a field of this kind of options of `meta/v1`.
    pub(super) fn in_query(name: &str, options: &str, descriptions: &dyn Descriptions) -> Self {
        let ty = if BOOLEANS.contains(&name) {
            "boolean"
        } else if INTEGERS.contains(&name) {
            "integer"
        } else {
            "string"
        };
        let description = descriptions.describe(&format!("{META}.{options}"), Some(name));
        Self { name: name.to_owned(), location: "query", ty, description }
    }

    /// The parameter `pretty` of every verb.
    pub(super) fn pretty() -> Self {
        let description = "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a \
                           browser or command-line HTTP tool (curl and wget).";
        Self { name: "pretty".to_owned(), location: "query", ty: "string", description: description.to_owned() }
    }

    /// The parameters in braces in the path of a `kind`.
    pub(super) fn in_path(path: &str, kind: &str) -> impl Iterator<Item = Self> {
        let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        names.map(move |name| {
            let description = match name {
                "namespace" => "object name and auth scope, such as for teams and projects".to_owned(),
                "path" => "path to the resource".to_owned(),
                _ => format!("name of the {kind}"),
            };
            Self { name: name.to_owned(), location: "path", ty: "string", description }
        })
    }

    /// The parameters of a kind of options, without times.
    pub(super) fn of_options(
        table: &Arc<Table>,
        options: &GroupVersionKind,
        descriptions: &dyn Descriptions,
    ) -> Vec<Self> {
        let Some(schema) = table.kind(options) else { return Vec::new() };
        let parameters = schema.root().fields().filter_map(|field| {
            let ty = field.ty().element().unwrap_or(field.ty());
            let ty = match ty.node() {
                TypeNode::String => "string",
                TypeNode::Bool => "boolean",
                TypeNode::Int32 | TypeNode::Int64 => "integer",
                _ => return None,
            };
            let of = table.type_of_kind(options).map_or("", |ty| ty.name.as_str());
            let description = descriptions.describe(of, Some(field.name()));
            Some(Self { name: field.name().to_owned(), location: "query", ty, description })
        });
        parameters.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::Undescribed;

    #[test]
    fn a_path_names_its_parameters() {
        let said: Vec<_> = Parameter::in_path("/a/{namespace}/b/{name}", "Boat")
            .map(|parameter| (parameter.name, parameter.description))
            .collect();
        let expected =
            [("namespace", "object name and auth scope, such as for teams and projects"), ("name", "name of the Boat")];
        assert_eq!(said, expected.map(|(name, said)| (name.to_owned(), said.to_owned())));
    }

    #[test]
    fn a_parameter_is_described_as_the_field_of_its_options() {
        struct Named;
        impl Descriptions for Named {
            fn describe(&self, ty: &str, field: Option<&str>) -> String {
                format!("{ty}/{}", field.unwrap_or_default())
            }
        }
        let limit = Parameter::in_query("limit", LIST_OPTIONS, &Named);
        assert_eq!(
            (limit.ty, &*limit.description),
            ("integer", "io.k8s.apimachinery.pkg.apis.meta.v1.ListOptions/limit")
        );
        let exec = Parameter::of_options(Table::newest(), &GroupVersionKind::new("", "v1", "PodExecOptions"), &Named);
        assert!(exec.iter().any(|parameter| parameter.description == "io.k8s.api.core.v1.PodExecOptions/command"));
        assert_eq!(Parameter::in_query("watch", LIST_OPTIONS, &Undescribed).description, "");
    }
}
