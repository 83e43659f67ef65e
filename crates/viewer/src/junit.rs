use std::fmt::Write;

use coracle_journal::Events;

use crate::{Check, Summary};

/// A document with the suite of one run.
pub(crate) fn render(events: &Events) -> String {
    let mut report = JunitReport::default();
    report.add(events, None);
    report.document()
}

/// The test suites of several runs, as one JUnit document. It keeps texts only, and no events.
#[derive(Clone, Debug, Default)]
pub struct JunitReport {
    suites: String,
    tests: usize,
    failures: usize,
    skipped: usize,
    nanos: u64,
}

impl JunitReport {
    /// Adds the suite of a run, with a test case for each check. `suffix` distinguishes runs of one scenario, such as
    /// `seed 7`.
    pub fn add(&mut self, events: &Events, suffix: Option<&str>) {
        let summary = Summary::of(events);
        let name = match suffix {
            Some(suffix) => escaped(&format!("{} ({suffix})", summary.name)),
            None => escaped(&summary.name),
        };
        let failures = summary.checks.iter().filter(|check| !check.held).count();
        let (tests, skipped) = (summary.checks.len() + summary.skipped.len(), summary.skipped.len());
        let totals = totals(tests, failures, skipped, summary.nanos);
        let text = &mut self.suites;
        let _ = writeln!(text, "  <testsuite name=\"{name}\" {totals}>");
        properties(text, events);
        let beginning =
            events.entries.iter().find(|entry| Some(entry.id) == summary.begins).map_or(0, crate::summary::nanos);
        for check in &summary.checks {
            case(text, &name, check, beginning);
        }
        for step in &summary.skipped {
            let step = escaped(step);
            let _ = writeln!(
                text,
                "    <testcase classname=\"{name}\" name=\"{step}\">\n      <skipped/>\n    </testcase>"
            );
        }
        text.push_str("  </testsuite>\n");
        self.tests += tests;
        self.failures += failures;
        self.skipped += skipped;
        self.nanos += summary.nanos;
    }

    /// The document.
    pub fn document(&self) -> String {
        let totals = totals(self.tests, self.failures, self.skipped, self.nanos);
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {totals}>\n{}</testsuites>\n", self.suites)
    }
}

fn totals(tests: usize, failures: usize, skipped: usize, nanos: u64) -> String {
    format!("tests=\"{tests}\" failures=\"{failures}\" skipped=\"{skipped}\" time=\"{}\"", seconds(nanos))
}

fn properties(text: &mut String, events: &Events) {
    let header = &events.header;
    let seed = header.seed.map(|seed| seed.to_string());
    let properties = [
        ("version", Some(&header.version)),
        ("seed", seed.as_ref()),
        ("mode", header.mode.as_ref()),
        ("hash", header.hash.as_ref()),
        ("disturb", header.disturb.as_ref()),
        ("change", header.change.as_ref()),
    ];
    text.push_str("    <properties>\n");
    for (word, value) in properties.into_iter().filter_map(|(word, value)| Some((word, value?))) {
        let _ = writeln!(text, "      <property name=\"{word}\" value=\"{}\"/>", escaped(value));
    }
    text.push_str("    </properties>\n");
}

/// The time of a test case is the time of the run until the check was decided.
fn case(text: &mut String, suite: &str, check: &Check, beginning: u64) {
    let time = seconds(check.at.saturating_sub(beginning));
    let name = escaped(&check.name);
    let _ = write!(text, "    <testcase classname=\"{suite}\" name=\"{name}\" time=\"{time}\"");
    let Some(failure) = &check.failure else {
        match &check.vacuous {
            None => text.push_str("/>\n"),
            Some(why) => {
                let why = escaped(why);
                let _ = writeln!(text, ">\n      <system-out>vacuous: {why}</system-out>\n    </testcase>");
            }
        }
        return;
    };
    let kind = match (check.late, check.unmatched, &check.vacuous) {
        (true, _, _) => "not-in-time",
        (_, true, _) => "nothing-matched",
        (_, _, Some(_)) => "vacuous",
        (_, _, None) => "failed",
    };
    let (expected, found) = (escaped(&failure.expected), escaped(&failure.found));
    let _ = writeln!(text, ">\n      <failure type=\"{kind}\" message=\"expected {expected}, found {found}\">");
    let _ = write!(text, "expected {expected}\nfound {found}\nat revision {}", failure.revision);
    if let Some(line) = failure.line {
        let _ = write!(text, "\nline {line} of the scenario");
    }
    if let Some(who) = &failure.written_by {
        let _ = write!(text, "\nwritten by {}", escaped(who));
    }
    text.push_str("</failure>\n    </testcase>\n");
}

fn seconds(nanos: u64) -> String {
    format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

/// Escapes a text for XML; characters that XML cannot hold become the replacement character.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' => safe.push_str("&#10;"),
            '\t' => safe.push_str("&#9;"),
            '\r' => safe.push_str("&#13;"),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}
