use crate::source::Issues;

use super::token::{Sort, Token};

/// Operators and punctuation, the longer ones first.
const SIGNS: [&str; 25] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":", "+", "*",
    "/", "%", "\0",
];
const WORDS: [&str; 4] = ["in", "true", "false", "null"];

/// The tokens of a text, with one for its end. Invalid characters are reported and skipped, as in ANTLR.
pub(crate) fn tokens<'t>(text: &'t str, issues: &mut Issues<'_>) -> Vec<Token<'t>> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        if bytes[at].is_ascii_whitespace() || bytes[at] == b'\x0c' {
            at += 1;
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if let Some((sort, length)) = token(rest) {
            tokens.push(Token { sort, text: &rest[..length], at });
            at += length;
        } else {
            let length = unknown(rest);
            let quoted = rest[..length].replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t");
            issues.add(at, format!("Syntax error: token recognition error at: '{quoted}'"));
            at += length;
        }
    }
    tokens.push(Token { sort: Sort::End, text: "", at: text.len() });
    tokens
}

/// The longest token at the start of a text.
fn token(rest: &str) -> Option<(Sort, usize)> {
    let first = rest.as_bytes()[0];
    if let Some(found) = quoted(rest) {
        return Some(found);
    }
    if first.is_ascii_digit() || (first == b'.' && rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit)) {
        return Some(number(rest));
    }
    if first.is_ascii_alphabetic() || first == b'_' {
        let length = run(rest, 0, |sign| sign.is_ascii_alphanumeric() || sign == b'_');
        let sort = if WORDS.contains(&&rest[..length]) { Sort::Sign } else { Sort::Identifier };
        return Some((sort, length));
    }
    if first == b'`' {
        let inner = run(rest, 1, |sign| sign.is_ascii_alphanumeric() || b"_.-/ ".contains(&sign));
        let is_closed = inner > 1 && rest.as_bytes().get(inner) == Some(&b'`');
        return is_closed.then_some((Sort::EscapedIdentifier, inner + 1));
    }
    SIGNS.iter().find(|sign| rest.starts_with(**sign) && **sign != "\0").map(|sign| (Sort::Sign, sign.len()))
}

/// The end of a run of bytes from `from` on.
fn run(rest: &str, from: usize, belongs: impl Fn(u8) -> bool) -> usize {
    rest.bytes().skip(from).position(|sign| !belongs(sign)).map_or(rest.len(), |length| from + length)
}

fn number(rest: &str) -> (Sort, usize) {
    let bytes = rest.as_bytes();
    let is_unsigned = |at: usize| matches!(bytes.get(at), Some(b'u' | b'U'));
    let hexadecimal = if rest.starts_with("0x") { run(rest, 2, |sign| sign.is_ascii_hexdigit()) } else { 2 };
    if hexadecimal > 2 {
        return if is_unsigned(hexadecimal) { (Sort::Uint, hexadecimal + 1) } else { (Sort::Int, hexadecimal) };
    }
    let digits = run(rest, 0, |sign| sign.is_ascii_digit());
    let mut end = digits;
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = run(rest, end + 1, |sign| sign.is_ascii_digit());
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = run(rest, end + 1 + sign, |sign| sign.is_ascii_digit());
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    match end {
        end if end > digits => (Sort::Double, end),
        _ if is_unsigned(digits) => (Sort::Uint, digits + 1),
        _ => (Sort::Int, digits),
    }
}

/// A string or bytes literal, with its prefix.
fn quoted(rest: &str) -> Option<(Sort, usize)> {
    let bytes = rest.as_bytes();
    let mut at = 0;
    let sort = if matches!(bytes[0], b'b' | b'B') { Sort::Bytes } else { Sort::String };
    at += usize::from(sort == Sort::Bytes);
    let is_raw = matches!(bytes.get(at), Some(b'r' | b'R'));
    at += usize::from(is_raw);
    let quote = *bytes.get(at).filter(|sign| matches!(sign, b'\'' | b'"'))?;
    let is_triple = bytes.get(at + 1) == Some(&quote) && bytes.get(at + 2) == Some(&quote);
    let triple = if is_triple { closing(bytes, at + 3, quote, 3, is_raw) } else { Err(0) };
    triple.or_else(|_| closing(bytes, at + 1, quote, 1, is_raw)).ok().map(|end| (sort, end))
}

/// The end of a quoted text after `at`; `Err` is the position of the error.
fn closing(bytes: &[u8], mut at: usize, quote: u8, quotes: usize, is_raw: bool) -> Result<usize, usize> {
    while at < bytes.len() {
        if bytes[at..].len() >= quotes && bytes[at..at + quotes].iter().all(|sign| *sign == quote) {
            return Ok(at + quotes);
        }
        match bytes[at] {
            b'\\' if !is_raw => at += 1 + escape(&bytes[at + 1..]).map_err(|length| at + 1 + length)?,
            b'\n' | b'\r' if quotes == 1 => return Err(at),
            _ => at += 1,
        }
    }
    Err(at)
}

/// The length of an escape sequence after its backslash; `Err` is the length of its valid part.
fn escape(bytes: &[u8]) -> Result<usize, usize> {
    let digits = |count: usize, fits: fn(&u8) -> bool| {
        let found = bytes[1..].iter().take(count).take_while(|sign| fits(sign)).count();
        if found == count { Ok(1 + count) } else { Err(1 + found) }
    };
    match bytes.first().ok_or(0_usize)? {
        b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`' => Ok(1),
        b'x' | b'X' => digits(2, u8::is_ascii_hexdigit),
        b'u' => digits(4, u8::is_ascii_hexdigit),
        b'U' => digits(8, u8::is_ascii_hexdigit),
        b'0'..=b'3' => digits(2, |sign| (b'0'..=b'7').contains(sign)),
        _ => Err(0),
    }
}

/// How many characters to skip because no token starts there: up to where the longest candidate failed.
fn unknown(rest: &str) -> usize {
    let mut signs = rest.char_indices();
    let first = signs.next().map_or(' ', |(_, sign)| sign);
    let quote = rest.find(['\'', '"']).filter(|at| rest[..*at].chars().all(|sign| "rRbB".contains(sign)));
    if let Some(at) = quote {
        let is_raw = rest[..at].contains(['r', 'R']);
        let failed = closing(rest.as_bytes(), at + 1, rest.as_bytes()[at], 1, is_raw).err().unwrap_or(rest.len());
        return rest[failed..].chars().next().map_or(rest.len(), |sign| failed + sign.len_utf8());
    }
    match first {
        '=' | '&' | '|' => signs.next().map_or(rest.len(), |(at, sign)| at + sign.len_utf8()),
        first => first.len_utf8(),
    }
}
