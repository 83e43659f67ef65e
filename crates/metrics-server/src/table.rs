use coracle_meta::Quantity;
use coracle_meta::fields::Fields;
use serde_json::{Value, json};

use crate::GROUP;
use crate::metrics::Names;

/// The requested form of the metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MetricsOutput {
    /// `NodeMetrics`, `PodMetrics` and their lists.
    Objects,
    /// A table in this version of `meta.k8s.io`.
    Table { version: String, rows: Rows },
}

/// What a row holds of its object. In Kubernetes: `IncludeObjectPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    Nothing,
    Metadata,
    Object,
}

impl MetricsOutput {
    pub(crate) fn of_one(&self, names: &Names, mut metrics: Value) -> Value {
        if let Self::Table { version, rows } = self {
            return table(version, *rows, names, vec![metrics]);
        }
        name(&mut metrics, names.version, names.kind);
        metrics
    }

    pub(crate) fn of_list(&self, names: &Names, items: Vec<Value>) -> Value {
        if let Self::Table { version, rows } = self {
            return table(version, *rows, names, items);
        }
        let mut list = json!({"metadata": {}, "items": items});
        name(&mut list, names.version, &format!("{}List", names.kind));
        list
    }
}

fn name(object: &mut Value, version: &str, kind: &str) {
    object["kind"] = kind.into();
    object["apiVersion"] = format!("{GROUP}/{version}").into();
}

/// In Kubernetes: `addPodMetricsToTable`, `addNodeMetricsToTable`. A table without rows has no columns.
fn table(version: &str, rows: Rows, names: &Names, items: Vec<Value>) -> Value {
    let column = |name: &str, format: &str, description: &str| json!({"name": name, "type": "string", "format": format, "description": description, "priority": 0});
    let columns = (!items.is_empty()).then(|| {
        [
            column("Name", "name", "Name of the resource"),
            column("cpu", "quantity", ""),
            column("memory", "quantity", ""),
            column("Window", "duration", ""),
        ]
    });
    let rows: Vec<Value> = items.into_iter().map(|item| row(version, rows, names, item)).collect();
    let (kind, version) = ("Table", format!("meta.k8s.io/{version}"));
    json!({"kind": kind, "apiVersion": version, "metadata": {}, "columnDefinitions": columns, "rows": rows})
}

fn row(version: &str, rows: Rows, names: &Names, mut item: Value) -> Value {
    let cells = json!([item.text("metadata.name"), total(&item, "cpu"), total(&item, "memory"), item.text("window")]);
    let object = match rows {
        Rows::Nothing => Value::Null,
        Rows::Metadata => json!({
            "kind": "PartialObjectMetadata", "apiVersion": format!("meta.k8s.io/{version}"), "metadata": item.at("metadata"),
        }),
        Rows::Object => {
            name(&mut item, names.version, names.kind);
            item
        }
    };
    json!({"cells": cells, "object": object})
}

/// What all containers use of a resource, or the node.
fn total(item: &Value, resource: &str) -> String {
    let amount = |of: &Value| Quantity::parse(of.at("usage").text(resource)).unwrap_or_default();
    match item.list("containers") {
        [] => amount(item).to_string(),
        [first, others @ ..] => others.iter().map(amount).fold(amount(first), |sum, own| sum + own).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_rows_name_the_version_of_the_request() {
        let items = || vec![json!({"metadata": {"name": "web"}})];
        for version in ["v1", "v1beta1"] {
            let list = MetricsOutput::Objects.of_list(&Names::pods(version), items());
            assert_eq!(list["apiVersion"], format!("metrics.k8s.io/{version}"));
            let form = MetricsOutput::Table { version: "v1".to_owned(), rows: Rows::Object };
            let table = form.of_list(&Names::pods(version), items());
            assert_eq!(table["rows"][0]["object"]["apiVersion"], format!("metrics.k8s.io/{version}"));
        }
    }

    #[test]
    fn a_row_sums_up_what_containers_use() {
        let container = |cpu: &str, memory: &str| json!({"usage": {"cpu": cpu, "memory": memory}});
        let containers = [container("250m", "64Mi"), container("1500n", "1Mi")];
        let item = json!({"metadata": {"name": "web"}, "window": "15s", "containers": containers});
        let form = MetricsOutput::Table { version: "v1".to_owned(), rows: Rows::Metadata };
        let table = form.of_list(&Names::pods("v1"), vec![item]);
        assert_eq!(table["rows"][0]["cells"], json!(["web", "250001500n", "65Mi", "15s"]));
        assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
        assert_eq!(table["columnDefinitions"][3]["name"], "Window");
        assert_eq!(form.of_list(&Names::pods("v1"), Vec::new())["columnDefinitions"], Value::Null);
    }
}
