//! The OpenAPI documents, generated from the type table.
//!
//! ```text
//! Published (a resource, and the schema of a custom one) --> Route --> paths, and the referenced schemas
//! ```
//! Start at [`v3_paths`], [`v3`] and [`v2`]. The table has no descriptions: the caller provides them
//! ([`Descriptions`]), from a text with [`Described`].
//! In Kubernetes: `kube-openapi/pkg/builder3` and apiextensions' `controller/openapi`.

mod custom;
mod described;
mod dialect;
mod operation_id;
mod parameters;
mod route;
mod routes;
mod schemas;
mod structural;
mod v2;
mod v3;

use std::collections::BTreeSet;

use coracle_meta::GroupVersion;
use coracle_release::Release;
use serde_json::{Value, json};

use self::route::{Model, Route};
use crate::table::{ResourceRow, Table};

pub use described::{Described, NotDescribed};
pub use v2::v2;
pub use v3::v3;

/// A published resource.
#[derive(Clone, Debug)]
pub struct Published<'a> {
    /// The resource.
    pub row: &'a ResourceRow,
    /// The `openAPIV3Schema` of a custom kind; built-in kinds have a type in the table.
    pub schema: Option<&'a Value>,
    /// The selectable fields of a custom kind.
    pub selectable: Vec<&'a str>,
}

/// A source of descriptions of types (`io.k8s.api.core.v1.Pod`) and their fields.
pub trait Descriptions {
    /// The description; empty if it is missing.
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

/// The names of all documents in the index at `/openapi/v3`: `api/v1`, `apis/apps`, `apis/apps/v1`.
pub fn v3_paths(resources: &[Published<'_>]) -> BTreeSet<String> {
    let mut paths: BTreeSet<String> = [".well-known/openid-configuration", "api", "apis", "openid/v1/jwks", "version"]
        .into_iter()
        .map(str::to_owned)
        .collect();
    for published in resources {
        let version = published.row.kind.group_version();
        paths.insert(prefix(&version));
        // Kubernetes does not publish the versions of a group of custom resources.
        if !version.group.is_empty() && published.schema.is_none() {
            paths.insert(format!("apis/{}", version.group));
        }
    }
    paths
}

/// The routes and resources in the document of a name; `None` if there is no such document.
fn routes_of<'a>(
    release: &Release,
    path: &str,
    resources: &[Published<'a>],
    descriptions: &dyn Descriptions,
) -> Option<(Vec<Route>, Vec<Published<'a>>)> {
    if !v3_paths(resources).contains(path) {
        return None;
    }
    let is_here = |published: &&Published<'_>| prefix(&published.row.kind.group_version()) == path;
    let here: Vec<_> = resources.iter().filter(is_here).cloned().collect();
    let single = |word: &str, answer: Option<&str>| {
        let answer = answer.map_or(Model::Text, |kind| Model::Named(kind.to_owned()));
        vec![Route::single(&format!("/{path}/"), word, answer)]
    };
    let meta = |kind: &str| format!("{META}.{kind}");
    let routes = match path {
        ".well-known/openid-configuration" => single("getServiceAccountIssuerOpenIDConfiguration", None),
        "openid/v1/jwks" => single("getServiceAccountIssuerOpenIDKeyset", None),
        "version" => single("getCodeVersion", Some("io.k8s.apimachinery.pkg.version.Info")),
        "api" => single("getAPIVersions", Some(&meta("APIVersions"))),
        "apis" => single("getAPIVersions", Some(&meta("APIGroupList"))),
        _ if here.is_empty() => single("getAPIGroup", Some(&meta("APIGroup"))),
        _ => {
            let custom = |published: &Published<'_>| published.schema.is_some();
            // Kubernetes does not publish the discovery paths of custom resources.
            let mut routes = if here.iter().all(custom) {
                Vec::new()
            } else {
                single("getAPIResources", Some(&meta("APIResourceList")))
            };
            for published in &here {
                routes.extend(routes::of_resource(release, published.row, custom(published), descriptions));
            }
            routes
        }
    };
    Some((routes, here))
}

/// The `info` of a document: the title and the version.
fn info(release: &Release) -> Value {
    let (major, minor) = release.major_minor();
    json!({"title": "Kubernetes", "version": format!("{major}.{minor}")})
}

fn bearer_token() -> Value {
    json!({
        "type": "apiKey", "name": "authorization", "in": "header",
        "description": "Bearer Token authentication",
    })
}

/// `api/v1`, `apis/apps/v1`.
fn prefix(version: &GroupVersion) -> String {
    match version.group.as_str() {
        "" => format!("api/{}", version.version),
        group => format!("apis/{group}/{}", version.version),
    }
}

/// The published name of a kind: that of its type for a built-in kind, and the reversed group for a custom kind.
fn type_name(table: &Table, row: &ResourceRow, kind: &str) -> String {
    let kind = row.kind.group_version().kind(kind);
    match table.type_of_kind(&kind) {
        Some(ty) => ty.name.clone(),
        None => {
            let reversed: Vec<_> = kind.group.split('.').rev().collect();
            format!("{}.{}.{}", reversed.join("."), kind.version, kind.kind)
        }
    }
}

#[cfg(test)]
mod tests;
