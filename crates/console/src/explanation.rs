//! The text that explains a kind, or one of its fields.
//!
//! In Kubernetes: `kubectl/pkg/explain/v2/templates/plaintext.tmpl`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::kinds::ServedKind;
use crate::values::{list, map, show, text};

/// How many values of an enumeration a list of fields shows.
const ENUMERATED: usize = 4;

/// How deep fields of fields are followed.
const DEEPEST: usize = 64;

/// Explains a kind of a document, or the field at a path. The text without the explanation comes before an error.
///
/// # Errors
/// If the document does not have the kind, or the kind does not have the field.
pub(crate) fn explain(
    document: &Value,
    kind: &ServedKind,
    fields: &[String],
    is_recursive: bool,
    out: &mut String,
) -> Result<(), String> {
    let is_kind = |schema: &&Value| {
        list(schema, "/x-kubernetes-group-version-kind").iter().any(|gvk| {
            text(gvk, "/group") == kind.group
                && text(gvk, "/version") == kind.version
                && text(gvk, "/kind") == kind.kind
        })
    };
    let schemas = map(document, "/components/schemas");
    let Some(schema) = schemas.into_iter().flat_map(|schemas| schemas.values()).find(is_kind) else {
        let (group, version, plural) = (&kind.group, &kind.version, &kind.plural);
        return Err(format!("GVR ({group}/{version}, Resource={plural}) not found in OpenAPI schema"));
    };
    if !kind.group.is_empty() {
        out.push_str(&format!("GROUP:      {}\n", kind.group));
    }
    out.push_str(&format!("KIND:       {}\nVERSION:    {}\n\n", kind.kind, kind.version));
    let document = Document(document);
    match document.output(schema, fields, is_recursive, &mut BTreeSet::new()) {
        Some(text) => {
            out.push_str(&text);
            out.push('\n');
            Ok(())
        }
        None => Err(format!("field \"{}\" does not exist", fields.last().map_or("", String::as_str))),
    }
}

struct Document<'d>(&'d Value);

impl<'d> Document<'d> {
    /// The schema that a reference names, or the schema itself.
    fn resolve(&self, schema: &'d Value) -> &'d Value {
        let pointer = text(schema, "/$ref").strip_prefix('#');
        pointer.and_then(|pointer| self.0.pointer(pointer)).unwrap_or(schema)
    }

    fn output(
        &self,
        schema: &'d Value,
        fields: &[String],
        is_recursive: bool,
        seen: &mut BTreeSet<String>,
    ) -> Option<String> {
        let reference = text(schema, "/$ref").to_owned();
        let resolved = self.resolve(schema);
        let Some((first, rest)) = fields.split_first() else {
            return Some(self.whole(resolved, is_recursive));
        };
        if !reference.is_empty() && !seen.insert(reference) {
            return None;
        }
        if let Some(field) = resolved["properties"].get(first) {
            let below = self.output(field, rest, is_recursive, &mut BTreeSet::new())?;
            if !rest.is_empty() {
                return Some(below);
            }
            let title = format!("FIELD: {first} <{}>\n{}\n\n", self.type_of(field), enumeration(field, None));
            return Some(title + &below);
        }
        let inner = [&resolved["items"], &resolved["additionalProperties"]].into_iter().find(|inner| inner.is_object());
        if let Some(inner) = inner {
            return self.output(inner, fields, is_recursive, seen);
        }
        list(resolved, "/allOf").iter().find_map(|part| self.output(part, fields, is_recursive, seen))
    }

    fn whole(&self, schema: &'d Value, is_recursive: bool) -> String {
        let mut description = String::new();
        self.describe(schema, &mut description, 0);
        if description.is_empty() {
            description.push_str("<empty>");
        }
        let mut out = format!("DESCRIPTION:\n{}\n", indent(4, &wrap(76, &description)));
        let mut fields = String::new();
        self.fields(schema, 1, is_recursive, &mut Vec::new(), &mut fields);
        if !fields.is_empty() {
            out.push_str("FIELDS:\n");
            out.push_str(&fields);
        }
        out
    }

    fn describe(&self, schema: &'d Value, out: &mut String, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        let schema = self.resolve(schema);
        let own = text(schema, "/description");
        if !own.is_empty() {
            out.push_str(own);
            out.push('\n');
        }
        list(schema, "/allOf").iter().for_each(|part| self.describe(part, out, depth + 1));
        for inner in [&schema["items"], &schema["additionalProperties"]].into_iter().filter(|inner| inner.is_object()) {
            self.describe(inner, out, depth + 1);
        }
    }

    /// The fields of a schema, with their descriptions, or with their own fields.
    fn fields(&self, schema: &'d Value, level: usize, is_recursive: bool, seen: &mut Vec<String>, out: &mut String) {
        let reference = text(schema, "/$ref").to_owned();
        if level > DEEPEST || (!reference.is_empty() && seen.contains(&reference)) {
            return;
        }
        seen.push(reference);
        let resolved = self.resolve(schema);
        let required = list(resolved, "/required");
        for (name, field) in map(resolved, "/properties").into_iter().flatten() {
            let is_required = required.iter().any(|required| required == name.as_str());
            self.field(name, field, is_required, level, is_recursive, out);
            if is_recursive {
                self.fields(field, level + 1, is_recursive, seen, out);
            }
        }
        for part in list(resolved, "/allOf") {
            self.fields(part, level, is_recursive, seen, out);
        }
        for inner in
            [&resolved["items"], &resolved["additionalProperties"]].into_iter().filter(|inner| inner.is_object())
        {
            self.fields(inner, level, is_recursive, seen, out);
        }
        seen.pop();
    }

    fn field(&self, name: &str, field: &'d Value, is_required: bool, level: usize, is_short: bool, out: &mut String) {
        let width = level * 2;
        out.push_str(&format!("{}\t<{}>", indent(width, name), self.type_of(field)));
        if is_required {
            out.push_str(" -required-");
        }
        out.push_str(&enumeration(field, Some(width)));
        out.push('\n');
        if !is_short {
            let description = match text(field, "/description") {
                "" => "<no description>",
                description => description,
            };
            out.push_str(&indent(width + 2, &wrap(78_usize.saturating_sub(width), description)));
            out.push_str("\n\n");
        }
    }

    /// The type of a field: `string`, `[]Container`, `map[string]string`.
    fn type_of(&self, schema: &'d Value) -> String {
        self.type_at(schema, 0)
    }

    fn type_at(&self, schema: &'d Value, depth: usize) -> String {
        let or_object = |name: &str| match name {
            "" | "object" => "Object".to_owned(),
            name => name.to_owned(),
        };
        let parts = list(schema, "/allOf");
        if depth > DEEPEST {
            return "Object".to_owned();
        }
        if schema["items"].is_object() {
            return format!("[]{}", self.type_at(&schema["items"], depth + 1));
        }
        if schema["additionalProperties"].is_object() {
            return format!("map[string]{}", self.type_at(&schema["additionalProperties"], depth + 1));
        }
        if parts.len() == 1 && map(schema, "/properties").is_none() {
            return self.type_at(&parts[0], depth + 1);
        }
        let reference = text(schema, "/$ref");
        if reference.is_empty() {
            return or_object(text(schema, "/type"));
        }
        match text(self.resolve(schema), "/type") {
            "" | "object" => {
                let name = reference.rsplit('/').next().unwrap_or_default();
                or_object(name.rsplit('.').next().unwrap_or_default())
            }
            primitive => primitive.to_owned(),
        }
    }
}

/// The values of an enumeration: the first ones on a line of a list of fields, or all below each other.
fn enumeration(schema: &Value, short: Option<usize>) -> String {
    let values = list(schema, "/enum");
    if values.is_empty() {
        return String::new();
    }
    let mut out = match short {
        Some(width) => format!("\n{}enum: ", " ".repeat(width)),
        None => "ENUM:".to_owned(),
    };
    for (index, value) in values.iter().enumerate() {
        if short.is_some() && index >= ENUMERATED {
            out.push_str(", ....");
            break;
        }
        match short {
            Some(_) if index > 0 => out.push_str(", "),
            Some(_) => {}
            None => out.push_str("\n    "),
        }
        out.push_str(&if value == "" { "\"\"".to_owned() } else { show(value) });
    }
    out
}

fn indent(width: usize, text: &str) -> String {
    let pad = " ".repeat(width);
    format!("{pad}{}", text.replace('\n', &format!("\n{pad}")))
}

/// Breaks lines between words. In Go: `mitchellh/go-wordwrap`.
fn wrap(limit: usize, text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 32);
    let (mut word, mut space) = (String::new(), String::new());
    let (mut current, mut word_width, mut space_width) = (0, 0, 0);
    for sign in text.chars() {
        if sign == '\n' {
            if word.is_empty() {
                if current + space_width <= limit {
                    out.push_str(&space);
                }
            } else {
                out.push_str(&space);
                out.push_str(&word);
                word.clear();
                word_width = 0;
            }
            space.clear();
            space_width = 0;
            out.push('\n');
            current = 0;
        } else if sign.is_whitespace() && sign != '\u{a0}' {
            if space.is_empty() || !word.is_empty() {
                current += space_width + word_width;
                out.push_str(&space);
                out.push_str(&word);
                space.clear();
                word.clear();
                space_width = 0;
                word_width = 0;
            }
            space.push(sign);
            space_width += 1;
        } else {
            word.push(sign);
            word_width += 1;
            if current + word_width + space_width > limit && word_width < limit {
                out.push('\n');
                current = 0;
                space.clear();
                space_width = 0;
            }
        }
    }
    if !word.is_empty() || current + space_width <= limit {
        out.push_str(&space);
    }
    out.push_str(&word);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap(10, "one two three four"), "one two\nthree four");
        assert_eq!(wrap(5, "a\n\nb c d e"), "a\n\nb c d\ne");
        assert_eq!(wrap(3, "abcdefg"), "ab\ncdefg".replace('\n', ""));
    }
}
