//! Product source files, cut into tokens by Rust's own lexer.

use coracle_tests::{files_below, root};
use ra_ap_rustc_lexer::{FrontmatterAllowed, LiteralKind, TokenKind, tokenize};

/// What a token is, as far as a rule needs to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Word,
    Text,
    Comment,
    Sign,
}

/// A token: its kind, its text as written, and the line on which it begins.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// A product file without its unit tests.
pub(crate) struct Source {
    /// The folder of its crate.
    pub(crate) package: String,
    /// Its path from the root of the repository.
    pub(crate) path: String,
    pub(crate) tokens: Vec<Token>,
    pub(crate) lines: usize,
}

/// A function: its name, and the indices of its tokens from `fn` to its last brace.
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    pub(crate) tokens: &'a [Token],
}

impl Source {
    pub(crate) fn new(package: &str, path: &str, text: &str) -> Self {
        let tokens = without_tests(lex(text));
        Self { package: package.to_owned(), path: path.to_owned(), tokens, lines: text.lines().count() }
    }

    /// Tokens that are code or text: everything except comments.
    pub(crate) fn code(&self) -> Vec<Token> {
        self.tokens.iter().filter(|token| token.kind != Kind::Comment).cloned().collect()
    }
}

fn lex(text: &str) -> Vec<Token> {
    let (mut at, mut line, mut tokens) = (0, 1, Vec::new());
    for token in tokenize(text, FrontmatterAllowed::No) {
        let written = &text[at..at + token.len as usize];
        let kind = match token.kind {
            TokenKind::Whitespace => None,
            TokenKind::LineComment { .. } | TokenKind::BlockComment { .. } => Some(Kind::Comment),
            TokenKind::Literal { kind, .. } if is_text(kind) => Some(Kind::Text),
            TokenKind::Ident | TokenKind::RawIdent | TokenKind::Literal { .. } | TokenKind::Lifetime { .. } => {
                Some(Kind::Word)
            }
            _ => Some(Kind::Sign),
        };
        tokens.extend(kind.map(|kind| Token { kind, text: written.to_owned(), line }));
        at += written.len();
        line += written.matches('\n').count();
    }
    tokens
}

fn is_text(kind: LiteralKind) -> bool {
    matches!(
        kind,
        LiteralKind::Str { .. }
            | LiteralKind::RawStr { .. }
            | LiteralKind::ByteStr { .. }
            | LiteralKind::RawByteStr { .. }
    )
}

/// Leaves out items under `#[cfg(test)]`.
fn without_tests(tokens: Vec<Token>) -> Vec<Token> {
    const ATTRIBUTE: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let is_test = tokens[at..].iter().zip(ATTRIBUTE).filter(|(token, sign)| token.text == *sign).count();
        if is_test == ATTRIBUTE.len() {
            at = end_of_item(&tokens, at + ATTRIBUTE.len());
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// The index after an item that begins at `at`: after its `;`, or after the brace that closes it.
pub(crate) fn end_of_item(tokens: &[Token], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while at < tokens.len() {
        let token = &tokens[at];
        at += 1;
        if token.kind != Kind::Sign {
            continue;
        }
        match token.text.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && matches!(token.text.as_str(), "}" | ";") {
            return at;
        }
    }
    at
}

/// The functions of a file, also those in functions. `code` is [`Source::code`].
pub(crate) fn functions(code: &[Token]) -> Vec<Function<'_>> {
    let starts = (1..code.len()).filter(|at| code[at - 1].text == "fn" && code[*at].kind == Kind::Word);
    starts.map(|at| Function { name: &code[at].text, tokens: &code[at - 1..end_of_item(code, at)] }).collect()
}

/// Whether the first line says that a program wrote the file, as prost-build does.
fn is_generated(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.starts_with("//") && line.contains("@generated"))
}

/// The product's files: `crates/*/src`, without generated ones and files of tests.
pub(crate) fn sources() -> Vec<Source> {
    let mut sources = Vec::new();
    for path in files_below(&root().join("crates"), ".rs") {
        let relative = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        let steps: Vec<&str> = relative.split('/').collect();
        let is_test = steps.iter().any(|step| step.ends_with("tests.rs") || *step == "tests" || *step == "generated");
        if steps[2] != "src" || is_test {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        if !is_generated(&text) {
            sources.push(Source::new(steps[1], &relative, &text));
        }
    }
    sources
}
