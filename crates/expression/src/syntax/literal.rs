use super::token::{Sort, Token};

/// The string that a quoted token represents; `Err` explains why it is invalid.
pub(super) fn text(token: &Token<'_>) -> Result<String, &'static str> {
    let mut text = String::new();
    unescape(token, |piece| match piece {
        Piece::Plain(sign) => {
            text.push(sign);
            Ok(())
        }
        Piece::Code(code) => char::from_u32(code).map(|sign| text.push(sign)).ok_or("invalid unicode code point"),
    })?;
    Ok(text)
}

/// The bytes that a quoted token represents.
pub(super) fn bytes(token: &Token<'_>) -> Result<Vec<u8>, &'static str> {
    let mut bytes = Vec::new();
    unescape(token, |piece| match piece {
        Piece::Plain(sign) => {
            bytes.extend(sign.encode_utf8(&mut [0; 4]).bytes());
            Ok(())
        }
        Piece::Code(code) => {
            bytes.push(u8::try_from(code).map_err(|_| "unable to unescape string")?);
            Ok(())
        }
    })?;
    Ok(bytes)
}

enum Piece {
    Plain(char),
    Code(u32),
}

fn unescape(token: &Token<'_>, mut add: impl FnMut(Piece) -> Result<(), &'static str>) -> Result<(), &'static str> {
    let mut inner = token.text;
    if token.sort == Sort::Bytes {
        inner = &inner[1..];
    }
    let is_raw = inner.starts_with(['r', 'R']);
    if is_raw {
        inner = &inner[1..];
    }
    let is_triple = inner.len() >= 6 && (inner.starts_with("'''") || inner.starts_with("\"\"\""));
    let quotes = if is_triple { 3 } else { 1 };
    let inner = inner.get(quotes..inner.len() - quotes).ok_or("unable to unescape string")?;
    let inner = inner.replace("\r\n", "\n").replace('\r', "\n");
    let mut signs = inner.chars();
    while let Some(sign) = signs.next() {
        if sign != '\\' || is_raw {
            add(Piece::Plain(sign))?;
            continue;
        }
        let digits = |signs: &mut std::str::Chars<'_>, first: &str, count: usize, base: u32| {
            let digits: String = first.chars().chain(signs.take(count)).collect();
            u32::from_str_radix(&digits, base).map_err(|_| "unable to unescape string")
        };
        let piece = match signs.next().ok_or("unable to unescape string, found '\\' as last character")? {
            'a' => Piece::Plain('\x07'),
            'b' => Piece::Plain('\x08'),
            'f' => Piece::Plain('\x0c'),
            'n' => Piece::Plain('\n'),
            'r' => Piece::Plain('\r'),
            't' => Piece::Plain('\t'),
            'v' => Piece::Plain('\x0b'),
            quoted @ ('"' | '\'' | '\\' | '?' | '`') => Piece::Plain(quoted),
            'x' | 'X' => Piece::Code(digits(&mut signs, "", 2, 16)?),
            'u' if token.sort == Sort::String => Piece::Code(digits(&mut signs, "", 4, 16)?),
            'U' if token.sort == Sort::String => Piece::Code(digits(&mut signs, "", 8, 16)?),
            first @ '0'..='3' => Piece::Code(digits(&mut signs, &first.to_string(), 2, 8)?),
            _ => return Err("unable to unescape string"),
        };
        add(piece)?;
    }
    Ok(())
}
