use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A string, borrowed or owned.
#[derive(Clone)]
pub(crate) enum Text<'v> {
    Borrowed(&'v str),
    Shared(Arc<str>),
}

impl Text<'_> {
    /// The number of characters.
    pub(crate) fn characters(&self) -> u64 {
        if self.is_ascii() { self.len() as u64 } else { self.chars().count() as u64 }
    }
}

impl<'v> Text<'v> {
    /// A substring.
    pub(crate) fn part(&self, from: usize, to: usize) -> Text<'v> {
        match self {
            Self::Borrowed(text) => Self::Borrowed(text.get(from..to).unwrap_or("")),
            Self::Shared(text) => Self::Shared(text.get(from..to).unwrap_or("").into()),
        }
    }

    /// The byte index of a character; the end of the text counts as a character.
    pub(crate) fn byte_of(&self, character: u64) -> Option<usize> {
        let at = usize::try_from(character).ok()?;
        if self.is_ascii() {
            return (at <= self.len()).then_some(at);
        }
        self.char_indices().map(|(byte, _)| byte).chain([self.len()]).nth(at)
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
