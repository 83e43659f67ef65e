use std::fmt::Write;

use crate::columns::Columns;
use crate::divergence::{Difference, RunPair};
use crate::find::at;
use crate::why::why;

/// Texts longer than this are shortened.
const LONGEST: usize = 48;
/// How many different fields are shown at most.
const MOST: usize = 16;

/// Describes where two runs diverge and how they differ from there on.
pub fn differ(both: &RunPair<'_>) -> String {
    where_they_part(both) + &how_they_differ(both, usize::MAX)
}

/// Describes where two runs diverge, with the entry of each run.
pub fn where_they_part(both: &RunPair<'_>) -> String {
    let RunPair { one, other, called, divergence } = both;
    let called = *called;
    let mut text = String::new();
    let width = called[0].chars().count().max(called[1].chars().count());
    if !divergence.headers.is_empty() {
        let _ = writeln!(text, "of the runs themselves");
        text.push_str(&table(&divergence.headers, called));
        text.push('\n');
    }
    let Some(parted) = &divergence.first else {
        let _ = writeln!(text, "the same: {} events, byte for byte", divergence.same);
        return text;
    };
    let last = divergence.same.checked_sub(1).and_then(|last| one.entries.get(last));
    let _ = match last {
        Some(last) => writeln!(text, "the same up to #{}: {} events, byte for byte", last.id.0, divergence.same),
        None => writeln!(text, "the first event differs"),
    };
    for (events, id, called) in [(one, parted.one, called[0]), (other, parted.other, called[1])] {
        let there = id.and_then(|id| at(&events.entries, id));
        let said =
            there.map_or_else(|| "ends here".to_owned(), |entry| Columns::Aligned.entry(entry).trim_end().to_owned());
        let _ = writeln!(text, "  {called:<width$} {said}");
    }
    text
}

/// Describes how two runs differ from their divergence on: the fields of the first different entries, why each of these
/// entries exists, and what was done a different number of times. Shows this many links at either end of a chain of
/// causes. Empty if the runs are equal.
pub fn how_they_differ(both: &RunPair<'_>, links: usize) -> String {
    let RunPair { one, other, called, divergence } = both;
    let (called, mut text) = (*called, String::new());
    let Some(parted) = &divergence.first else { return text };
    if !parted.differences.is_empty() {
        let _ = writeln!(text, "\nwhat differs there");
        text.push_str(&table(&parted.differences, called));
    }
    for (events, id, called) in [(one, parted.one, called[0]), (other, parted.other, called[1])] {
        if let Some(id) = id {
            let _ = writeln!(text, "\nwhy, {called}");
            text.push_str(&folded(
                &why(&events.entries, &format!("#{}", id.0), Columns::Aligned).unwrap_or_default(),
                links,
            ));
        }
    }
    if !divergence.counts.is_empty() {
        let [first, second] = called;
        let (one, other) = (first.chars().count().max(6), second.chars().count().max(6));
        let widest = divergence.counts.iter().map(|count| cut(&count.actor).chars().count()).max().unwrap_or(0);
        let head = widest + 12;
        let _ = writeln!(text, "\n{:<head$} {first:>one$} {second:>other$}", "from there on");
        for count in &divergence.counts {
            let who = cut(&count.actor);
            let (what, first, second) = (count.what.word(), count.one, count.other);
            let _ = writeln!(text, "  {what:<9} {who:<widest$} {first:>one$} {second:>other$}");
        }
    }
    text
}

/// The first and the last lines of a text, this many of each, with the number of lines between them.
fn folded(text: &str, ends: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let between = lines.len().saturating_sub(ends.saturating_mul(2));
    if between < 2 {
        return text.to_owned();
    }
    let (first, last) = (&lines[..ends], &lines[lines.len() - ends..]);
    let shown = first.iter().map(|line| format!("{line}\n"));
    let folded = [format!("         … {between} more between …\n")];
    shown.chain(folded).chain(last.iter().map(|line| format!("{line}\n"))).collect()
}

fn table(differences: &[Difference], called: [&str; 2]) -> String {
    let said = |value: &Option<String>| value.as_deref().map_or_else(|| "—".to_owned(), cut);
    let shown = &differences[..differences.len().min(MOST)];
    let rows: Vec<[String; 3]> = shown.iter().map(|one| [cut(&one.field), said(&one.one), said(&one.other)]).collect();
    let head = [String::new(), called[0].to_owned(), called[1].to_owned()];
    let widest = |column: usize| rows.iter().chain([&head]).map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (widest(0), widest(1));
    let mut text = String::new();
    for [field, one, other] in [&head].into_iter().chain(&rows) {
        let _ = writeln!(text, "  {field:<first$}  {one:<second$}  {other}");
    }
    if differences.len() > MOST {
        let _ = writeln!(text, "  and {} more", differences.len() - MOST);
    }
    text
}

/// A text without line breaks, shortened in its middle if it is long.
fn cut(text: &str) -> String {
    let letters: Vec<char> = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    if letters.len() <= LONGEST {
        return letters.into_iter().collect();
    }
    let half = LONGEST / 2;
    letters[..half].iter().chain(['…'].iter()).chain(&letters[letters.len() - half + 1..]).collect()
}
