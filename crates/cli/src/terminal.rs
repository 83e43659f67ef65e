use std::borrow::Cow;

/// A text without control characters for terminals: logs and reports may come from other users, and so do the names
/// in them.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let obeyed = |letter: char| letter.is_control() && letter != '\n';
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if obeyed(letter) {
            plain.extend(letter.escape_default());
        } else {
            plain.push(letter);
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_made_visible_and_other_text_stays() {
        assert_eq!(plain("ein ✓\nzwei"), "ein ✓\nzwei");
        assert_eq!(plain("a\u{1b}[31mred\u{7}\u{9b}\tb\r"), r"a\u{1b}[31mred\u{7}\u{9b}\tb\r");
    }
}
