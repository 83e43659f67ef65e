use coracle_schema::structural::Structural;

/// The `fieldPath` of a rule below a schema, as errors show it.
/// In Kubernetes: `cel.ValidFieldPath`.
pub(super) fn normalized(path: &str, schema: &Structural) -> Result<String, &'static str> {
    let no_field = "does not refer to a valid field";
    let mut tokens = tokens(path).into_iter();
    let (mut schema, mut shown) = (schema, String::new());
    while let Some(token) = tokens.next() {
        let name = match token {
            "." => tokens.next().ok_or("unexpected end of JSON path")?.to_owned(),
            "[" => {
                let quoted = tokens.next().ok_or("unexpected end of JSON path")?;
                let inner = quoted.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                let name = unescaped(inner.ok_or("expected single quoted string")?)?;
                if tokens.next().ok_or("unexpected end of JSON path")? != "]" {
                    return Err("expected ]");
                }
                name
            }
            _ => return Err("expected [ or ."),
        };
        if !schema.properties.is_empty() {
            if !shown.is_empty() {
                shown.push('.');
            }
            shown.push_str(&name);
            schema = schema.properties.get(&name).ok_or(no_field)?;
        } else {
            shown.push_str(&format!("[{name}]"));
            schema = schema.additional.schema().ok_or(no_field)?;
        }
    }
    Ok(shown)
}

/// The field at a path without brackets, and the path as errors show it.
/// In Kubernetes: `cel.ValidFieldPath` without array notation.
pub(super) fn named_field<'s>(path: &str, schema: &'s Structural) -> Result<(String, &'s Structural), String> {
    let mut tokens = tokens(path).into_iter();
    let (mut schema, mut shown) = (schema, String::new());
    while let Some(token) = tokens.next() {
        match token {
            "." => {}
            "[" => return Err("array notation is not allowed".to_owned()),
            other => return Err(format!("expected [ or . but got: {other}")),
        }
        let name = tokens.next().ok_or("unexpected end of JSON path")?;
        let no_field = "does not refer to a valid field";
        if schema.properties.is_empty() {
            schema = schema.additional.schema().ok_or(no_field)?;
            shown.push_str(&format!("[{name}]"));
        } else {
            schema = schema.properties.get(name).ok_or(no_field)?;
            shown.push_str(if shown.is_empty() { "" } else { "." });
            shown.push_str(name);
        }
    }
    Ok((shown, schema))
}

/// Delimiters, names, and texts in single quotes.
fn tokens(path: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '.' | '[' | ']' => 1,
            '\'' => end_of_quoted(rest),
            _ => rest.find(['.', '[', ']']).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        found.push(token);
        rest = after;
    }
    found
}

fn end_of_quoted(text: &str) -> usize {
    let bytes = text.as_bytes();
    (1..bytes.len()).find(|at| bytes[*at] == b'\'' && bytes[*at - 1] != b'\\').map_or(text.len(), |at| at + 1)
}

fn unescaped(text: &str) -> Result<String, &'static str> {
    let mut found = String::new();
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        if sign != '\\' {
            found.push(sign);
            continue;
        }
        found.push(match signs.next() {
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some('\'') => '\'',
            Some('\\') => '\\',
            _ => return Err("invalid escape char"),
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_has_to_lead_to_a_field() {
        let schema = Structural::from_json(&json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"a.b": {"type": "string"}}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "plain": {"type": "string"},
        }}));
        for (path, expected) in [
            (".spec", Ok("spec")),
            (".spec['a.b']", Ok("spec.a.b")),
            ("['spec']['a.b']", Ok("spec.a.b")),
            (".labels['x\\'y']", Ok("labels[x'y]")),
            (".labels.x", Ok("labels[x]")),
            ("spec", Err("expected [ or .")),
            (".other", Err("does not refer to a valid field")),
            (".plain.x", Err("does not refer to a valid field")),
            (".spec[a]", Err("expected single quoted string")),
            (".spec.", Err("unexpected end of JSON path")),
            (".labels['\\q']", Err("invalid escape char")),
        ] {
            assert_eq!(normalized(path, &schema), expected.map(str::to_owned), "{path}");
        }
    }
}
