use std::fmt::Write;

use http::{HeaderMap, StatusCode};
use serde_json::Value;

use crate::ordered::Ordered;

/// The headers that are not shown: those that every answer has, and what the body says itself.
/// That every answer names its flow is tested where answers are.
const NOT_SHOWN: [&str; 6] = [
    "audit-id",
    "cache-control",
    "content-length",
    "date",
    "x-kubernetes-pf-flowschema-uid",
    "x-kubernetes-pf-prioritylevel-uid",
];

/// How the answers of one replay are shown.
///
/// Uids and resource versions become symbols, so that they tell which are equal and which came later, and do not change
/// with what a server makes for itself before the first request: `<uid-1>` is the first uid that was seen, `<rv+2>` the
/// second revision after the first request.
#[derive(Debug)]
pub(crate) struct Pages {
    first_revision: i64,
    uids: Vec<String>,
}

impl Pages {
    /// `first_revision` is that of the store before the first request.
    pub(crate) fn new(first_revision: i64) -> Self {
        Self { first_revision, uids: Vec::new() }
    }

    /// An answer as a transcript shows it.
    ///
    /// # Errors
    /// If the body is not what its type says.
    pub(crate) fn page(&mut self, code: StatusCode, headers: &HeaderMap, body: &[u8]) -> Result<String, String> {
        let mut text = format!("HTTP/1.1 {code}\n");
        let mut is_json = false;
        for (name, value) in headers {
            let value = String::from_utf8_lossy(value.as_bytes());
            if name == "content-type" && value == "application/json" {
                is_json = true;
            } else if !NOT_SHOWN.contains(&name.as_str()) {
                let _ = writeln!(text, "{}: {}", capitalised(name.as_str()), self.without_uids(&value));
            }
        }
        let body = if is_json { self.documents(body)? } else { String::from_utf8_lossy(body).into_owned() };
        let text = format!("{text}\n{}", self.without_uids(&body));
        Ok(text.trim_end().to_owned())
    }

    /// One document after the other: a watch sends many.
    fn documents(&self, body: &[u8]) -> Result<String, String> {
        let documents = serde_json::Deserializer::from_slice(body).into_iter::<Ordered>();
        let shown = documents.map(|document| {
            let mut document = document.map_err(|error| format!("the body is not JSON: {error}"))?;
            self.relate_revisions(&mut document);
            Ok(document.to_yaml())
        });
        Ok(shown.collect::<Result<Vec<_>, String>>()?.join("\n---\n"))
    }

    fn relate_revisions(&self, value: &mut Ordered) {
        match value {
            Ordered::List(items) => items.iter_mut().for_each(|item| self.relate_revisions(item)),
            Ordered::Map(members) => {
                for (name, value) in members {
                    match value {
                        Ordered::Leaf(Value::String(text)) if name == "resourceVersion" => {
                            if let Ok(revision) = text.parse::<i64>() {
                                *value = Ordered::Symbol(format!("<rv{:+}>", revision - self.first_revision));
                            }
                        }
                        Ordered::Leaf(Value::String(text)) => *text = self.with_revisions_related(text),
                        value => self.relate_revisions(value),
                    }
                }
            }
            Ordered::Leaf(_) | Ordered::Symbol(_) => {}
        }
    }

    /// A sentence that tells which revision there is.
    fn with_revisions_related(&self, sentence: &str) -> String {
        const BEFORE: [&str; 3] =
            ["the ResourceVersion in record (", "ResourceVersion in object meta: ", ", current: "];
        let told =
            BEFORE.iter().find_map(|before| sentence.split_once(before).map(|(start, rest)| (start, *before, rest)));
        let Some((start, before, rest)) = told else { return sentence.to_owned() };
        let digits = rest.len() - rest.trim_start_matches(|sign: char| sign.is_ascii_digit()).len();
        let (revision, rest) = rest.split_at(digits);
        match revision.parse::<i64>() {
            Ok(revision) => format!("{start}{before}<rv{:+}>{rest}", revision - self.first_revision),
            Err(_) => sentence.to_owned(),
        }
    }

    fn without_uids(&mut self, text: &str) -> String {
        let mut shown = String::new();
        let mut rest = text;
        while let Some(at) = (0..rest.len()).find(|at| rest.get(*at..at + 36).is_some_and(is_uid)) {
            let uid = &rest[at..at + 36];
            let number = self.uids.iter().position(|seen| seen == uid).unwrap_or_else(|| {
                self.uids.push(uid.to_owned());
                self.uids.len() - 1
            });
            let (before, after) = (&rest[..at], &rest[at + 36..]);
            // A symbol stands without the quotes that a text with a digit in front needs.
            let bare = before.strip_suffix('\'').zip(after.strip_prefix('\''));
            let (before, after) = bare.unwrap_or((before, after));
            let _ = write!(shown, "{before}<uid-{}>", number + 1);
            rest = after;
        }
        shown.push_str(rest);
        shown
    }
}

/// `9f0c5a3e-1c3b-4f0a-8d5e-0123456789ab`: the fourth version of them.
fn is_uid(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, sign)| match at {
        8 | 13 | 18 | 23 => sign == b'-',
        14 => sign == b'4',
        _ => sign.is_ascii_digit() || (b'a'..=b'f').contains(&sign),
    })
}

fn capitalised(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        format!("{}{rest}", first.to_uppercase())
    });
    words.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(pages: &mut Pages, body: &str) -> String {
        let headers = HeaderMap::from_iter([
            (http::header::CONTENT_TYPE, "application/json".parse().unwrap()),
            (http::header::DATE, "today".parse().unwrap()),
            (http::header::WARNING, "299 - \"old\"".parse().unwrap()),
        ]);
        pages.page(StatusCode::OK, &headers, body.as_bytes()).unwrap()
    }

    #[test]
    fn uids_and_revisions_are_numbered_and_nothing_else() {
        let mut pages = Pages::new(100);
        let one = r#"{"uid": "9f0c5a3e-1c3b-4f0a-8d5e-0123456789ab", "resourceVersion": "102"}"#;
        assert_eq!(
            page(&mut pages, one),
            "HTTP/1.1 200 OK\nWarning: 299 - \"old\"\n\nuid: <uid-1>\nresourceVersion: <rv+2>"
        );
        let other =
            r#"{"message": "the ResourceVersion in record (99) is not that of af0c5a3e-1c3b-4f0a-8d5e-0123456789ab"}"#;
        let shown = page(&mut pages, other);
        assert!(shown.ends_with("message: the ResourceVersion in record (<rv-1>) is not that of <uid-2>"), "{shown}");
        assert!(page(&mut pages, one).contains("uid: <uid-1>\n"), "the same uid is the same symbol");
    }

    #[test]
    fn every_event_of_a_watch_is_a_document() {
        let shown = page(&mut Pages::new(0), "{\"type\": \"ADDED\"}\n{\"type\": \"DELETED\"}\n");
        assert!(shown.ends_with("type: ADDED\n---\ntype: DELETED"), "{shown}");
        let error = Pages::new(0)
            .page(
                StatusCode::OK,
                &HeaderMap::from_iter([(http::header::CONTENT_TYPE, "application/json".parse().unwrap())]),
                b"{",
            )
            .unwrap_err();
        assert!(error.starts_with("the body is not JSON: "), "{error}");
    }
}
