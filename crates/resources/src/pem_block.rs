use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"\n-----END ";
const DASHES: &[u8] = b"-----";

/// A block of PEM text, found as Go finds it: other PEM readers also accept blocks that start within a line and do not
/// report headers. In Kubernetes: Go's `encoding/pem`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PemBlock {
    /// The type of the block, such as `CERTIFICATE`.
    pub(crate) label: String,
    /// Whether lines `Key: value` precede the content.
    pub(crate) has_headers: bool,
    /// The content.
    pub(crate) bytes: Vec<u8>,
}

impl PemBlock {
    /// The first well-formed block, and the text after it.
    pub(crate) fn first(text: &[u8]) -> Option<(Self, &[u8])> {
        let mut rest = text;
        loop {
            let end = find(rest, END)?;
            let after_end = &rest[end + END.len()..];
            if let Some(block) = Self::before(&rest[..end], after_end) {
                return Some((block, line(after_end).1));
            }
            rest = after_end;
        }
    }

    /// The block whose `END` line follows `head`; `tail` is the text behind `-----END `.
    fn before(head: &[u8], tail: &[u8]) -> Option<Self> {
        let begin = find_last(head, BEGIN).filter(|begin| *begin == 0 || head[begin - 1] == b'\n')?;
        let (label, mut content) = line(&head[begin + BEGIN.len()..]);
        let label = label.strip_suffix(DASHES)?;
        let mut has_headers = false;
        while !content.is_empty() {
            let (first, next) = line(content);
            if !first.contains(&b':') {
                break;
            }
            has_headers = true;
            content = next;
        }
        let closing = tail.strip_prefix(label)?.strip_prefix(DASHES)?;
        if !line(closing).0.is_empty() {
            return None;
        }
        let digits: Vec<u8> = content.iter().copied().filter(|byte| !b" \t\r\n".contains(byte)).collect();
        let bytes = STANDARD.decode(digits).ok()?;
        Some(Self { label: String::from_utf8_lossy(label).into_owned(), has_headers, bytes })
    }
}

/// The first line without the white space at its end, and the text after it.
fn line(text: &[u8]) -> (&[u8], &[u8]) {
    let (line, rest) = match text.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, &text[text.len()..]),
    };
    (line.trim_ascii_end(), rest)
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

fn find_last(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).rposition(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(mut text: &[u8]) -> Vec<String> {
        let mut labels = Vec::new();
        while let Some((block, rest)) = PemBlock::first(text) {
            labels.push(block.label);
            text = rest;
        }
        labels
    }

    #[test]
    fn blocks_are_found_where_go_finds_them() {
        let block = "-----BEGIN A-----\neHk=\n-----END A-----\n";
        for (text, expected) in [
            (block.to_owned(), vec!["A"]),
            (format!("{block}between\n{block}"), vec!["A", "A"]),
            (format!(" {block}"), vec![]),
            (block.replace('\n', "\r\n"), vec!["A"]),
            (block.replace("END A", "END B"), vec![]),
            (block.replace("eHk=", "e!k="), vec![]),
            (format!("-----BEGIN A-----\n{block}"), vec!["A"]),
            (block.replace("END A-----\n", "END A----- x\n"), vec![]),
            ("-----BEGIN A-----\n-----END A-----\n".to_owned(), vec!["A"]),
        ] {
            assert_eq!(labels(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn headers_are_reported() {
        let (block, _) = PemBlock::first(b"-----BEGIN A-----\nB: c\n\neHk=\n-----END A-----\n").unwrap();
        assert_eq!(block, PemBlock { label: "A".to_owned(), has_headers: true, bytes: b"xy".to_vec() });
    }

    proptest! {
        #[test]
        fn every_text_is_read_to_its_end(text in "(-----BEGIN |-----END |-----|A|\n|:| |eHk=){0,16}") {
            labels(text.as_bytes());
        }
    }
}
