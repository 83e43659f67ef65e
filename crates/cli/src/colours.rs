use std::fmt::Write;

use anstyle::{AnsiColor, Style};

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const FAULT: Style = AnsiColor::Yellow.on_default();

/// What marks a fault in a line.
const FAULT_MARK: &str = "!!";

/// The words that begin a line, and their colours. The first that fits counts.
const WORDS: &[(&str, Style)] = &[
    ("PASS", GOOD),
    ("✓", GOOD),
    ("Right: ", GOOD),
    ("Repaired: ", GOOD),
    ("FAIL", BAD),
    ("✗", BAD),
    ("failed:", BAD),
    ("not in time:", BAD),
    ("nothing matched:", BAD),
    ("Not repaired yet: ", BAD),
    ("vacuous:", FAULT),
];

/// How strongly prose is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// As other text.
    Usual,
    /// A heading.
    Bold,
    /// What not everyone needs to read.
    Faint,
}

impl Weight {
    /// A line in this weight.
    pub(crate) fn on(self, line: &str) -> String {
        match self {
            Self::Usual => line.to_owned(),
            Self::Bold => painted(line, Style::new().bold()),
            Self::Faint => painted(line, Style::new().dimmed()),
        }
    }
}

/// The word that begins a line, if it has a colour.
pub(crate) fn coloured_word(line: &str) -> Option<ColouredWord> {
    let start = line.trim_start();
    let (word, style) = WORDS.iter().find(|(word, _)| start.starts_with(word))?;
    Some(ColouredWord { word, style: *style })
}

/// A word that begins a line, and its colour.
pub(crate) struct ColouredWord {
    word: &'static str,
    style: Style,
}

impl ColouredWord {
    /// The line with its first word in colour. `signs` writes the word as the line has it.
    pub(crate) fn on(&self, line: &str, signs: impl FnOnce(&str) -> String) -> String {
        let word = signs(self.word);
        let (indent, start) = line.split_at(line.len() - line.trim_start().len());
        start
            .strip_prefix(&word)
            .map_or_else(|| line.to_owned(), |rest| format!("{indent}{}{rest}", painted(&word, self.style)))
    }
}

/// A line with the mark of a fault in colour, if it has one.
pub(crate) fn with_coloured_fault(line: &str) -> String {
    let is_word = |at: &usize| (line[..*at].ends_with(' ') || *at == 0) && line[*at..].starts_with("!! ");
    match line.find(FAULT_MARK).filter(is_word) {
        Some(at) => format!("{}{}{}", &line[..at], painted(FAULT_MARK, FAULT), &line[at + FAULT_MARK.len()..]),
        None => line.to_owned(),
    }
}

/// The cells of a lane in colours: a fill has the colour of the sign before it.
pub(crate) fn coloured_cells(cells: &str) -> String {
    let (mut text, mut now) = (String::with_capacity(cells.len()), Style::new());
    for cell in cells.chars() {
        let style = match cell {
            'R' => GOOD,
            'B' | 'x' => BAD,
            '▒' | '░' => FAULT,
            '✕' => Style::new().dimmed(),
            '─' | '═' | '━' | '┄' | '╌' => now,
            _ => Style::new(),
        };
        if style != now {
            let _ = write!(text, "{now:#}{style}");
            now = style;
        }
        text.push(cell);
    }
    let _ = write!(text, "{now:#}");
    text
}

fn painted(text: &str, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coloured(line: &str) -> String {
        coloured_word(line).map_or_else(|| line.to_owned(), |word| word.on(line, str::to_owned))
    }

    #[test]
    fn the_word_that_begins_a_line_is_coloured_and_nothing_else() {
        assert_eq!(coloured(" PASS  a ✓"), " \x1b[32mPASS\x1b[0m  a ✓");
        assert_eq!(coloured("   ✗ a"), "   \x1b[31m✗\x1b[0m a");
        assert_eq!(coloured("a PASS"), "a PASS");
        let ascii = coloured_word("  ✓ a").unwrap().on("  + a", |_| "+".to_owned());
        assert_eq!(ascii, "  \x1b[32m+\x1b[0m a", "the line is in ASCII");
    }

    #[test]
    fn the_mark_of_a_fault_is_coloured_anywhere_in_a_line() {
        assert_eq!(with_coloured_fault("  #4  wire  !! late begins"), "  #4  wire  \x1b[33m!!\x1b[0m late begins");
        assert_eq!(with_coloured_fault("what!! a"), "what!! a");
    }

    #[test]
    fn a_heading_is_bold() {
        assert_eq!(Weight::Bold.on("a"), "\x1b[1ma\x1b[0m");
        assert_eq!(Weight::Usual.on("a"), "a");
    }

    #[test]
    fn a_lane_has_a_colour_while_a_state_lasts() {
        assert_eq!(coloured_cells("P─R━✕╌○"), "P─\x1b[32mR━\x1b[0m\x1b[2m✕╌\x1b[0m○");
        assert_eq!(coloured_cells(" ▒▒ ▒"), " \x1b[33m▒▒\x1b[0m \x1b[33m▒\x1b[0m");
        assert_eq!(coloured_cells("E┄B┄"), "E┄\x1b[31mB┄\x1b[0m");
    }
}
