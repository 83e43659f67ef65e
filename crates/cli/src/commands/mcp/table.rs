use serde_json::Value;

/// How a Table of the API is asked for.
pub(super) const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// A Table of the API as kubectl prints it, without its less important columns; with a column of namespaces if the
/// objects are of several.
pub(super) fn printed(table: &Value, with_namespaces: bool) -> String {
    let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let columns = items(&table["columnDefinitions"]);
    let shown: Vec<usize> =
        (0..columns.len()).filter(|index| columns[*index]["priority"].as_i64().unwrap_or_default() == 0).collect();
    let name = |index: &usize| columns[*index]["name"].as_str().unwrap_or_default().to_uppercase();
    let mut lines = vec![line(with_namespaces.then(|| "NAMESPACE".to_owned()), shown.iter().map(name))];
    for row in items(&table["rows"]) {
        let namespace = row["object"]["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        let cells = shown.iter().map(|index| cell(&row["cells"][*index]));
        lines.push(line(with_namespaces.then_some(namespace), cells));
    }
    aligned(&lines)
}

fn line(first: Option<String>, rest: impl Iterator<Item = String>) -> Vec<String> {
    first.into_iter().chain(rest).collect()
}

fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<none>".to_owned(),
        other => other.to_string(),
    }
}

/// The lines with columns of equal width.
fn aligned(lines: &[Vec<String>]) -> String {
    let count = lines.iter().map(Vec::len).max().unwrap_or_default();
    let width = |index: usize| lines.iter().filter_map(|line| line.get(index)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|index| width(index).unwrap_or_default()).collect();
    let mut text = String::new();
    for line in lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("   ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_table_is_printed_as_kubectl_prints_it() {
        let table = json!({
            "columnDefinitions": [{"name": "Name"}, {"name": "Restarts"}, {"name": "Node", "priority": 1}],
            "rows": [
                {"cells": ["web", 0, "node-1"], "object": {"metadata": {"namespace": "default"}}},
                {"cells": ["long-name", null, "node-2"], "object": {"metadata": {"namespace": "a"}}},
            ],
        });
        assert_eq!(printed(&table, false), "NAME        RESTARTS\nweb         0\nlong-name   <none>\n");
        assert!(printed(&table, true).starts_with("NAMESPACE   NAME        RESTARTS\ndefault     web"));
    }
}
