//! Lines that fit into a number of columns.
//!
//! A line is columns of text with two or more spaces between them. Where it does not fit, it is broken between its
//! columns if possible, and otherwise between words.

use unicode_width::UnicodeWidthStr;

/// Screens with fewer columns have smaller indents and gaps.
const NARROW: usize = 60;
/// The least width in which a column is wrapped where it begins, and not on a line of its own.
const COLUMN_ROOM: usize = 40;
/// How far the continuation of a line is indented.
const HANG: usize = 4;
/// After these letters a word may be broken that is wider than a line.
const BREAKS: &str = "/:.,-_=";

/// Whether a screen has so few columns that tables need a form of their own.
pub(crate) fn is_narrow(columns: usize) -> bool {
    columns < NARROW
}

/// The lines of one line of text. Only an address with `://` may be wider than `columns`, because it must stay whole to
/// be opened.
pub(crate) fn fitted(line: &str, columns: usize) -> Vec<String> {
    let text = line.trim_start_matches(' ');
    let own = line.len() - text.len();
    let indent = if is_narrow(columns) { own.div_ceil(2) } else { own };
    if indent + text.width() <= columns {
        return vec![format!("{:indent$}{text}", "")];
    }
    let mut lines = Fitted { columns, hang: (indent + HANG).min(columns / 2), lines: vec![" ".repeat(indent)] };
    for (place, column) in columns_of(text).iter().enumerate() {
        match place {
            0 => lines.fill(column.text, lines.hang),
            _ => lines.add(column),
        }
    }
    lines.lines
}

/// A paragraph: `first` begins its first line, and `rest` spaces all others.
pub(crate) fn paragraph(first: &str, rest: usize, text: &str, columns: usize) -> Vec<String> {
    let rest = rest.min(columns / 2);
    let mut lines = Fitted { columns, hang: rest, lines: vec![first.to_owned()] };
    lines.fill(text, rest);
    lines.lines
}

/// The beginning of a line, as wide as the screen.
pub(crate) fn cut(line: &str, columns: usize) -> &str {
    let ends = line.char_indices().map(|(at, letter)| at + letter.len_utf8());
    &line[..ends.take_while(|end| line[..*end].width() <= columns).last().unwrap_or_default()]
}

/// A column of a line, with the number of spaces before it.
struct Column<'t> {
    gap: usize,
    text: &'t str,
}

fn columns_of(text: &str) -> Vec<Column<'_>> {
    let (mut columns, mut gap, mut rest) = (Vec::new(), 0, text.trim_end());
    while !rest.is_empty() {
        let end = rest.find("  ").unwrap_or(rest.len());
        let (text, after) = rest.split_at(end);
        columns.push(Column { gap, text });
        rest = after.trim_start_matches(' ');
        gap = after.len() - rest.len();
    }
    columns
}

struct Fitted {
    columns: usize,
    hang: usize,
    lines: Vec<String>,
}

impl Fitted {
    /// Adds a column to the last line if it fits there, or else below it.
    fn add(&mut self, column: &Column<'_>) {
        let is_first_line = self.lines.len() == 1 && !is_narrow(self.columns);
        let gap = if is_first_line { column.gap } else { column.gap.min(2) };
        let begins = self.last().width() + gap;
        let fits = begins + column.text.width() <= self.columns;
        if fits || begins + COLUMN_ROOM <= self.columns {
            self.last().push_str(&" ".repeat(gap));
            self.fill(column.text, begins);
        } else {
            self.lines.push(" ".repeat(self.hang));
            self.fill(column.text, self.hang);
        }
    }

    /// Adds words to the last line, and to lines below it, which begin with `indent` spaces.
    fn fill(&mut self, text: &str, indent: usize) {
        let mut is_first = true;
        for word in text.split_whitespace() {
            let space = usize::from(!is_first);
            let begins = self.last().width() + space;
            if begins + word.width() <= self.columns {
                self.last().push_str(&" ".repeat(space));
                self.last().push_str(word);
            } else {
                if !is_first {
                    self.lines.push(" ".repeat(indent));
                }
                self.word(word, indent);
            }
            is_first = false;
        }
    }

    /// Adds a word that does not fit into the last line, in parts if it is wider than a line.
    fn word(&mut self, mut word: &str, indent: usize) {
        while self.last().width() + word.width() > self.columns && !word.contains("://") {
            let room = self.columns.saturating_sub(self.last().width()).max(1);
            let (part, rest) = word.split_at(part(word, room));
            self.last().push_str(part);
            self.lines.push(" ".repeat(indent));
            word = rest;
        }
        self.last().push_str(word);
    }

    fn last(&mut self) -> &mut String {
        self.lines.last_mut().expect("there is a first line")
    }
}

/// The length of the first part of a word, which is not wider than `room`.
fn part(word: &str, room: usize) -> usize {
    let ends = word.char_indices().map(|(at, letter)| at + letter.len_utf8());
    let ends: Vec<usize> = ends.take_while(|end| word[..*end].width() <= room).collect();
    let is_break = |end: &&usize| word[..**end].ends_with(|letter| BREAKS.contains(letter));
    let at_break = ends.iter().rfind(is_break).filter(|end| word[..**end].width() * 2 > room);
    let first = word.chars().next().map_or(word.len(), char::len_utf8);
    at_break.or(ends.last()).copied().unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_broken_between_its_columns() {
        assert_eq!(
            fitted("       ✓ three pods run                    at rev 247, 820.0 ms after the start", 60),
            ["       ✓ three pods run", "           at rev 247, 820.0 ms after the start"]
        );
        assert_eq!(
            fitted(" pod: P pending  S scheduled  R running   sync: █ writes", 40),
            [" pod: P pending  S scheduled  R running", "     sync: █ writes"]
        );
    }

    #[test]
    fn a_wide_column_is_wrapped_where_it_begins_if_there_is_room() {
        let text = "one two three four five six seven eight nine ten";
        assert_eq!(
            fitted(&format!("  #412   replicaset   {text}"), 62),
            ["  #412   replicaset   one two three four five six seven eight", "                      nine ten"]
        );
    }

    #[test]
    fn on_a_narrow_screen_indents_and_gaps_shrink() {
        assert_eq!(fitted("       ✓ three pods run", 40), ["    ✓ three pods run"]);
        assert_eq!(
            fitted(" PASS  delete-a-pod            1.636 s virtual   451.0 ms wall   seed 1", 40),
            [" PASS  delete-a-pod  1.636 s virtual", "     451.0 ms wall  seed 1"]
        );
    }

    #[test]
    fn a_word_wider_than_a_line_is_broken_after_a_sign_and_an_address_is_not() {
        assert_eq!(
            fitted("system:serviceaccount:kube-system:replicaset-controller asks", 40),
            ["system:serviceaccount:kube-system:", "    replicaset-controller asks"]
        );
        let address = format!("https://127.0.0.1:40000/{}", "a".repeat(40));
        assert_eq!(fitted(&format!("page {address}"), 40), ["page".to_owned(), format!("    {address}")]);
    }

    #[test]
    fn letters_of_two_columns_count_twice() {
        assert_eq!(fitted(&"日本 ".repeat(10), 40), [["日本"; 8].join(" "), "    日本 日本".to_owned()]);
    }

    #[test]
    fn a_wide_word_that_begins_a_column_is_broken_there() {
        assert_eq!(
            fitted(&format!("#3484   apiserver   system:serviceaccount:{}", "a".repeat(30)), 62),
            ["#3484   apiserver   system:serviceaccount:".to_owned(), format!("{:20}{}", "", "a".repeat(30))]
        );
    }

    #[test]
    fn a_cut_line_is_as_wide_as_the_screen() {
        assert_eq!(cut("日本日本", 5), "日本");
        assert_eq!(cut("ab", 5), "ab");
    }

    #[test]
    fn a_paragraph_has_a_first_line_of_its_own() {
        assert_eq!(paragraph("  1  ", 5, "one two three", 12), ["  1  one two", "     three"]);
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_screen_and_no_letter_is_lost(text in "[a-z/ ✓日]{0,300}", columns in 40..200_usize) {
            for lines in [fitted(&text, columns), paragraph("  1  ", 5, &text, columns)] {
                prop_assert!(lines.iter().all(|line| line.width() <= columns), "{lines:?}");
                let letters = |text: &str| text.replace([' ', '1'], "");
                prop_assert_eq!(letters(&lines.concat()), letters(&text));
            }
        }
    }
}
