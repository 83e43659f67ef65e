//! The documents that say what objects look like, made from the table.
//!
//! ```text
//! Published (a resource, and the schema of a custom one) --operations--> paths --references--> schemas --> document
//! ```
//! Start at [`v3_paths`] and [`v3`]. Descriptions are not the table's: whoever has them fills them in
//! ([`Descriptions`]), from a text by [`Described`].
//! In Kubernetes: `kube-openapi/pkg/builder3` and apiextensions' `controller/openapi`.

mod described;
mod operations;
mod schemas;
mod v2;

use std::collections::BTreeSet;

use coracle_meta::{GroupVersion, KUBERNETES_VERSION};
use serde_json::{Map, Value, json};

use crate::table::{ResourceRow, Table};

pub use described::{Described, NotDescribed};
pub use v2::v2;

/// A resource that the documents speak of.
#[derive(Clone, Copy, Debug)]
pub struct Published<'a> {
    /// The resource.
    pub row: &'a ResourceRow,
    /// The `openAPIV3Schema` of a custom kind; built-in kinds have a type in the table.
    pub schema: Option<&'a Value>,
}

/// Where descriptions come from: of a type (`io.k8s.api.core.v1.Pod`), or of one of its fields.
pub trait Descriptions {
    /// The description; empty if there is none.
    fn describe(&self, ty: &str, field: Option<&str>) -> String;
}

/// No descriptions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Undescribed;

impl Descriptions for Undescribed {
    fn describe(&self, _: &str, _: Option<&str>) -> String {
        String::new()
    }
}

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// The names of all documents, as the index at `/openapi/v3` lists them: `api/v1`, `apis/apps`, `apis/apps/v1`.
pub fn v3_paths(resources: &[Published<'_>]) -> BTreeSet<String> {
    let mut paths: BTreeSet<String> =
        ["api", "apis", "openid/v1/jwks", "version"].into_iter().map(str::to_owned).collect();
    for published in resources {
        let version = published.row.kind.group_version();
        paths.insert(prefix(&version));
        if !version.group.is_empty() {
            paths.insert(format!("apis/{}", version.group));
        }
    }
    paths
}

/// The document of a name; `None` if there is none.
pub fn v3(path: &str, resources: &[Published<'_>], descriptions: &dyn Descriptions) -> Option<Value> {
    if !v3_paths(resources).contains(path) {
        return None;
    }
    let here: Vec<_> =
        resources.iter().filter(|published| prefix(&published.row.kind.group_version()) == path).collect();
    let paths = match (here.first(), path) {
        (Some(first), _) => operations::of_version(&first.row.kind.group_version(), &here),
        (None, "openid/v1/jwks") => operations::single("/openid/v1/jwks/", "openid", None),
        (None, "version") => operations::single("/version/", "version", Some("io.k8s.apimachinery.pkg.version.Info")),
        (None, "api") => operations::single("/api/", "core", Some(&format!("{META}.APIVersions"))),
        (None, "apis") => operations::single("/apis/", "apis", Some(&format!("{META}.APIGroupList"))),
        (None, path) => {
            let group = path.strip_prefix("apis/").unwrap_or(path);
            operations::single(&format!("/{path}/"), &operations::tag(group), Some(&format!("{META}.APIGroup")))
        }
    };
    let mut schemas = Map::new();
    for published in &here {
        if let Some(schema) = published.schema {
            schemas::add_custom(published.row, schema, descriptions, &mut schemas);
        }
    }
    schemas::add_referenced(Table::v1_35(), &paths, descriptions, &mut schemas);
    Some(json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": KUBERNETES_VERSION},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"BearerToken": {
                "type": "apiKey", "name": "authorization", "in": "header",
                "description": "Bearer Token authentication",
            }},
        },
    }))
}

/// `api/v1`, `apis/apps/v1`.
fn prefix(version: &GroupVersion) -> String {
    match version.group.as_str() {
        "" => format!("api/{}", version.version),
        group => format!("apis/{group}/{}", version.version),
    }
}

/// The name under which a kind is published: of a built-in one its type's, of a custom one its group's, reversed.
fn type_name(row: &ResourceRow, kind: &str) -> String {
    let kind = row.kind.group_version().kind(kind);
    match Table::v1_35().type_of_kind(&kind) {
        Some(ty) => ty.name.clone(),
        None => {
            let reversed: Vec<_> = kind.group.split('.').rev().collect();
            format!("{}.{}.{}", reversed.join("."), kind.version, kind.kind)
        }
    }
}

#[cfg(test)]
mod tests;
