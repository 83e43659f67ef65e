use std::fmt;

use crate::exchange::Exchange;

/// A file of requests and their answers: what stands before the first `###`, and one exchange for each.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Transcript {
    /// Comments about the file.
    pub(crate) preface: String,
    pub(crate) exchanges: Vec<Exchange>,
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.preface.is_empty() {
            write!(f, "{}\n\n", self.preface)?;
        }
        for (at, exchange) in self.exchanges.iter().enumerate() {
            write!(f, "{}{exchange}", if at == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl Transcript {
    /// Reads a file. An exchange starts at a line with `###`, its answer at the first line with `HTTP/1.1` after that.
    ///
    /// # Errors
    /// The line that is not understood, and why.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut preface = Vec::new();
        let mut sections: Vec<(usize, &str, Vec<&str>)> = Vec::new();
        let lines = text.split('\n').map(|line| line.trim_end_matches('\r'));
        for (at, line) in lines.enumerate() {
            match (line.strip_prefix("###"), sections.last_mut()) {
                (Some(title), _) => sections.push((at + 1, title.trim(), Vec::new())),
                (None, Some((_, _, lines))) => lines.push(line),
                (None, None) if line.is_empty() || line.starts_with('#') => preface.push(line),
                (None, None) => return Err(format!("line {}: `{line}` stands before the first `###`", at + 1)),
            }
        }
        let exchanges = sections
            .into_iter()
            .map(|(at, title, lines)| exchange(title, &lines).map_err(|error| format!("line {at}: {error}")));
        Ok(Self { preface: trimmed(&preface), exchanges: exchanges.collect::<Result<_, _>>()? })
    }
}

fn exchange(title: &str, lines: &[&str]) -> Result<Exchange, String> {
    if title.is_empty() {
        return Err("`###` has to be followed by a title".to_owned());
    }
    let answer_at = lines.iter().position(|line| line.starts_with("HTTP/1.1 ")).unwrap_or(lines.len());
    let (request, answer) = lines.split_at(answer_at);
    let name = request.iter().find_map(|line| line.strip_prefix("# @name "));
    let exchange = Exchange {
        title: title.to_owned(),
        name: name.map(|name| name.trim().to_owned()),
        request: trimmed(request),
        answer: trimmed(answer),
    };
    if exchange.request.is_empty() {
        return Err(format!("`{title}` has no request"));
    }
    Ok(exchange)
}

/// The lines without the empty ones around them.
fn trimmed(lines: &[&str]) -> String {
    let is_said = |line: &&str| !line.trim().is_empty();
    let first = lines.iter().position(is_said).unwrap_or(0);
    let after = lines.iter().rposition(is_said).map_or(0, |last| last + 1);
    lines.get(first..after).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "# About pods.\n\n### Least\n# @name least\nPOST /pods\n\na: 1\n\nHTTP/1.1 201 Created\n\nb: 2\n\n### Get\nGET /pods/a\n";

    #[test]
    fn a_file_is_read_and_written_as_it_was() {
        let transcript = Transcript::read(TEXT).unwrap();
        assert_eq!(transcript.to_string(), TEXT);
        let [least, get] = &transcript.exchanges[..] else { panic!("{transcript:?}") };
        assert_eq!((least.name.as_deref(), least.answer.as_str()), (Some("least"), "HTTP/1.1 201 Created\n\nb: 2"));
        assert_eq!((get.title.as_str(), get.request.as_str(), get.answer.as_str()), ("Get", "GET /pods/a", ""));
    }

    #[test]
    fn line_endings_do_not_matter() {
        assert_eq!(Transcript::read(&TEXT.replace('\n', "\r\n")).unwrap().to_string(), TEXT);
        assert_eq!(Transcript::read("### a\nGET /\r").unwrap().to_string(), "### a\nGET /\n");
    }

    #[test]
    fn a_file_that_cannot_be_read_says_where() {
        let error = |text: &str| Transcript::read(text).unwrap_err();
        assert_eq!(error("GET /pods"), "line 1: `GET /pods` stands before the first `###`");
        assert_eq!(error("# a\n###\nGET /pods"), "line 2: `###` has to be followed by a title");
        assert_eq!(error("### a\n\nHTTP/1.1 200 OK"), "line 1: `a` has no request");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_written_transcript_reads_the_same(
            lines in proptest::collection::vec(prop_oneof![
                Just("### title".to_owned()), Just("###".to_owned()), Just("# @name n".to_owned()),
                Just("GET /a".to_owned()), Just("A: b".to_owned()), Just(String::new()),
                Just("HTTP/1.1 200 OK".to_owned()), ".{0,12}",
            ], 0..20)
        ) {
            if let Ok(transcript) = Transcript::read(&lines.join("\n")) {
                let written = transcript.to_string();
                prop_assert_eq!(Transcript::read(&written).unwrap().to_string(), written);
            }
        }
    }
}
