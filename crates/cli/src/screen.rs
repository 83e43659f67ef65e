//! The standard output as a screen: its width, and whether it shows colours and signs beyond ASCII.

use std::io::{IsTerminal, stdout};

use rustix::termios::tcgetwinsize;

/// The width of what is not a terminal.
const DEFAULT_WIDTH: usize = 110;
/// The least width that lines are wrapped to.
const LEAST_WIDTH: usize = 40;
/// The greatest width of a picture.
const MOST_WIDTH: usize = 200;

/// What the standard output can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Screen {
    /// The number of columns; `None` if it is not a terminal, whose lines are not wrapped.
    columns: Option<usize>,
    has_colour: bool,
    is_ascii: bool,
    can_redraw: bool,
}

/// The words that begin a line, and their colours. The first that fits counts.
const COLOURS: &[(&str, Colour)] = &[
    ("PASS", Colour::Good),
    ("✓", Colour::Good),
    ("FAIL", Colour::Bad),
    ("✗", Colour::Bad),
    ("failed:", Colour::Bad),
    ("not in time:", Colour::Bad),
    ("nothing matched:", Colour::Bad),
    ("!!", Colour::Fault),
    ("vacuous:", Colour::Fault),
];

/// What replaces a sign where the locale has no UTF-8.
const ASCII: &[(char, &str)] = &[
    ('✓', "+"),
    ('✗', "x"),
    ('✕', "X"),
    ('○', "o"),
    ('·', "."),
    ('│', "|"),
    ('▓', "%"),
    ('█', "#"),
    ('─', "-"),
    ('═', "="),
    ('━', "="),
    ('┄', "."),
    ('╌', "-"),
    ('…', "..."),
    ('→', "->"),
    ('–', "-"),
    ('’', "'"),
];

#[derive(Clone, Copy)]
enum Colour {
    Good,
    Bad,
    Fault,
}

impl Colour {
    /// The number of the foreground colour in SGR sequences.
    fn code(self) -> u8 {
        match self {
            Self::Good => 32,
            Self::Bad => 31,
            Self::Fault => 33,
        }
    }
}

impl Screen {
    /// The screen of this process.
    pub(crate) fn of_output() -> Self {
        let columns = stdout().is_terminal().then(|| {
            let size = tcgetwinsize(stdout()).map_or(0, |size| usize::from(size.ws_col));
            if size == 0 { DEFAULT_WIDTH } else { size }
        });
        Self::of(columns, |name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn of(columns: Option<usize>, variable: impl Fn(&str) -> Option<String>) -> Self {
        let is_dumb = variable("TERM").is_some_and(|term| term == "dumb");
        let has_colour = columns.is_some() && !is_dumb && variable("NO_COLOR").is_none();
        // In POSIX an absent locale is C. Containers have none, and their terminals show UTF-8, so only a named one counts.
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default().to_lowercase();
        let is_utf8 = locale.is_empty() || locale.contains("utf-8") || locale.contains("utf8");
        Self { columns, has_colour, is_ascii: columns.is_some() && !is_utf8, can_redraw: columns.is_some() && !is_dumb }
    }

    /// The same screen without colours and redrawing.
    pub(crate) fn plain(self) -> Self {
        Self { has_colour: false, can_redraw: false, ..self }
    }

    /// The width of pictures.
    pub(crate) fn width(self) -> usize {
        self.columns.unwrap_or(DEFAULT_WIDTH).clamp(LEAST_WIDTH, MOST_WIDTH)
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
            let lines = match self.columns {
                Some(columns) => wrapped(line, columns.max(LEAST_WIDTH)),
                None => vec![line.to_owned()],
            };
            shown.push_str(&self.coloured(&lines.join("\n")));
            shown.push_str(end);
        }
        if self.is_ascii { in_ascii(&shown) } else { shown }
    }

    /// The text of one line, with the colour of the word that begins it.
    fn coloured(self, line: &str) -> String {
        let start = line.trim_start();
        let word = COLOURS.iter().find(|(word, _)| self.has_colour && start.starts_with(word));
        let Some((word, colour)) = word else { return line.to_owned() };
        let indent = &line[..line.len() - start.len()];
        format!("{indent}\x1b[{}m{word}\x1b[0m{}", colour.code(), &start[word.len()..])
    }
}

/// The lines of a text that is wider than the screen: broken at spaces, and in a word only if it is wider than a line.
/// Lines after the first one are indented.
fn wrapped(line: &str, columns: usize) -> Vec<String> {
    let letters: Vec<char> = line.chars().collect();
    let own_indent = letters.iter().take_while(|letter| **letter == ' ').count();
    let indent = (own_indent + 4).min(columns / 2);
    let mut lines = Vec::new();
    let mut rest = &letters[..];
    let mut room = columns;
    while rest.len() > room {
        // The spaces that begin a line are no place for a break.
        let begins = rest.iter().take_while(|letter| **letter == ' ').count();
        let space = rest[..=room].iter().rposition(|letter| *letter == ' ').filter(|at| *at > begins);
        let (taken, next) = space.map_or((room, room), |at| (at, at + 1));
        let text: String = rest[..taken].iter().collect();
        lines.push(text.trim_end().to_owned());
        rest = &rest[next..];
        let blank = rest.iter().take_while(|letter| **letter == ' ').count();
        rest = &rest[blank..];
        room = columns - indent;
    }
    lines.push(rest.iter().collect());
    let rest = lines.iter().skip(1).map(|line| format!("{:indent$}{line}", ""));
    std::iter::once(lines[0].clone()).chain(rest.filter(|line| !line.trim().is_empty())).collect()
}

/// A text with the signs of pictures in ASCII. Other letters stay: they are part of names.
fn in_ascii(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for letter in text.chars() {
        match ASCII.iter().find(|(sign, _)| *sign == letter) {
            Some((_, instead)) => ascii.push_str(instead),
            None => ascii.push(letter),
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn screen(columns: Option<usize>, variables: &[(&str, &str)]) -> Screen {
        Screen::of(columns, |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_line_wider_than_the_terminal_is_broken_at_a_space_and_indented() {
        let terminal = screen(Some(40), &[("NO_COLOR", "1")]);
        assert_eq!(
            terminal.shown("   ✓ three pods run again, and none of them is the deleted one\n"),
            "   ✓ three pods run again, and none of\n       them is the deleted one\n"
        );
        let long = "a".repeat(90);
        assert_eq!(
            terminal.shown(&long),
            format!("{}\n    {}\n    {}", "a".repeat(40), "a".repeat(36), "a".repeat(14))
        );
    }

    #[test]
    fn output_that_is_no_terminal_is_unchanged() {
        let text = format!(" PASS {}✓\n", "a ".repeat(100));
        assert_eq!(screen(None, &[("LANG", "C")]).shown(&text), text);
    }

    #[test]
    fn colours_mark_the_word_that_begins_a_line_and_nothing_else() {
        assert_eq!(screen(Some(80), &[]).shown(" PASS  a ✓\n"), " \x1b[32mPASS\x1b[0m  a ✓\n");
        assert_eq!(screen(Some(80), &[]).shown("   ✗ a"), "   \x1b[31m✗\x1b[0m a");
        for variables in [[("NO_COLOR", "1")], [("TERM", "dumb")]] {
            assert_eq!(screen(Some(80), &variables).shown(" PASS  a ✓\n"), " PASS  a ✓\n");
        }
        assert!(!screen(Some(80), &[("TERM", "dumb")]).can_redraw());
    }

    #[test]
    fn a_locale_without_utf8_gets_ascii() {
        let text = "   ✓ web-1 P──R━━━✕╌╌○";
        for (name, locale, shown) in [
            ("LANG", "C", "   + web-1 P--R===X--o"),
            ("LC_ALL", "POSIX", "   + web-1 P--R===X--o"),
            ("LANG", "de_DE.UTF-8", text),
            ("LANG", "", text),
        ] {
            assert_eq!(screen(Some(80), &[("NO_COLOR", "1"), (name, locale)]).shown(text), shown, "{name}={locale}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal_and_no_word_is_lost(text in "[a-z ✓]{0,300}", columns in 40..200_usize) {
            let shown = screen(Some(columns), &[("NO_COLOR", "1")]).shown(&text);
            prop_assert!(shown.lines().all(|line| line.chars().count() <= columns), "{shown}");
            let letters = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&shown), letters(&text));
        }
    }
}
