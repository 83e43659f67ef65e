//! A standard stream as a screen: its width, and whether it shows colours and signs beyond ASCII.

use std::io::{IsTerminal, stderr, stdout};
use std::os::fd::AsFd;

use coracle_viewer::Lane;
use rustix::termios::tcgetwinsize;

use crate::ascii::{in_ascii, in_ascii_cells};
use crate::colours::{Weight, coloured_cells, coloured_word, with_coloured_fault};
use crate::layout;
use crate::terminal::plain;

/// The width of what is not a terminal.
const DEFAULT_WIDTH: usize = 110;
/// The least width that lines are fitted to.
const LEAST_WIDTH: usize = 40;
/// The greatest width of a picture.
const MOST_WIDTH: usize = 200;
/// The greatest width of prose, because the eye loses the next line of a wider one.
const MOST_PROSE: usize = 100;

/// What a stream can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Screen {
    /// The number of columns to which lines are fitted; `None` if lines are printed as they are.
    columns: Option<usize>,
    has_colour: bool,
    is_ascii: bool,
    can_redraw: bool,
}

impl Screen {
    /// The standard output of this process.
    pub(crate) fn of_output() -> Self {
        Self::of_stream(stdout())
    }

    /// The standard error of this process.
    pub(crate) fn of_errors() -> Self {
        Self::of_stream(stderr())
    }

    fn of_stream(stream: impl IsTerminal + AsFd) -> Self {
        let terminal = stream.is_terminal().then(|| tcgetwinsize(stream).map_or(0, |size| usize::from(size.ws_col)));
        Self::of(terminal, |name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    /// The screen for these variables of the environment. `terminal` is the width of the terminal, 0 if it does not say
    /// it, and `None` if there is no terminal.
    ///
    /// Without a terminal, `COLUMNS` and `CLICOLOR_FORCE` give a width and colours, as for `less -R`.
    fn of(terminal: Option<usize>, variable: impl Fn(&str) -> Option<String>) -> Self {
        let is_dumb = variable("TERM").is_some_and(|term| term == "dumb");
        let is_forced = variable("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        let has_colour = variable("NO_COLOR").is_none() && (is_forced || (terminal.is_some() && !is_dumb));
        let wanted = || variable("COLUMNS").and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
        let columns = match terminal {
            Some(0) => Some(wanted().unwrap_or(DEFAULT_WIDTH)),
            Some(columns) => Some(columns),
            None => wanted(),
        };
        Self {
            columns: columns.map(|columns| columns.max(LEAST_WIDTH)),
            has_colour,
            is_ascii: columns.is_some() && !is_utf8(variable),
            can_redraw: terminal.is_some() && !is_dumb,
        }
    }

    /// The same screen without colours and redrawing.
    pub(crate) fn plain(self) -> Self {
        Self { has_colour: false, can_redraw: false, ..self }
    }

    /// The width of pictures.
    pub(crate) fn width(self) -> usize {
        self.columns.unwrap_or(DEFAULT_WIDTH).min(MOST_WIDTH)
    }

    /// Whether tables need the form without alignment.
    pub(crate) fn is_narrow(self) -> bool {
        layout::is_narrow(self.width())
    }

    /// Whether lines that are on it can be drawn again.
    pub(crate) fn can_redraw(self) -> bool {
        self.can_redraw
    }

    /// A text as the screen can show it. `text` has no control characters except the ends of lines.
    pub(crate) fn shown(self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
            let mut lines = match self.columns {
                Some(columns) => layout::fitted(&self.signs(line), columns),
                None => vec![line.to_owned()],
            };
            if self.has_colour {
                self.colour(line, &mut lines);
            }
            shown.push_str(&lines.join("\n"));
            shown.push_str(end);
        }
        shown
    }

    /// The beginning of a text, as one line of at most so many columns.
    pub(crate) fn one_line(self, text: &str, columns: usize) -> String {
        layout::cut(&self.signs(&plain(text)), columns).to_owned()
    }

    /// A lane of a picture that is as wide as the screen.
    pub(crate) fn lane(self, lane: &Lane) -> String {
        let signs = |text: &str| if self.is_ascii { in_ascii_cells(text) } else { text.to_owned() };
        let cells = if self.has_colour { coloured_cells(&lane.cells) } else { lane.cells.clone() };
        format!("{}{}", signs(&plain(&lane.name)), signs(&cells)).trim_end().to_owned()
    }

    /// Prose in lines that fit: `first` begins the first line, and `rest` spaces begin all others. It is broken even
    /// where there is no terminal.
    pub(crate) fn prose(self, weight: Weight, first: &str, rest: usize, text: &str) -> String {
        let columns = self.columns.unwrap_or(MOST_PROSE).min(MOST_PROSE);
        let indent = " ".repeat(rest);
        let firsts = std::iter::once(first).chain(std::iter::repeat(&*indent));
        let broken = firsts
            .zip(text.split('\n'))
            .flat_map(|(first, line)| layout::paragraph(&self.signs(first), rest, &self.signs(line), columns));
        let mut lines: Vec<String> = broken.collect();
        if self.has_colour && weight == Weight::Usual {
            self.colour(first, &mut lines);
        } else if self.has_colour {
            lines = lines.iter().map(|line| weight.on(line)).collect();
        }
        lines.join("\n")
    }

    fn signs(self, text: &str) -> String {
        if self.is_ascii { in_ascii(text) } else { text.to_owned() }
    }

    /// Colours the lines of `whole`.
    fn colour(self, whole: &str, lines: &mut [String]) {
        if let Some((word, first)) = coloured_word(whole).zip(lines.first_mut()) {
            *first = word.on(first, |word| self.signs(word));
        }
        lines.iter_mut().for_each(|line| *line = with_coloured_fault(line));
    }
}

/// In POSIX an absent locale is C. Containers have none, and their terminals show UTF-8, so only a named one counts.
fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default().to_lowercase();
    locale.is_empty() || locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(terminal: Option<usize>, variables: &[(&str, &str)]) -> Screen {
        Screen::of(terminal, |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_line_wider_than_the_terminal_is_broken_at_a_space_and_indented() {
        let terminal = screen(Some(60), &[("NO_COLOR", "1")]);
        assert_eq!(
            terminal.shown("   ✓ three pods run again, and none of them is the one that was deleted\n"),
            "   ✓ three pods run again, and none of them is the one that\n       was deleted\n"
        );
    }

    #[test]
    fn output_that_is_no_terminal_is_unchanged_unless_the_environment_asks_for_a_width_or_colours() {
        let text = format!(" PASS {}✓\n", "a ".repeat(100));
        assert_eq!(screen(None, &[("LANG", "C")]).shown(&text), text);
        assert!(screen(None, &[("COLUMNS", "80")]).shown(&text).lines().all(|line| line.len() <= 80));
        assert!(screen(None, &[("CLICOLOR_FORCE", "1")]).shown(&text).starts_with(" \x1b[32mPASS\x1b[0m a a"));
        for variables in [[("CLICOLOR_FORCE", "0"), ("A", "")], [("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]] {
            assert_eq!(screen(None, &variables).shown(&text), text);
        }
        assert!(!screen(None, &[("COLUMNS", "80"), ("CLICOLOR_FORCE", "1")]).can_redraw());
    }

    #[test]
    fn the_width_is_that_of_the_terminal_or_else_that_of_the_environment() {
        for (terminal, columns, width) in [
            (Some(80), "100", 80),
            (Some(0), "100", 100),
            (Some(0), "", DEFAULT_WIDTH),
            (None, "100", 100),
            (None, "many", DEFAULT_WIDTH),
            (Some(10), "", LEAST_WIDTH),
            (Some(500), "", MOST_WIDTH),
        ] {
            assert_eq!(screen(terminal, &[("COLUMNS", columns)]).width(), width, "{terminal:?} {columns}");
        }
    }

    #[test]
    fn colours_mark_the_word_that_begins_a_line_and_nothing_else() {
        assert_eq!(screen(Some(80), &[]).shown(" PASS  a ✓\n"), " \x1b[32mPASS\x1b[0m  a ✓\n");
        for variables in [[("NO_COLOR", "1")], [("TERM", "dumb")]] {
            assert_eq!(screen(Some(80), &variables).shown(" PASS  a ✓\n"), " PASS  a ✓\n");
        }
        assert!(!screen(Some(80), &[("TERM", "dumb")]).can_redraw());
    }

    #[test]
    fn a_locale_without_utf8_gets_ascii_that_fits_and_has_the_same_colours() {
        let text = "   ✓ web-1 P──R━━━✕╌╌○";
        for (name, locale, shown) in [
            ("LANG", "C", "   + web-1 P--R===X..o"),
            ("LC_ALL", "POSIX", "   + web-1 P--R===X..o"),
            ("LANG", "de_DE.UTF-8", text),
            ("LANG", "", text),
        ] {
            assert_eq!(screen(Some(80), &[("NO_COLOR", "1"), (name, locale)]).shown(text), shown, "{name}={locale}");
        }
        let ascii = screen(Some(40), &[("LANG", "C")]);
        assert_eq!(ascii.shown("✓ a"), "\x1b[32m+\x1b[0m a");
        assert_eq!(ascii.shown(&"→ ".repeat(20)), format!("{}\n    {}", ["->"; 13].join(" "), ["->"; 7].join(" ")));
    }

    #[test]
    fn prose_is_at_most_a_hundred_columns_wide() {
        for (terminal, width) in [(Some(60), 60), (Some(200), 100), (None, 100)] {
            let prose = screen(terminal, &[("NO_COLOR", "1")]).prose(Weight::Usual, "  1  ", 5, &"word ".repeat(60));
            let widest = prose.lines().map(str::len).max().unwrap();
            assert!(widest <= width && widest > width - 5, "{prose}");
            assert!(prose.starts_with("  1  word") && prose.lines().skip(1).all(|line| line.starts_with("     word")));
        }
    }
}
