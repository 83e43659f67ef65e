//! `get`: objects as tables of the server, or in a format.
//!
//! In Kubernetes: `kubectl/pkg/cmd/get`.

use std::cmp::Ordering;

use coracle_client::RawRequest;
use coracle_meta::{Quantity, go_quote};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::flags::Flag;
use crate::json_path::JsonPath;
use crate::kinds::ServedKind;
use crate::printer::{GET_FORMATS, OutputFormat, Printer};
use crate::selection::{Pick, SelectedObjects, Wanted, select, unable};
use crate::session::{CommandSession, complain, query};
use crate::table::{ACCEPT, TableOptions, TablePrinter};
use crate::tabs::TABLE;
use crate::values::list;
use crate::verb::{ALL_NAMESPACES, FIELD_SELECTOR, FILES, OUTPUT, SELECTOR, Verb};

const FLAGS: &[Flag] = &[
    Flag::bool("watch", "Not supported").or('w'),
    Flag::bool("watch-only", "Not supported"),
    Flag::bool("ignore-not-found", "No error if an object does not exist"),
    Flag::bool("no-headers", "No header above tables"),
    Flag::bool("show-labels", "A column of all labels"),
    Flag::bool("show-kind", "The kind before the name"),
    Flag::list("label-columns", "A column for each of these labels").or('L'),
    Flag::text("sort-by", "The path of the field to sort by"),
    Flag::text("subresource", "A subresource of the objects"),
    Flag::text("raw", "Read this path of the server"),
    Flag::number("chunk-size", "Without effect"),
    Flag::bool("server-print", "Without effect: tables come from the server"),
    Flag::bool("output-watch-events", "Not supported"),
];

pub(super) const VERB: Verb = Verb {
    words: &["get"],
    aliases: &[],
    flags: &[FLAGS, OUTPUT, FILES, SELECTOR, FIELD_SELECTOR, ALL_NAMESPACES],
    required: &[],
    about: "Display one or many resources",
    run: |session| Box::pin(run(session)),
};

/// A table or an object, and its kind.
struct Answer {
    kind: ServedKind,
    value: Value,
}

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    if session.flags.has("raw") {
        return raw(session).await;
    }
    if session.flags.is("watch") || session.flags.is("watch-only") {
        let why = "the console has no --watch: a command ends before the next one starts; run the command again";
        return Err(Failure::text(why));
    }
    let output = session.flags.text("output").to_owned();
    let is_table = (output.is_empty() && !session.flags.has("template")) || output == "wide";
    if session.args().is_empty() && session.flags.texts("filename").is_empty() {
        complain!(
            session,
            "You must specify the type of resource to get. Use \"kubectl api-resources\" for a complete list of supported \
             resources.\n"
        );
        let why = "Required resource not specified.\nUse \"kubectl explain <resource>\" for a detailed description of that \
                   resource (e.g. kubectl explain pods).";
        return Err(Failure::usage(why, "get"));
    }
    if session.flags.is("show-labels") && !is_table {
        return Err(Failure::text(format!("--show-labels option cannot be used with {output} printer")));
    }
    let wanted = Wanted::of(session, session.args()).all_by_default();
    let selection = select(session, &wanted).await?;
    if is_table { tables(session, selection).await } else { objects(session, selection).await }
}

async fn raw(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    if !session.args().is_empty() {
        return Err(Failure::text("arguments may not be passed when --raw is specified"));
    }
    let path = session.flags.text("raw").to_owned();
    let body = session.send(RawRequest::get(path, "*/*")).await?;
    session.out.push_str(&String::from_utf8_lossy(&body));
    Ok(())
}

/// Sends the requests of a selection with this accepted media type.
async fn answers(
    session: &mut CommandSession<'_>,
    selection: SelectedObjects,
    accept: &'static str,
) -> (Vec<Answer>, Vec<Failure>) {
    let (mut found, mut failures) = (Vec::new(), selection.failures.clone());
    let (labels, fields) = (selection.labels().to_owned(), selection.fields().to_owned());
    let sorts = if session.flags.has("sort-by") && accept == ACCEPT { "Object" } else { "" };
    let subresource = session.flags.text("subresource").to_owned();
    for pick in selection.picks {
        let (kind, path, is_list) = match pick {
            Pick::Named { kind, namespace, name } => {
                let path = kind.path(&namespace, &name, &subresource);
                (kind, path, false)
            }
            Pick::Object(info) => {
                let path = info.kind.path(&info.namespace, &info.name, &subresource);
                (info.kind, path, false)
            }
            Pick::Selected { kind, namespace } => {
                let parameters = [("fieldSelector", fields.as_str()), ("labelSelector", labels.as_str())];
                let path = kind.path(&namespace, "", "") + &query(&parameters);
                (kind, path, true)
            }
        };
        let separator = if path.contains('?') { '&' } else { '?' };
        let path = if sorts.is_empty() { path } else { format!("{path}{separator}includeObject={sorts}") };
        match session.value(RawRequest::get(path, accept)).await {
            Ok(value) => found.push(Answer { kind, value }),
            Err(failure) if failure.is_not_found() && session.flags.is("ignore-not-found") => {}
            Err(failure) if is_list => failures.push(unable(failure, &kind, &labels, &fields)),
            Err(failure) => failures.push(failure),
        }
    }
    (found, failures)
}

async fn tables(session: &mut CommandSession<'_>, selection: SelectedObjects) -> Result<(), Failure> {
    let (mut answers, failures) = answers(session, selection, ACCEPT).await;
    let sort_by = session.flags.text("sort-by").to_owned();
    if !sort_by.is_empty() {
        for answer in &mut answers {
            sort_rows(&mut answer.value, &sort_by)?;
        }
    }
    let has_kinds = session.flags.is("show-kind") || answers.windows(2).any(|pair| pair[0].kind != pair[1].kind);
    let is_everywhere = session.flags.is("all-namespaces");
    let has_headers = !session.flags.is("no-headers");
    let mut written = String::new();
    let mut start = 0;
    while start < answers.len() {
        let kind = answers[start].kind.clone();
        let end = answers[start..].iter().position(|answer| answer.kind != kind).map_or(answers.len(), |at| start + at);
        let options = TableOptions {
            is_wide: session.flags.text("output") == "wide",
            has_headers,
            has_namespaces: is_everywhere && kind.is_namespaced,
            has_kinds,
            shows_labels: session.flags.is("show-labels"),
            label_columns: session.flags.texts("label-columns").to_vec(),
        };
        let mut group = String::new();
        let mut printer = TablePrinter::default();
        for answer in &answers[start..end] {
            printer.print(&answer.value, &kind, &options, &mut group);
        }
        if !written.is_empty() && !group.is_empty() && has_headers {
            written.push('\n');
        }
        written.push_str(&TABLE.align(&group));
        start = end;
    }
    if written.is_empty() && failures.is_empty() && !session.flags.is("ignore-not-found") {
        let all_namespaced = !is_everywhere && answers.iter().all(|answer| answer.kind.is_namespaced);
        if all_namespaced {
            complain!(session, "No resources found in {} namespace.", session.namespace());
        } else {
            complain!(session, "No resources found");
        }
    }
    session.out.push_str(&written);
    Failure::aggregate(failures)
}

async fn objects(session: &mut CommandSession<'_>, selection: SelectedObjects) -> Result<(), Failure> {
    let Some(format) = OutputFormat::of(session, GET_FORMATS)? else { return Ok(()) };
    let is_single = selection.is_single;
    let (answers, failures) = answers(session, selection, crate::session::JSON).await;
    if is_single {
        Failure::aggregate(failures.clone())?;
    }
    if answers.is_empty() && session.flags.is("ignore-not-found") {
        return Failure::aggregate(failures);
    }
    let mut items: Vec<Value> = answers.into_iter().flat_map(|answer| items_of(answer.value)).collect();
    let is_list = !is_single || items.len() != 1;
    let sort_by = session.flags.text("sort-by").to_owned();
    if !sort_by.is_empty() && items.len() > 1 {
        sort(&mut items, &sort_by, |item| item)?;
    }
    let object = if is_list {
        json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items})
    } else {
        items.remove(0)
    };
    let mut printer = Printer::new(session, format.clone());
    let mut out = String::new();
    let printed = match format {
        OutputFormat::CustomColumns(_) => {
            printer.in_columns(&object, !session.flags.is("no-headers")).map(|text| out.push_str(&text))
        }
        _ => printer.print(&object, &mut out),
    };
    session.out.push_str(&out);
    let mut failures = failures;
    failures.extend(printed.err());
    Failure::aggregate(failures)
}

/// The items of a list, with their kind, or the object itself.
fn items_of(value: Value) -> Vec<Value> {
    let Value::Object(mut fields) = value else { return vec![value] };
    let list_kind = fields.get("kind").and_then(Value::as_str).unwrap_or_default();
    let Some(kind) = list_kind.strip_suffix("List").map(str::to_owned) else { return vec![Value::Object(fields)] };
    let version = fields.get("apiVersion").cloned().unwrap_or_default();
    let Some(Value::Array(mut items)) = fields.remove("items") else { return vec![Value::Object(fields)] };
    for item in items.iter_mut().filter_map(Value::as_object_mut) {
        item.entry("apiVersion").or_insert_with(|| version.clone());
        item.entry("kind").or_insert_with(|| kind.clone().into());
    }
    items
}

fn sort_rows(table: &mut Value, field: &str) -> Result<(), Failure> {
    let Some(rows) = table.get_mut("rows").and_then(Value::as_array_mut) else { return Ok(()) };
    sort(rows, field, |row| &row["object"])
}

/// Sorts by the values at a path. In Kubernetes: `get.RuntimeSorter`.
fn sort(items: &mut [Value], field: &str, object: impl Fn(&Value) -> &Value) -> Result<(), Failure> {
    let text = JsonPath::relaxed(field).unwrap_or_else(|_| field.to_owned());
    let path = JsonPath::parse(&text).map_err(|why| Failure::text(format!("sorting error: {why}")))?;
    let mut keys = Vec::new();
    for item in items.iter() {
        keys.push(path.first(object(item)).map_err(Failure::text)?);
    }
    if !items.is_empty() && keys.iter().all(Option::is_none) {
        let why = format!("couldn't find any field with path {} in the list of objects", go_quote(&text));
        return Err(Failure::text(why));
    }
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by(|one, other| compare(keys[*one].as_ref(), keys[*other].as_ref()));
    let sorted: Vec<Value> = order.into_iter().map(|index| items[index].clone()).collect();
    items.clone_from_slice(&sorted);
    Ok(())
}

/// Missing values come first; quantities are compared by their amount.
fn compare(one: Option<&Value>, other: Option<&Value>) -> Ordering {
    match (one, other) {
        (Some(Value::String(one)), Some(Value::String(other))) => {
            match (Quantity::parse(one), Quantity::parse(other)) {
                (Ok(one), Ok(other)) => one.cmp(&other),
                _ => one.cmp(other),
            }
        }
        (Some(Value::Number(one)), Some(Value::Number(other))) => {
            one.as_f64().partial_cmp(&other.as_f64()).unwrap_or(Ordering::Equal)
        }
        (one, other) => one.is_some().cmp(&other.is_some()),
    }
}

/// The items of a table, for completion: the cells of the first column.
pub(crate) fn names(table: &Value) -> Vec<String> {
    let first = |row: &Value| list(row, "/cells").first().and_then(Value::as_str).map(str::to_owned);
    list(table, "/rows").iter().filter_map(first).collect()
}
