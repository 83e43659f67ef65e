//! The formats of `-o` for objects.

use coracle_meta::{go_json, go_quote};
use coracle_template::{Alone, Template};
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::json_path::JsonPath;
use crate::session::CommandSession;
use crate::tabs::TABLE;
use crate::values::{list, name, show, text};

/// The formats of commands that print objects.
pub(crate) const FORMATS: &str = "go-template,go-template-file,json,jsonpath,jsonpath-as-json,jsonpath-file,name,template,\
                                  templatefile,yaml";

/// The formats of `get`.
pub(crate) const GET_FORMATS: &str = "custom-columns,custom-columns-file,go-template,go-template-file,json,jsonpath,\
                                      jsonpath-as-json,jsonpath-file,name,template,templatefile,wide,yaml";

/// A format for objects.
#[derive(Clone, Debug)]
pub(crate) enum OutputFormat {
    Json,
    Yaml,
    /// The kind and the name, and what was done.
    Name,
    JsonPath {
        path: JsonPath,
        text: String,
    },
    JsonPathAsJson(JsonPath),
    GoTemplate(Box<Template>, String),
    CustomColumns(Vec<(String, JsonPath)>),
}

impl OutputFormat {
    /// Reads a value of `-o`; `None` for the standard form of the command.
    pub(crate) fn of(session: &CommandSession<'_>, formats: &str) -> Result<Option<Self>, Failure> {
        let given = session.flags.text("output");
        let (format, argument) = match given.split_once('=') {
            Some((format, argument)) => (format, argument.to_owned()),
            None => (given, session.flags.text("template").to_owned()),
        };
        let format = match (format, session.flags.has("template")) {
            ("", true) => "go-template",
            (format, _) => format,
        };
        let known = formats.split(',').any(|known| known == format);
        Ok(Some(match format {
            "" | "wide" => return Ok(None),
            "json" => Self::Json,
            "yaml" => Self::Yaml,
            "name" => Self::Name,
            "jsonpath" | "jsonpath-file" if known => {
                let (path, text) = json_path(session, format, argument)?;
                Self::JsonPath { path, text }
            }
            "jsonpath-as-json" if known => Self::JsonPathAsJson(json_path(session, format, argument)?.0),
            "go-template" | "template" | "go-template-file" | "templatefile" if known => {
                go_template(session, format, argument)?
            }
            "custom-columns" if known => Self::CustomColumns(custom_columns(&argument)?),
            "custom-columns-file" if known => {
                return Err(Failure::text("the console does not support -o custom-columns-file"));
            }
            _ => {
                let format = go_quote(given);
                return Err(Failure::text(format!(
                    "unable to match a printer suitable for the output format {format}, allowed formats are: {formats}"
                )));
            }
        }))
    }
}

fn argument_of(session: &CommandSession<'_>, format: &str, argument: String) -> Result<String, Failure> {
    if !format.ends_with("file") {
        return Ok(argument);
    }
    let content = session.input.files.get(&argument).cloned();
    content.ok_or_else(|| Failure::text(format!("error reading --template {argument}, no such file or directory")))
}

fn json_path(session: &CommandSession<'_>, format: &str, argument: String) -> Result<(JsonPath, String), Failure> {
    if argument.is_empty() {
        return Err(Failure::text("template format specified but no template given"));
    }
    let text = argument_of(session, format, argument)?;
    let path = JsonPath::parse(&text);
    Ok((path.map_err(|why| Failure::text(format!("error parsing jsonpath {text}, {why}")))?, text))
}

fn go_template(session: &CommandSession<'_>, format: &str, argument: String) -> Result<OutputFormat, Failure> {
    if argument.is_empty() {
        return Err(Failure::text("template format specified but no template given"));
    }
    let text = argument_of(session, format, argument)?;
    let template = Template::parse(&text, &[]);
    let template = template.map_err(|why| Failure::text(format!("error parsing template {text}, {why}")))?;
    Ok(OutputFormat::GoTemplate(Box::new(template), text))
}

fn custom_columns(spec: &str) -> Result<Vec<(String, JsonPath)>, Failure> {
    if spec.is_empty() {
        return Err(Failure::text("custom-columns format specified but no custom columns given"));
    }
    let column = |part: &str| {
        let Some((header, path)) = part.split_once(':') else {
            let expected = "expected <header>:<json-path-expr>";
            return Err(Failure::text(format!("unexpected custom-columns spec: {part}, {expected}")));
        };
        let path = JsonPath::relaxed(path).and_then(|path| JsonPath::parse(&path));
        Ok((header.to_owned(), path.map_err(Failure::text)?))
    };
    spec.split(',').map(column).collect()
}

/// Prints objects in a format.
#[derive(Clone, Debug)]
pub(crate) struct Printer {
    format: OutputFormat,
    /// What was done: `created`; empty for `-o name`.
    operation: String,
    shows_managed_fields: bool,
    printed: usize,
}

impl Printer {
    pub(crate) fn new(session: &CommandSession<'_>, format: OutputFormat) -> Self {
        let shows_managed_fields = session.flags.is("show-managed-fields");
        Self { format, operation: String::new(), shows_managed_fields, printed: 0 }
    }

    /// The printer of a command that changes objects: what it did, or the objects in the format of `-o`.
    pub(crate) fn of_change(session: &CommandSession<'_>, operation: &str) -> Result<Self, Failure> {
        let format = OutputFormat::of(session, FORMATS)?;
        let suffix = match session.flags.text("dry-run") {
            "client" => " (dry run)",
            "server" => " (server dry run)",
            _ => "",
        };
        let operation = if format.is_none() { format!("{operation}{suffix}") } else { String::new() };
        let format = format.unwrap_or(OutputFormat::Name);
        Ok(Self { operation, ..Self::new(session, format) })
    }

    /// Appends an object, or a list, to a text.
    pub(crate) fn print(&mut self, object: &Value, out: &mut String) -> Result<(), Failure> {
        let stripped = (!self.shows_managed_fields).then(|| without_managed_fields(object.clone()));
        let object = stripped.as_ref().unwrap_or(object);
        match &self.format {
            OutputFormat::Json => out.push_str(&(indented(object) + "\n")),
            OutputFormat::Yaml => {
                if self.printed > 0 {
                    out.push_str("---\n");
                }
                out.push_str(&coracle_yaml::to_yaml(object));
            }
            OutputFormat::Name => {
                let is_list = text(object, "/kind").ends_with("List") && object["items"].is_array();
                let objects = if is_list { list(object, "/items") } else { std::slice::from_ref(object) };
                for object in objects {
                    out.push_str(&self.title(object));
                }
            }
            OutputFormat::JsonPath { path, text } => {
                let rendered = path.render(object);
                let rendered = rendered.map_err(|why| broken_path(text, &why, object, out))?;
                out.push_str(&rendered);
            }
            OutputFormat::JsonPathAsJson(path) => {
                let found = path.find(object).map_err(Failure::text)?;
                for values in found {
                    let values: Vec<Value> = values.into_iter().map(std::borrow::Cow::into_owned).collect();
                    out.push_str(&(indented(&Value::Array(values)) + "\n"));
                }
            }
            OutputFormat::GoTemplate(template, text) => {
                let rendered = template.render(object, &Alone);
                let why = |why| Failure::text(format!("error executing template {}: {why}", go_quote(text)));
                out.push_str(&rendered.map_err(why)?);
            }
            OutputFormat::CustomColumns(_) => out.push_str(&self.in_columns(object, true)?),
        }
        self.printed += 1;
        Ok(())
    }

    /// An object or a list in custom columns.
    pub(crate) fn in_columns(&self, object: &Value, has_headers: bool) -> Result<String, Failure> {
        let OutputFormat::CustomColumns(columns) = &self.format else { return Ok(String::new()) };
        let mut text = String::new();
        if has_headers {
            let headers: Vec<&str> = columns.iter().map(|(header, _)| header.as_str()).collect();
            text = headers.join("\t") + "\n";
        }
        let objects = if object["items"].is_array() { list(object, "/items") } else { std::slice::from_ref(object) };
        for object in objects {
            let mut cells = Vec::new();
            for (_, path) in columns {
                let found: Vec<_> = path.find(object).map_err(Failure::text)?.into_iter().flatten().collect();
                let shown: Vec<String> = found.iter().map(|value| go_value(value)).collect();
                cells.push(if shown.is_empty() { "<none>".to_owned() } else { shown.join(",") });
            }
            text.push_str(&(cells.join("\t") + "\n"));
        }
        Ok(TABLE.align(&text))
    }

    fn title(&self, object: &Value) -> String {
        let kind = text(object, "/kind").to_lowercase();
        let group = text(object, "/apiVersion").split_once('/').map_or(String::new(), |(group, _)| format!(".{group}"));
        let name = if name(object).is_empty() { "<unknown>" } else { name(object) };
        let operation = if self.operation.is_empty() { String::new() } else { format!(" {}", self.operation) };
        format!("{kind}{group}/{name}{operation}\n")
    }
}

fn broken_path(text: &str, why: &str, object: &Value, out: &mut String) -> Failure {
    out.push_str(&format!(
        "Error executing template: {why}. Printing more information for debugging the template:\n\ttemplate was:\n\t\t\
         {text}\n\tobject given to jsonpath engine was:\n\t\t{}\n\n\n",
        go_debug(object)
    ));
    Failure::text(format!(
        "error executing jsonpath {}: {}",
        go_quote(text),
        format_args!(
            "Error executing template: {why}. Printing more information for debugging the template:\n\ttemplate was:\n\t\t{text}\n\tobject given to jsonpath engine was:\n\t\t{}\n\n",
            go_debug(object)
        )
    ))
}

/// A value as Go prints it with `%#v`.
fn go_debug(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let fields: Vec<String> =
                map.iter().map(|(name, value)| format!("{}:{}", go_quote(name), go_debug(value))).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_debug).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::String(text) => go_quote(text),
        Value::Null => "interface {}(nil)".to_owned(),
        other => other.to_string(),
    }
}

/// A value as Go prints it with `%v`.
pub(crate) fn go_value(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let fields: Vec<String> = map.iter().map(|(name, value)| format!("{name}:{}", go_value(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_value).collect();
            format!("[{}]", items.join(" "))
        }
        scalar => show(scalar),
    }
}

/// JSON with an indentation of four spaces, as Go writes it.
pub(crate) fn indented(value: &Value) -> String {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    value.serialize(&mut serializer).expect("a Vec takes everything");
    let text = String::from_utf8(bytes).expect("JSON is UTF-8");
    escape_html(&text)
}

/// The escapes of Go's encoder, outside of which the text stays. These signs stand only in strings of JSON.
fn escape_html(text: &str) -> String {
    if !text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for sign in text.chars() {
        match sign {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(sign))),
            sign => out.push(sign),
        }
    }
    out
}

/// JSON on one line, as Go writes it.
pub(crate) fn compact(value: &Value) -> String {
    go_json(&value.to_string())
}

/// An object or a list without `managedFields`.
pub(crate) fn without_managed_fields(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    if let Some(items) = object.get_mut("items").and_then(Value::as_array_mut) {
        for item in items {
            if let Some(metadata) = item.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("managedFields");
            }
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_indented_and_escaped_as_by_go() {
        let value = json!({"a": ["<x>"], "b": {}, "c": []});
        assert_eq!(
            indented(&value),
            "{\n    \"a\": [\n        \"\\u003cx\\u003e\"\n    ],\n    \"b\": {},\n    \"c\": []\n}"
        );
        assert_eq!(go_value(&json!({"a": [1, {"b": "c"}], "d": null})), "map[a:[1 map[b:c]] d:<nil>]");
    }
}
