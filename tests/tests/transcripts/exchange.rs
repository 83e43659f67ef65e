use std::collections::BTreeMap;
use std::fmt;

use http::{Method, Request, Uri};
use serde_json::Value;

/// A request as it stands in a transcript, and the answer to it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Exchange {
    /// What the request is about: what follows `###`.
    pub(crate) title: String,
    /// What later requests call this one: `# @name ..`.
    pub(crate) name: Option<String>,
    /// The text of the request: comments, request line, headers, an empty line, body.
    pub(crate) request: String,
    /// The text of the answer; empty if there is none yet.
    pub(crate) answer: String,
}

impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "### {}\n{}\n", self.title, self.request)?;
        if self.answer.is_empty() { Ok(()) } else { write!(f, "\n{}\n", self.answer) }
    }
}

impl Exchange {
    /// The request, with the values that it takes from the `bodies` of earlier answers, by name.
    ///
    /// # Errors
    /// What cannot be read, or which answer is missing.
    pub(crate) fn to_request(&self, bodies: &BTreeMap<&str, Value>) -> Result<Request<Vec<u8>>, String> {
        let text = filled_in(&self.request, bodies)?;
        let (head, body) = text.split_once("\n\n").unwrap_or((&text, ""));
        let mut lines = head.lines().filter(|line| !line.starts_with('#'));
        let line = lines.next().ok_or("no request line")?;
        let (method, target) = line.split_once(' ').ok_or_else(|| format!("`{line}` is not `METHOD PATH`"))?;
        let is_method = !method.is_empty() && method.bytes().all(|sign| sign.is_ascii_uppercase());
        let method = Method::from_bytes(method.as_bytes()).ok().filter(|_| is_method);
        let method = method.ok_or_else(|| format!("`{line}` does not start with a method"))?;
        let uri: Uri = target.parse().map_err(|error| format!("`{target}` is not a path: {error}"))?;
        if !target.starts_with('/') {
            return Err(format!("`{target}` is not a path"));
        }
        let mut request = Request::builder().method(method).uri(uri);
        for line in lines {
            let (name, value) = line.split_once(": ").ok_or_else(|| format!("`{line}` is not `Header: value`"))?;
            request = request.header(name, value);
        }
        request.body(body.as_bytes().to_vec()).map_err(|error| error.to_string())
    }
}

/// Replaces `{{NAME.response.body.$.PATH}}`, as editors of such files write it.
fn filled_in(text: &str, bodies: &BTreeMap<&str, Value>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let reference = after.split_once("}}").and_then(|(inside, after)| {
            let (name, path) = inside.split_once(".response.body.$.")?;
            Some((name, path, after))
        });
        let Some((name, path, after)) = reference else {
            // Two maps in the flow style of YAML.
            filled.push_str("{{");
            rest = after;
            continue;
        };
        let body = bodies.get(name).ok_or_else(|| format!("no answer before this one is called `{name}`"))?;
        let value = body.pointer(&format!("/{}", path.replace('.', "/")));
        let value = value.ok_or_else(|| format!("the answer `{name}` has no `{path}`"))?;
        filled.push_str(&value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn exchange(request: &str) -> Exchange {
        Exchange { title: "t".to_owned(), name: None, request: request.to_owned(), answer: String::new() }
    }

    #[test]
    fn a_request_has_a_line_headers_and_a_body() {
        let request = exchange("# why\nPUT /a?b=c\nAccept: x\n\na: 1\n\nb: 2").to_request(&BTreeMap::new()).unwrap();
        assert_eq!((request.method(), request.uri().query()), (&Method::PUT, Some("b=c")));
        assert_eq!(
            (&request.headers()["accept"], request.body().as_slice()),
            (&"x".parse().unwrap(), &b"a: 1\n\nb: 2"[..])
        );
    }

    #[test]
    fn values_of_earlier_answers_are_filled_in() {
        let bodies = BTreeMap::from([("made", json!({"metadata": {"uid": "u", "generation": 2}}))]);
        let text = "{{made.response.body.$.metadata.uid}} {{a: {}}} {{made.response.body.$.metadata.generation}}";
        assert_eq!(filled_in(text, &bodies).unwrap(), "u {{a: {}}} 2");
    }

    #[test]
    fn a_request_that_cannot_be_read_says_why() {
        let error = |text: &str| exchange(text).to_request(&BTreeMap::new()).unwrap_err();
        assert_eq!(error("# only a comment"), "no request line");
        assert_eq!(error("GET"), "`GET` is not `METHOD PATH`");
        assert_eq!(error("get /a"), "`get /a` does not start with a method");
        assert_eq!(error("GET a"), "`a` is not a path");
        assert_eq!(error("GET /a\nAccept"), "`Accept` is not `Header: value`");
        assert_eq!(error("GET /{{x.response.body.$.a}}"), "no answer before this one is called `x`");
    }
}
