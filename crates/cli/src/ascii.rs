/// What replaces a sign where the locale has no UTF-8.
const SIGNS: &[(char, &str)] = &[
    ('✓', "+"),
    ('✗', "x"),
    ('✕', "X"),
    ('○', "o"),
    ('·', "."),
    ('│', "|"),
    ('▒', "!"),
    ('░', ":"),
    ('▓', "%"),
    ('█', "#"),
    ('─', "-"),
    ('═', "~"),
    ('━', "="),
    ('┄', "."),
    ('╌', "."),
    ('…', "..."),
    ('→', "->"),
    ('–', "-"),
    ('’', "'"),
    ('“', "\""),
    ('”', "\""),
    ('×', "x"),
    ('≤', "<="),
    ('≥', ">="),
];
/// What replaces all other letters.
const OTHER: char = '?';

/// A text in ASCII.
pub(crate) fn in_ascii(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for letter in text.chars() {
        match SIGNS.iter().find(|(sign, _)| *sign == letter) {
            Some((_, instead)) => ascii.push_str(instead),
            None if letter.is_ascii() => ascii.push(letter),
            None => ascii.push(OTHER),
        }
    }
    ascii
}

/// A text in ASCII with as many letters: `~` is where names are cut.
pub(crate) fn in_ascii_cells(text: &str) -> String {
    in_ascii(&text.replace('…', "~"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_have_a_counterpart_in_ascii_and_other_letters_do_not() {
        assert_eq!(in_ascii("   ✓ web-1 P──R━━━✕╌╌○ é…"), "   + web-1 P--R===X..o ?...");
    }

    #[test]
    fn a_name_that_is_cut_keeps_its_width() {
        assert_eq!(in_ascii_cells(" pod web-…-abc12 R━"), " pod web-~-abc12 R=");
    }
}
