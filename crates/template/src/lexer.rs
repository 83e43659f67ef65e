//! Splits a template into text and actions. In Go: `text/template/parse.lexer`.

use crate::Error;
use crate::number::whole_of;

/// A part of a template's text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    Text(String),
    /// The tokens of one action, and the line where it starts; a comment has no tokens.
    Action(Vec<Token>, usize),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) what: What,
    pub(crate) line: usize,
    /// Whether it follows the previous token without a space.
    pub(crate) is_joined: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    Dot,
    /// `.name`
    Field(String),
    /// `$name`, including the `$`.
    Variable(String),
    Word(String),
    Text(String),
    Int(i64),
    Float(f64),
    Open,
    Close,
    Pipe,
    Declare,
    Assign,
    Comma,
}

/// Splits a template into its parts.
pub(crate) fn pieces(text: &str) -> Result<Vec<Piece>, Error> {
    let (mut pieces, mut rest, mut line, mut trims) = (Vec::new(), text, 1, false);
    while let Some((before, action)) = rest.split_once("{{") {
        let begun = line + lines(before);
        let trims_before = action.starts_with('-') && action[1..].starts_with(char::is_whitespace);
        push_text(&mut pieces, before, trims, trims_before);
        let inside = if trims_before { &action[1..] } else { action };
        let mut lexer = Lexer { rest: inside, line: begun, tokens: Vec::new(), is_joined: false };
        trims = lexer.action()?;
        pieces.push(Piece::Action(lexer.tokens, begun));
        rest = lexer.rest;
        line = lexer.line;
    }
    push_text(&mut pieces, rest, trims, false);
    Ok(pieces)
}

fn push_text(pieces: &mut Vec<Piece>, text: &str, trims_start: bool, trims_end: bool) {
    let text = if trims_start { text.trim_start() } else { text };
    let text = if trims_end { text.trim_end() } else { text };
    if !text.is_empty() {
        pieces.push(Piece::Text(text.to_owned()));
    }
}

fn lines(text: &str) -> usize {
    text.matches('\n').count()
}

struct Lexer<'t> {
    rest: &'t str,
    line: usize,
    tokens: Vec<Token>,
    is_joined: bool,
}

impl Lexer<'_> {
    /// Reads up to the closing braces; returns whether they trim the text that follows.
    fn action(&mut self) -> Result<bool, Error> {
        if let Some(comment) = self.rest.trim_start().strip_prefix("/*") {
            return self.comment(comment.len());
        }
        loop {
            let before = self.rest.len();
            self.skip(self.rest.len() - self.rest.trim_start().len());
            self.is_joined &= before == self.rest.len();
            let spaced = before != self.rest.len();
            if spaced && self.rest.starts_with("-}}") {
                self.skip(3);
                return Ok(true);
            }
            if self.rest.starts_with("}}") {
                self.skip(2);
                return Ok(false);
            }
            let token = self.token()?;
            self.tokens.push(Token { what: token, line: self.line, is_joined: self.is_joined });
            self.is_joined = true;
        }
    }

    /// A comment; `left` is the number of remaining bytes at its start.
    fn comment(&mut self, left: usize) -> Result<bool, Error> {
        self.skip(self.rest.len() - left);
        let Some(end) = self.rest.find("*/") else { return Err(self.error("unclosed comment")) };
        self.skip(end + 2);
        for (close, trims) in [("}}", false), (" -}}", true)] {
            if self.rest.starts_with(close) {
                self.skip(close.len());
                return Ok(trims);
            }
        }
        Err(self.error("comment ends before closing delimiter"))
    }

    fn skip(&mut self, bytes: usize) {
        let (skipped, rest) = self.rest.split_at(bytes);
        self.line += lines(skipped);
        self.rest = rest;
    }

    fn error(&self, message: impl Into<String>) -> Error {
        Error::new(self.line, message)
    }

    fn token(&mut self) -> Result<What, Error> {
        let mut signs = self.rest.chars();
        let Some(first) = signs.next() else { return Err(self.error("unclosed action")) };
        let second = signs.next().unwrap_or(' ');
        let single = |what| Ok((what, first.len_utf8()));
        let (what, length) = match first {
            '(' => single(What::Open),
            ')' => single(What::Close),
            '|' => single(What::Pipe),
            ',' => single(What::Comma),
            '=' => single(What::Assign),
            ':' if second == '=' => Ok((What::Declare, 2)),
            '"' => self.quoted(),
            '`' => self.raw(),
            '\'' => self.sign(),
            '$' => Ok(self.name(1, What::Variable)),
            '.' if second.is_ascii_digit() => self.number(),
            '.' if is_of_a_name(second) => {
                let (_, length) = self.name(1, What::Word);
                Ok((What::Field(self.rest[1..length].to_owned()), length))
            }
            '.' => single(What::Dot),
            '0'..='9' => self.number(),
            '+' | '-' if second.is_ascii_digit() || second == '.' => self.number(),
            _ if is_of_a_name(first) => Ok(self.name(0, What::Word)),
            _ => Err(self.error(format!("unexpected {first:?} in command"))),
        }?;
        self.skip(length);
        Ok(what)
    }

    /// A name from byte `from` on, converted by `make`; and its length including the prefix.
    fn name(&self, from: usize, make: impl Fn(String) -> What) -> (What, usize) {
        let after = &self.rest[from..];
        let length = from + after.find(|sign| !is_of_a_name(sign)).unwrap_or(after.len());
        (make(self.rest[..length].to_owned()), length)
    }

    fn number(&self) -> Result<(What, usize), Error> {
        let mut previous = ' ';
        let goes_on = |sign: char| {
            let is_exponent_sign = matches!(sign, '+' | '-') && matches!(previous, 'e' | 'E' | ' ');
            previous = sign;
            sign.is_alphanumeric() || sign == '.' || sign == '_' || is_exponent_sign
        };
        let mut goes_on = goes_on;
        let length = self.rest.find(|sign| !goes_on(sign)).unwrap_or(self.rest.len());
        let text = &self.rest[..length];
        let digits = text.replace('_', "");
        let is_float = digits.contains(|sign: char| sign.is_ascii_digit()) && !digits.ends_with(char::is_alphabetic);
        let float = digits.parse::<f64>().ok().filter(|value| is_float && value.is_finite());
        let what = whole_of(text).map(What::Int).or(float.map(What::Float));
        what.map(|what| (what, length)).ok_or_else(|| self.error(format!("bad number syntax: {text:?}")))
    }

    fn raw(&self) -> Result<(What, usize), Error> {
        let text = self.rest[1..].split_once('`').map(|(text, _)| text);
        let text = text.ok_or_else(|| self.error("unterminated raw quoted string"))?;
        Ok((What::Text(text.to_owned()), text.len() + 2))
    }

    fn quoted(&self) -> Result<(What, usize), Error> {
        let (text, length) = self.until('"')?;
        Ok((What::Text(text), length))
    }

    fn sign(&self) -> Result<(What, usize), Error> {
        let (text, length) = self.until('\'')?;
        let mut signs = text.chars();
        match (signs.next(), signs.next()) {
            (Some(sign), None) => Ok((What::Int(i64::from(u32::from(sign))), length)),
            _ => Err(self.error("malformed character constant")),
        }
    }

    /// The text between two quotes, with escapes resolved, and its length with the escapes.
    fn until(&self, mark: char) -> Result<(String, usize), Error> {
        let (mut text, mut signs) = (String::new(), self.rest.char_indices().skip(1));
        while let Some((at, sign)) = signs.next() {
            match sign {
                '\n' => break,
                '\\' => {
                    let (_, escaped) = signs.next().ok_or_else(|| self.error("unterminated quoted string"))?;
                    let mut hex = |digits: usize| {
                        let code: String = signs.by_ref().take(digits).map(|(_, sign)| sign).collect();
                        u32::from_str_radix(&code, 16).ok().filter(|_| code.len() == digits).and_then(char::from_u32)
                    };
                    let sign = match escaped {
                        'n' => Some('\n'),
                        't' => Some('\t'),
                        'r' => Some('\r'),
                        'a' => Some('\u{7}'),
                        'b' => Some('\u{8}'),
                        'f' => Some('\u{c}'),
                        'v' => Some('\u{b}'),
                        '\\' | '"' | '\'' => Some(escaped),
                        'x' => hex(2),
                        'u' => hex(4),
                        'U' => hex(8),
                        _ => None,
                    };
                    text.push(sign.ok_or_else(|| self.error("invalid syntax in a quoted string"))?);
                }
                _ if sign == mark => return Ok((text, at + sign.len_utf8())),
                _ => text.push(sign),
            }
        }
        Err(self.error("unterminated quoted string"))
    }
}

fn is_of_a_name(sign: char) -> bool {
    sign == '_' || sign.is_alphanumeric()
}
