use std::borrow::Cow;

use memchr::memchr2;

/// The text is not the JSON of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the JSON is invalid at byte {at}")]
pub struct InvalidJson {
    /// The position in the text.
    pub at: usize,
}

type Read<T> = Result<T, InvalidJson>;

/// Reads JSON that was checked before, piece by piece and without a tree.
///
/// It finds where values begin and end, and does not look for other mistakes in them.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// The error of a mistake at this place.
    pub(super) fn here(&self) -> InvalidJson {
        InvalidJson { at: self.at }
    }

    fn invalid<T>(&self) -> Read<T> {
        Err(self.here())
    }

    /// The next byte that is not white space.
    pub(super) fn peek(&mut self) -> Read<u8> {
        while self.at < self.text.len() {
            let byte = self.text[self.at];
            // Values of this server have no white space.
            if byte > b' ' || !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Ok(byte);
            }
            self.at += 1;
        }
        self.invalid()
    }

    /// Whether only white space is left.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.peek().is_err()
    }

    fn expect(&mut self, byte: u8) -> Read<()> {
        if self.peek()? != byte {
            return self.invalid();
        }
        self.at += 1;
        Ok(())
    }

    /// Enters an object or a list, which begins with `open`.
    pub(super) fn enter(&mut self, open: u8) -> Read<()> {
        self.expect(open)
    }

    /// Moves to the next member of an object or element of a list, which ends with `close`; false at the end.
    pub(super) fn next(&mut self, close: u8, is_first: &mut bool) -> Read<bool> {
        let byte = self.peek()?;
        if byte == close {
            self.at += 1;
            return Ok(false);
        }
        if !std::mem::take(is_first) {
            self.expect(b',')?;
        }
        Ok(true)
    }

    /// The name of a member, and moves to its value.
    pub(super) fn name(&mut self) -> Read<Cow<'a, [u8]>> {
        let name = self.string()?;
        self.expect(b':')?;
        Ok(name)
    }

    /// A string; borrowed unless it has escapes.
    pub(super) fn string(&mut self) -> Read<Cow<'a, [u8]>> {
        self.expect(b'"')?;
        let start = self.at;
        if !self.skip_string()? {
            return Ok(Cow::Borrowed(&self.text[start..self.at - 1]));
        }
        match serde_json::from_slice::<String>(&self.text[start - 1..self.at]) {
            Ok(text) => Ok(Cow::Owned(text.into_bytes())),
            Err(_) => self.invalid(),
        }
    }

    /// The rest of a string, after its opening quote; returns whether it has escapes.
    fn skip_string(&mut self) -> Read<bool> {
        let mut has_escapes = false;
        while let Some(found) = self.text.get(self.at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
            self.at += found + 1;
            if self.text[self.at - 1] == b'"' {
                return Ok(has_escapes);
            }
            has_escapes = true;
            // The escaped byte is not the end of the string.
            self.at += 1;
        }
        self.invalid()
    }

    /// Skips a value of any type, and returns its text.
    pub(super) fn value(&mut self) -> Read<&'a [u8]> {
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'"' => {
                self.at += 1;
                self.skip_string()?;
            }
            b'{' | b'[' => self.skip_nested()?,
            _ => {
                let rest = &self.text[start..];
                let is_scalar = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
                let length = rest.iter().position(|byte| !is_scalar(byte)).unwrap_or(rest.len());
                if length == 0 {
                    return self.invalid();
                }
                self.at += length;
            }
        }
        Ok(&self.text[start..self.at])
    }

    /// An object or a list. Not recursive, because the value may be deep.
    fn skip_nested(&mut self) -> Read<()> {
        let mut depth = 0_usize;
        while let Some(byte) = self.text.get(self.at) {
            self.at += 1;
            match byte {
                b'"' => {
                    self.skip_string()?;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
        self.invalid()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    proptest! {
        #[test]
        fn a_value_is_skipped_whole_and_a_string_is_read(text in "\\PC*", tail in "[ ,\\]\\}a]{0,20}", number in any::<f64>()) {
            let value = json!({"s": text, "n": number, "l": [null, true, {}], &text: "\\\"]"});
            let (value, mut written) = (value.to_string(), value.to_string());
            written.push_str(&tail);
            let mut cursor = Cursor::new(written.as_bytes());
            prop_assert_eq!(cursor.value().unwrap(), value.as_bytes());
            prop_assert_eq!(&written.as_bytes()[cursor.at..], tail.as_bytes());
            let string = Value::from(text.as_str()).to_string();
            prop_assert_eq!(&*Cursor::new(string.as_bytes()).string().unwrap(), text.as_bytes());
        }
    }
}
