//! The parser of templates.

use super::nodes::{Filter, Node, Slice};

/// How deep actions within actions may be.
const DEEPEST: usize = 16;

/// Parses a template.
pub(super) fn parse(text: &str) -> Result<Vec<Node>, String> {
    Parser { signs: text.chars().collect(), at: 0, depth: 0 }.template()
}

struct Parser {
    signs: Vec<char>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.signs.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let sign = self.peek()?;
        self.at += 1;
        Some(sign)
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(index, sign)| self.signs.get(self.at + index) == Some(&sign))
    }

    fn text(&self, range: std::ops::Range<usize>) -> String {
        self.signs[range].iter().collect()
    }

    fn template(&mut self) -> Result<Vec<Node>, String> {
        let mut nodes = Vec::new();
        while self.at < self.signs.len() {
            let first = self.at;
            while self.peek().is_some_and(|sign| sign != '{') {
                self.at += 1;
            }
            if self.at > first {
                nodes.push(Node::Text(self.text(first..self.at)));
            }
            if self.next().is_some() {
                nodes.push(Node::Action(self.action()?));
            }
        }
        Ok(nodes)
    }

    /// The steps up to the closing brace.
    fn action(&mut self) -> Result<Vec<Node>, String> {
        let mut nodes = Vec::new();
        loop {
            if self.starts_with("}") {
                self.at += 1;
                return Ok(nodes);
            }
            if self.starts_with("[?(") {
                nodes.push(self.filter()?);
                continue;
            }
            if self.starts_with("..") {
                if nodes.last() == Some(&Node::Recursive) {
                    return Err("invalid multiple recursive descent".to_owned());
                }
                self.at += 2;
                nodes.push(Node::Recursive);
                if self.peek().is_some_and(is_alphanumeric) {
                    nodes.push(self.field());
                }
                continue;
            }
            match self.next() {
                None | Some('\r' | '\n') => return Err("unclosed action".to_owned()),
                Some(' ' | '@' | '$') => {}
                Some('[') => nodes.extend(self.array()?),
                Some(quote @ ('"' | '\'')) => nodes.push(self.quoted(quote)?),
                Some('.') => nodes.push(self.field()),
                Some(sign) if matches!(sign, '+' | '-') || sign.is_numeric() => nodes.push(self.number()?),
                Some(sign) if is_alphanumeric(sign) => nodes.push(self.identifier()),
                Some(sign) => {
                    return Err(format!("unrecognized character in action: U+{:04X} '{sign}'", u32::from(sign)));
                }
            }
        }
    }

    /// The steps of a text as if it stood in braces.
    fn inner(&self, text: &str) -> Result<Vec<Node>, String> {
        if self.depth >= DEEPEST {
            return Err("nested too deeply".to_owned());
        }
        let signs = text.chars().chain(['}']).collect();
        Self { signs, at: 0, depth: self.depth + 1 }.action()
    }

    fn identifier(&mut self) -> Node {
        let first = self.at - 1;
        while self.peek().is_some_and(|sign| !is_terminator(sign)) {
            self.at += 1;
        }
        match self.text(first..self.at) {
            word if word == "true" => Node::Bool(true),
            word if word == "false" => Node::Bool(false),
            word => Node::Identifier(word),
        }
    }

    fn field(&mut self) -> Node {
        let mut name = String::new();
        while let Some(sign) = self.peek().filter(|sign| !is_terminator(*sign)) {
            self.at += 1;
            if sign != '\\' {
                name.push(sign);
            } else if let Some(escaped) = self.next().filter(|escaped| *escaped != '\\') {
                name.push(escaped);
            }
        }
        if name == "*" { Node::Wildcard } else { Node::Field(name) }
    }

    fn number(&mut self) -> Result<Node, String> {
        let first = self.at - 1;
        while self.peek().is_some_and(|sign| sign == '.' || sign.is_numeric()) {
            self.at += 1;
        }
        let text = self.text(first..self.at);
        if let Ok(number) = text.parse() {
            return Ok(Node::Integer(number));
        }
        text.parse().map(Node::Float).map_err(|_| format!("cannot parse number {text}"))
    }

    fn quoted(&mut self, quote: char) -> Result<Node, String> {
        let mut text = String::new();
        loop {
            match self.next() {
                None | Some('\n') => return Err("unterminated quoted string".to_owned()),
                Some('\\') => match self.next() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some(sign @ ('\\' | '"' | '\'')) => text.push(sign),
                    _ => return Err(format!("unquote string {quote}{text} error invalid syntax")),
                },
                Some(sign) if sign == quote => return Ok(Node::Text(text)),
                Some(sign) => text.push(sign),
            }
        }
    }

    fn array(&mut self) -> Result<Vec<Node>, String> {
        let first = self.at;
        let end = loop {
            match self.next() {
                None | Some('\n') => return Err("unterminated array".to_owned()),
                Some(']') => break self.at - 1,
                Some(_) => {}
            }
        };
        let text = self.text(first..end);
        if text.contains(',') {
            let parts = text.split(',').map(|part| self.inner(&format!("[{}]", part.trim_matches(' '))));
            return Ok(vec![Node::Union(parts.collect::<Result<_, _>>()?)]);
        }
        let key = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        if let Some(key) = key.filter(|key| !key.contains('\'')) {
            return self.inner(&format!(".{key}"));
        }
        let text = if text == "*" { ":" } else { &text };
        Ok(vec![Node::Slice(slice(text).ok_or_else(|| format!("invalid array index {text}"))?)])
    }

    fn filter(&mut self) -> Result<Node, String> {
        self.at += "[?(".len();
        let first = self.at;
        let mut open: Option<char> = None;
        let mut is_closed = false;
        let end = loop {
            match self.next() {
                None | Some('\n') => return Err("unterminated filter".to_owned()),
                Some(quote @ ('"' | '\'')) => match open {
                    None => open = Some(quote),
                    Some(pair) => is_closed |= quote == pair && self.signs.get(self.at.wrapping_sub(2)) != Some(&'\\'),
                },
                Some(')') if open.is_some() == is_closed => break self.at - 1,
                Some(_) => {}
            }
        };
        if self.next() != Some(']') {
            return Err("unclosed array expect ]".to_owned());
        }
        let text = self.text(first..end);
        let is_operator = |sign: char| matches!(sign, '!' | '<' | '>' | '=');
        let parts = text.find(is_operator).filter(|at| *at > 0).map(|at| {
            let after = text[at..].find(|sign| !is_operator(sign)).map_or(text.len(), |length| at + length);
            (&text[..at], &text[at..after], &text[after..])
        });
        let filter = match parts.filter(|(.., right)| !right.is_empty()) {
            Some((left, operator, right)) => {
                Filter { left: self.inner(left)?, operator: operator.to_owned(), right: self.inner(right)? }
            }
            None => Filter { left: self.inner(&text)?, operator: "exists".to_owned(), right: Vec::new() },
        };
        Ok(Node::Filter(filter))
    }
}

/// `first:end:step`, each a number or nothing.
fn slice(text: &str) -> Option<Slice> {
    let parts: Vec<&str> = text.split(':').collect();
    let number = |index: usize| match parts.get(index) {
        None | Some(&"") => Some(None),
        Some(part) => part.parse::<i64>().ok().map(Some),
    };
    let (first, end, step) = (number(0)?, number(1)?, number(2)?);
    let is_derived = parts.len() == 1;
    if parts.len() > 3 || text.contains('+') {
        return None;
    }
    let end = if is_derived { Some(first.unwrap_or(0).saturating_add(1)) } else { end };
    Some(Slice { first, end, is_derived, step })
}

fn is_terminator(sign: char) -> bool {
    matches!(sign, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

fn is_alphanumeric(sign: char) -> bool {
    sign == '_' || sign.is_alphanumeric()
}
