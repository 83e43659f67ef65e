//! Labels, annotations, selectors, taints and tolerations.

use serde_json::{Map, Value};

use super::Description;
use crate::last_applied::ANNOTATION;
use crate::values::{list, map, number, show, text};

/// The longest annotation on one line.
const LONGEST: usize = 140;

/// Labels, one a line. The title can have an indentation of its own.
pub(crate) fn labels(out: &mut Description, title: &str, labels: Option<&Map<String, Value>>) {
    out.write(0, &format!("{title}:\t"));
    let Some(labels) = labels.filter(|labels| !labels.is_empty()) else {
        out.line(0, "<none>");
        return;
    };
    for (index, (name, value)) in labels.iter().enumerate() {
        if index > 0 {
            out.write(0, "\t");
        }
        out.line(0, format!("{name}={}", show(value)));
    }
}

/// The labels and the annotations of an object.
pub(crate) fn metadata(out: &mut Description, object: &Value) {
    labels(out, "Labels", map(object, "/metadata/labels"));
    annotations(out, "Annotations", map(object, "/metadata/annotations"));
}

/// Annotations, without the configuration of `apply`.
pub(crate) fn annotations(out: &mut Description, title: &str, annotations: Option<&Map<String, Value>>) {
    out.write(0, &format!("{title}:\t"));
    let shown: Vec<_> = annotations.into_iter().flatten().filter(|(name, _)| *name != ANNOTATION).collect();
    if shown.is_empty() {
        out.line(0, "<none>");
        return;
    }
    for (index, (name, value)) in shown.into_iter().enumerate() {
        if index > 0 {
            out.write(0, "\t");
        }
        let value = show(value);
        let value = value.strip_suffix('\n').unwrap_or(&value);
        if value.len() + name.len() + 2 > LONGEST || value.contains('\n') {
            out.line(0, format!("{name}:"));
            for line in value.split('\n') {
                out.line(0, format!("\t  {}", shorten(line, LONGEST - 2)));
            }
        } else {
            out.line(0, format!("{name}: {value}"));
        }
    }
}

fn shorten(line: &str, longest: usize) -> String {
    if line.len() <= longest {
        return line.to_owned();
    }
    let end = (0..=longest).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    format!("{}...", &line[..end])
}

/// A label selector of the API on one line. In Kubernetes: `metav1.FormatLabelSelector`.
pub(crate) fn selector(selector: &Value) -> String {
    let mut parts: Vec<(String, String)> = Vec::new();
    for (name, value) in map(selector, "/matchLabels").into_iter().flatten() {
        parts.push((name.clone(), format!("{name}={}", show(value))));
    }
    for expression in list(selector, "/matchExpressions") {
        let key = text(expression, "/key");
        let mut values: Vec<String> = list(expression, "/values").iter().map(show).collect();
        values.sort_unstable();
        let values = values.join(",");
        let part = match text(expression, "/operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        };
        parts.push((key.to_owned(), part));
    }
    parts.sort_by(|one, other| one.0.cmp(&other.0));
    let parts: Vec<String> = parts.into_iter().map(|(_, part)| part).collect();
    if parts.is_empty() { "<none>".to_owned() } else { parts.join(",") }
}

/// The taints of a node.
pub(crate) fn taints(out: &mut Description, taints: &[Value]) {
    let mut lines: Vec<(String, String)> = taints.iter().map(taint).collect();
    lines.sort();
    several(out, "Taints", lines.into_iter().map(|(_, line)| line).collect());
}

fn taint(taint: &Value) -> (String, String) {
    let (key, value, effect) = (text(taint, "/key"), text(taint, "/value"), text(taint, "/effect"));
    let line = match (value, effect) {
        ("", "") => key.to_owned(),
        ("", effect) => format!("{key}:{effect}"),
        (value, "") => format!("{key}={value}:"),
        (value, effect) => format!("{key}={value}:{effect}"),
    };
    (format!("{effect},{key}"), line)
}

/// The tolerations of a pod.
pub(crate) fn tolerations(out: &mut Description, title: &str, tolerations: &[Value]) {
    let mut sorted: Vec<&Value> = tolerations.iter().collect();
    sorted.sort_by_key(|toleration| text(toleration, "/key"));
    several(out, title, sorted.into_iter().map(toleration).collect());
}

fn toleration(toleration: &Value) -> String {
    let (key, value, effect) = (text(toleration, "/key"), text(toleration, "/value"), text(toleration, "/effect"));
    let mut line = key.to_owned();
    if !value.is_empty() {
        line.push_str(&format!("={value}"));
    }
    if !effect.is_empty() {
        line.push_str(&format!(":{effect}"));
    }
    if text(toleration, "/operator") == "Exists" && value.is_empty() {
        line.push_str(if key.is_empty() && effect.is_empty() { "op=Exists" } else { " op=Exists" });
    }
    if let Some(seconds) = number(toleration, "/tolerationSeconds") {
        line.push_str(&format!(" for {seconds}s"));
    }
    line
}

/// Lines below each other after a title.
pub(crate) fn several(out: &mut Description, title: &str, lines: Vec<String>) {
    out.write(0, &format!("{title}:\t"));
    if lines.is_empty() {
        out.line(0, "<none>");
    }
    for (index, line) in lines.into_iter().enumerate() {
        if index > 0 {
            out.write(0, "\t");
        }
        out.line(0, line);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_are_written_as_for_kubectl() {
        let value = json!({"matchLabels": {"b": "1"}, "matchExpressions": [
            {"key": "a", "operator": "In", "values": ["y", "x"]}, {"key": "c", "operator": "DoesNotExist"}]});
        assert_eq!(selector(&value), "a in (x,y),b=1,!c");
        assert_eq!(selector(&Value::Null), "<none>");
    }

    #[test]
    fn long_annotations_are_shortened_and_that_of_apply_is_left_out() {
        let mut out = Description::default();
        let long = "x".repeat(200);
        let value = json!({ANNOTATION: "{}", "a": "b", "long": long});
        annotations(&mut out, "Annotations", value.as_object());
        assert_eq!(out.text, format!("Annotations:\ta: b\n\tlong:\n\t  {}...\n", "x".repeat(138)));
    }

    #[test]
    fn tolerations_and_taints_are_sorted() {
        let mut out = Description::default();
        let list = [
            json!({"key": "b", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}),
            json!({"operator": "Exists"}),
        ];
        tolerations(&mut out, "Tolerations", &list);
        taints(&mut out, &[json!({"key": "k", "value": "v", "effect": "NoSchedule"})]);
        assert_eq!(out.text, "Tolerations:\top=Exists\n\tb:NoExecute op=Exists for 300s\nTaints:\tk=v:NoSchedule\n");
    }
}
