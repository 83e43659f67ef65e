use std::fmt::Write;

use coracle_journal::Events;

use crate::{Counts, Outcome, Summary};

/// The summary as Markdown for a pull request.
pub(crate) fn render(events: &Events) -> String {
    let summary = Summary::of(events);
    let mark = match summary.outcome {
        Outcome::Passed => "✓ ",
        Outcome::Failed | Outcome::NotInTime | Outcome::NothingMatched => "✗ ",
        Outcome::Unchecked => "",
    };
    let mut text = format!("### {} {mark}{}\n\n", plain(&summary.name), summary.outcome.words());
    if let Some(failure) = &summary.failure {
        let line = failure.line.map(|line| format!(", line {line}")).unwrap_or_default();
        let _ = writeln!(text, "**{}** at revision {}{line}\n", plain(&failure.what), failure.revision);
        let _ = writeln!(text, "- expected: {}\n- found: {}", plain(&failure.expected), plain(&failure.found));
        if let Some(who) = &failure.written_by {
            let _ = writeln!(text, "- written by: {}", plain(who));
        }
        text.push('\n');
    }
    text.push_str("| | check | where |\n|---|---|---|\n");
    for check in &summary.checks {
        let (mark, place) = match (check.held, check.throughout) {
            (true, true) => ('✓', format!("at every revision up to {}", check.revision)),
            (true, false) => ('✓', format!("at revision {}", check.revision)),
            (false, _) => ('✗', format!("broken at revision {}", check.revision)),
        };
        let vacuous = check.vacuous.as_ref().map(|why| format!("; vacuous: {}", plain(why))).unwrap_or_default();
        let _ = writeln!(text, "| {mark} | {} | {place}{vacuous} |", plain(&check.name));
    }
    for step in &summary.skipped {
        let _ = writeln!(text, "| · | {} | not reached |", plain(step));
    }
    let Counts { revisions, syncs, merged, retried, relists } = summary.counts;
    let seconds = summary.nanos as f64 / 1e9;
    let _ = writeln!(
        text,
        "\n{revisions} revisions, {syncs} syncs ({merged} merged, {retried} retried), {relists} relists, {seconds:.3} s\n"
    );
    let header = &events.header;
    let seed = header.seed.map(|seed| format!(", seed {seed}")).unwrap_or_default();
    let mode = header.mode.as_ref().map(|mode| format!(", {mode}")).unwrap_or_default();
    let hash = header.hash.as_ref().map(|hash| format!(", `{}`", plain(hash))).unwrap_or_default();
    let disturb = header.disturb.as_ref().map(|how| format!(", disturbed: {}", plain(how))).unwrap_or_default();
    let change = header.change.as_ref().map(|how| format!(", changed: {}", plain(how))).unwrap_or_default();
    let _ = writeln!(text, "Coracle {}{seed}{mode}{disturb}{change}{hash}", plain(&header.version));
    text
}

/// Escapes a text for Markdown and HTML, on one line.
fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' | '\t' => safe.push(' '),
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            // An at sign would notify the user of that name.
            '@' => safe.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                safe.push('\\');
                safe.push(character);
            }
            other => safe.push(other),
        }
    }
    safe
}
