//! Parses JSON to [`Raw`], with the errors of Go's `encoding/json`.

use coracle_meta::json::{DEEPEST_READ, DEEPEST_WRITTEN};

use super::raw::Raw;

/// Parses one JSON value of a request, without trailing data. Go allows 10,000 levels.
pub(crate) fn parse(text: &[u8]) -> Result<Raw, String> {
    parse_up_to(DEEPEST_WRITTEN, text)
}

/// The same for a value of the store, which may have the maximum depth for reads.
pub(crate) fn parse_stored(text: &[u8]) -> Result<Raw, String> {
    parse_up_to(DEEPEST_READ, text)
}

fn parse_up_to(deepest: usize, text: &[u8]) -> Result<Raw, String> {
    let mut parser = Parser { text, at: 0, depth: 0, deepest };
    parser.skip_space();
    let value = parser.value()?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(value),
        Some(byte) => Err(invalid(byte, "after top-level value")),
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    deepest: usize,
}

type Parsed<T> = Result<T, String>;

/// Go's `quoteChar` and the message around it.
fn invalid(byte: u8, context: &str) -> String {
    let quoted = match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => r#"'"'"#.to_owned(),
        b'\n' => r"'\n'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        b'\\' => r"'\\'".to_owned(),
        byte if byte.is_ascii_graphic() || byte == b' ' => format!("'{}'", char::from(byte)),
        byte if byte < 0x80 => format!("'\\x{byte:02x}'"),
        byte => format!("'{}'", char::from(byte)),
    };
    format!("invalid character {quoted} {context}")
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Parsed<u8> {
        let byte = self.peek().ok_or("unexpected end of JSON input")?;
        self.at += 1;
        Ok(byte)
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Parsed<Raw> {
        match self.next()? {
            b'{' => self.nested(Self::object),
            b'[' => self.nested(Self::list),
            b'"' => self.string().map(Raw::String),
            b't' => self.literal("true", Raw::Bool(true)),
            b'f' => self.literal("false", Raw::Bool(false)),
            b'n' => self.literal("null", Raw::Null),
            b'-' | b'0'..=b'9' => {
                self.at -= 1;
                self.number()
            }
            byte => Err(invalid(byte, "looking for beginning of value")),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Parsed<Raw>) -> Parsed<Raw> {
        self.depth += 1;
        if self.depth > self.deepest {
            return Err(format!("exceeded max depth of {} levels", self.deepest));
        }
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Parsed<Raw> {
        let mut fields = Vec::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Raw::Object(fields));
        }
        loop {
            self.skip_space();
            match self.next()? {
                b'"' => {}
                byte => return Err(invalid(byte, "looking for beginning of object key string")),
            }
            let name = self.string()?;
            self.skip_space();
            match self.next()? {
                b':' => {}
                byte => return Err(invalid(byte, "after object key")),
            }
            self.skip_space();
            fields.push((name, self.value()?));
            self.skip_space();
            match self.next()? {
                b',' => {}
                b'}' => return Ok(Raw::Object(fields)),
                byte => return Err(invalid(byte, "after object key:value pair")),
            }
        }
    }

    fn list(&mut self) -> Parsed<Raw> {
        let mut elements = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Raw::List(elements));
        }
        loop {
            self.skip_space();
            elements.push(self.value()?);
            self.skip_space();
            match self.next()? {
                b',' => {}
                b']' => return Ok(Raw::List(elements)),
                byte => return Err(invalid(byte, "after array element")),
            }
        }
    }

    fn literal(&mut self, word: &str, value: Raw) -> Parsed<Raw> {
        for expected in word.bytes().skip(1) {
            let byte = self.next()?;
            if byte != expected {
                return Err(invalid(byte, &format!("in literal {word} (expecting '{}')", char::from(expected))));
            }
        }
        Ok(value)
    }

    fn digits(&mut self, context: &str) -> Parsed<()> {
        match self.next()? {
            b'0'..=b'9' => {}
            byte => return Err(invalid(byte, context)),
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Parsed<Raw> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits("in numeric literal")?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        Ok(Raw::Number(String::from_utf8_lossy(&self.text[start..self.at]).into_owned()))
    }

    /// The rest of a string, after its opening quote. Invalid UTF-8 becomes U+FFFD, as in Go.
    fn string(&mut self) -> Parsed<String> {
        let mut out = Vec::new();
        loop {
            match self.next()? {
                b'"' => break,
                b'\\' => self.escape(&mut out)?,
                byte if byte < 0x20 => return Err(invalid(byte, "in string literal")),
                byte => out.push(byte),
            }
        }
        Ok(match String::from_utf8(out) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Parsed<()> {
        let plain = match self.next()? {
            b'u' => {
                let character = self.unicode()?;
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            byte @ (b'"' | b'\\' | b'/') => byte,
            byte => return Err(invalid(byte, "in string escape code")),
        };
        out.push(plain);
        Ok(())
    }

    fn unicode(&mut self) -> Parsed<char> {
        let first = self.hex()?;
        if (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with(b"\\u") {
            let before = self.at;
            self.at += 2;
            let second = self.hex()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> Parsed<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let byte = self.next()?;
            let digit = char::from(byte).to_digit(16);
            code = code * 16 + digit.ok_or_else(|| invalid(byte, r"in \u hexadecimal character escape"))?;
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{DecodedForm, Pass};
    use proptest::prelude::*;

    #[test]
    fn errors_have_gos_words() {
        for (text, want) in [
            ("", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            ("{} {", "invalid character '{' after top-level value"),
            ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
            (r#"{"a" 1}"#, "invalid character '1' after object key"),
            (r#"{"a":1 "b"}"#, "invalid character '\"' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            ("trux", "invalid character 'x' in literal true (expecting 'e')"),
            ("1.x", "invalid character 'x' after decimal point in numeric literal"),
            ("01", "invalid character '1' after top-level value"),
            ("\"a\nb\"", r"invalid character '\n' in string literal"),
            (r#""\x""#, "invalid character 'x' in string escape code"),
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap_err(), want, "{text}");
        }
        assert_eq!(parse("[".repeat(100_000).as_bytes()).unwrap_err(), "exceeded max depth of 500 levels");
    }

    proptest! {
        #[test]
        fn json_written_by_serde_is_read_back(text in "\\PC*", number in any::<i64>(), float in any::<f64>()) {
            let value = serde_json::json!({"s": text, "n": number, "f": float, "l": [null, true, {}], &text: 1});
            let read = parse(&serde_json::to_vec(&value).unwrap()).unwrap();
            prop_assert_eq!(Pass::new(DecodedForm::Received).free(read), value);
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
