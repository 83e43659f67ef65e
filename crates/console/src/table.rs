//! Tables of the server, as kubectl prints them.

use serde_json::Value;

use crate::kinds::ServedKind;
use crate::values::{list, show, text};

/// The media types of tables.
pub(crate) const ACCEPT: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,\
                                 application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";

/// How tables are printed.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableOptions {
    pub(crate) is_wide: bool,
    pub(crate) has_headers: bool,
    pub(crate) has_namespaces: bool,
    pub(crate) has_kinds: bool,
    pub(crate) shows_labels: bool,
    pub(crate) label_columns: Vec<String>,
}

/// A printer of consecutive tables of one kind: the header is printed once.
#[derive(Debug, Default)]
pub(crate) struct TablePrinter {
    columns: Option<Value>,
    has_printed_header: bool,
}

impl TablePrinter {
    /// Appends a table to a text whose cells end with tabs.
    pub(crate) fn print(&mut self, table: &Value, kind: &ServedKind, options: &TableOptions, out: &mut String) {
        if table["kind"] != "Table" {
            return self.print_object(table, options, out);
        }
        let columns = list(table, "/columnDefinitions");
        let is_new = self.columns.as_ref() != Some(&table["columnDefinitions"]);
        if is_new {
            self.columns = Some(table["columnDefinitions"].clone());
            self.has_printed_header = false;
        }
        let rows = list(table, "/rows");
        if options.has_headers && !self.has_printed_header && !rows.is_empty() {
            out.push_str(&header(columns, options).join("\t"));
            out.push('\n');
        }
        self.has_printed_header |= !rows.is_empty();
        for row in rows {
            out.push_str(&cells(row, columns, kind, options).join("\t"));
            out.push('\n');
        }
    }

    /// An object of a server that has no tables.
    fn print_object(&mut self, object: &Value, options: &TableOptions, out: &mut String) {
        if options.has_headers && !self.has_printed_header {
            out.push_str("NAME\tAGE\n");
        }
        self.has_printed_header = true;
        out.push_str(&format!("{}\t<unknown>\n", text(object, "/metadata/name")));
    }
}

fn is_shown(column: &Value, options: &TableOptions) -> bool {
    options.is_wide || column["priority"].as_i64().unwrap_or_default() == 0
}

fn header(columns: &[Value], options: &TableOptions) -> Vec<String> {
    let mut names = Vec::new();
    if options.has_namespaces {
        names.push("NAMESPACE".to_owned());
    }
    let shown = columns.iter().filter(|column| is_shown(column, options));
    names.extend(shown.map(|column| text(column, "/name").to_uppercase()));
    let labels = options.label_columns.iter();
    names.extend(labels.map(|label| label.rsplit('/').next().unwrap_or_default().to_uppercase()));
    if options.shows_labels {
        names.push("LABELS".to_owned());
    }
    names
}

fn cells(row: &Value, columns: &[Value], kind: &ServedKind, options: &TableOptions) -> Vec<String> {
    let metadata = &row["object"]["metadata"];
    let is_name = |column: &Value| column["format"] == "name" && column["type"] == "string";
    let name_column = columns.iter().position(is_name).filter(|_| options.has_kinds);
    let mut out = Vec::new();
    if options.has_namespaces {
        out.push(text(metadata, "/namespace").to_owned());
    }
    for (index, (cell, column)) in list(row, "/cells").iter().zip(columns).enumerate() {
        if !is_shown(column, options) {
            continue;
        }
        let shown = shown(cell);
        out.push(if name_column == Some(index) { format!("{}/{shown}", kind.in_names()) } else { shown });
    }
    let label = |name: &String| metadata["labels"][name].as_str().unwrap_or_default().to_owned();
    out.extend(options.label_columns.iter().map(label));
    if options.shows_labels {
        out.push(labels(&metadata["labels"]));
    }
    out
}

/// Labels on one line. In Kubernetes: `labels.FormatLabels`.
pub(crate) fn labels(labels: &Value) -> String {
    let pairs = labels.as_object().into_iter().flatten();
    let pairs: Vec<String> = pairs.map(|(name, value)| format!("{name}={}", show(value))).collect();
    if pairs.is_empty() { "<none>".to_owned() } else { pairs.join(",") }
}

fn shown(cell: &Value) -> String {
    let text = match cell {
        Value::Null => return String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.find(['\u{c}', '\n', '\r']) {
        Some(end) if cell.is_string() => format!("{}...", &text[..end]),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tabs::TABLE;

    #[test]
    fn columns_are_hidden_added_and_named() {
        let table = json!({"kind": "Table", "columnDefinitions": [
                {"name": "Name", "type": "string", "format": "name"}, {"name": "Ready", "type": "string"},
                {"name": "Node", "type": "string", "priority": 1}],
            "rows": [{"cells": ["web", "1/1", "node-1"], "object": {"metadata": {"namespace": "a", "labels": {"app": "w"}}}},
                     {"cells": ["b\nc", null, 3]}]});
        let kind = ServedKind { kind: "Pod".to_owned(), ..ServedKind::default() };
        let print = |options: TableOptions| {
            let mut out = String::new();
            TablePrinter::default().print(&table, &kind, &TableOptions { has_headers: true, ..options }, &mut out);
            TABLE.align(&out)
        };
        assert_eq!(print(TableOptions::default()), "NAME   READY\nweb    1/1\nb...   \n");
        let wide = TableOptions { is_wide: true, has_namespaces: true, has_kinds: true, ..TableOptions::default() };
        assert_eq!(
            print(wide),
            "NAMESPACE   NAME       READY   NODE\na           pod/web    1/1     node-1\n            pod/b...           3\n"
        );
        let labelled =
            TableOptions { shows_labels: true, label_columns: vec!["x/app".to_owned()], ..TableOptions::default() };
        assert_eq!(
            print(labelled),
            "NAME   READY   APP   LABELS\nweb    1/1           app=w\nb...                 <none>\n"
        );
    }
}
