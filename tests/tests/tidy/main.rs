//! The house style, counted. No count rises, and a change that lowers one writes the new count down.
//!
//! ```text
//! crates/*/src, docs -> source (tokens) -> words, names, shape, unused -> findings -> counts by rule and crate
//!                                                                          |
//!                                       counts.txt (checked in) <----------+ compared
//! ```
//!
//! Start at [`no_count_rises`]. `CORACLE_WRITE_COUNTS=1` writes `counts.txt`. Which crate may use which is in
//! `layering.rs`, circles between files are in `circles.rs`.

mod names;
mod shape;
mod source;
mod unused;
mod words;

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A place that a rule does not allow, and what to write there.
pub(crate) struct Finding {
    pub(crate) rule: &'static str,
    pub(crate) package: String,
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) what: String,
}

impl Finding {
    pub(crate) fn new(rule: &'static str, package: &str, path: &str, line: usize, what: String) -> Self {
        Self { rule, package: package.to_owned(), path: path.to_owned(), line, what }
    }
}

/// Findings by rule and crate.
type Counts = BTreeMap<String, usize>;

fn findings() -> Vec<Finding> {
    let sources = source::sources();
    assert!(sources.len() > 1_000, "the product's files were not found");
    let mut findings = Vec::new();
    for source in &sources {
        words::in_strings(source, &mut findings);
        words::in_comments(source, &mut findings);
        names::retired(source, &mut findings);
        shape::check(source, &mut findings);
    }
    words::in_documents(&mut findings);
    words::in_page(&mut findings);
    names::shared(&sources, &mut findings);
    unused::check(&sources, &mut findings);
    findings
}

fn key(finding: &Finding) -> String {
    format!("{}: {}", finding.rule, finding.package)
}

fn read(text: &str) -> Counts {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(key, count)| (key.to_owned(), count.parse().unwrap()))
        .collect()
}

#[test]
fn no_count_rises() {
    let file = coracle_tests::root().join("tests/tests/tidy/counts.txt");
    let findings = findings();
    let mut now = Counts::new();
    for finding in &findings {
        *now.entry(key(finding)).or_default() += 1;
    }
    if std::env::var_os("CORACLE_WRITE_COUNTS").is_some() {
        let mut text =
            "# Places that the rules of this folder do not allow yet, by rule and crate. Lower only.\n".to_owned();
        now.iter().for_each(|(key, count)| writeln!(text, "{key} {count}").unwrap());
        std::fs::write(&file, text).unwrap();
    }
    let before = read(&std::fs::read_to_string(&file).unwrap());
    let mut report = String::new();
    for (key_now, count) in &now {
        let allowed = before.get(key_now).copied().unwrap_or_default();
        if *count > allowed {
            writeln!(report, "{key_now}: {count}, and {allowed} are allowed:").unwrap();
            for finding in findings.iter().filter(|finding| key(finding) == *key_now) {
                writeln!(report, "  {}:{}: {}", finding.path, finding.line, finding.what).unwrap();
            }
        }
    }
    for (key, allowed) in &before {
        let count = now.get(key).copied().unwrap_or_default();
        if count < *allowed {
            writeln!(report, "{key}: {count}, and counts.txt still allows {allowed}: set CORACLE_WRITE_COUNTS=1")
                .unwrap();
        }
    }
    assert!(report.is_empty(), "\n{report}");
}
