use std::sync::Arc;

use crate::source::{Issues, Report};

use super::builder::{Bindings, Builder, DEEPEST, Parsed, Reported};
use super::token::{Sort, Token};
use super::tree::{Entry, Expr, Kind, Literal, Tree};
use super::{lexer, literal, macros};

/// Longer texts are rejected. In Kubernetes: 100,000 characters.
const LONGEST: usize = 100_000;
const EXPRESSION: &str =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
/// The reserved words, which are not identifiers.
pub(crate) const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Parses a text, with or without `cel.bind`.
pub(crate) fn parse(text: &str, bindings: Bindings) -> Result<Tree, Report> {
    let mut issues = Issues::new(text);
    if text.len() > LONGEST && text.chars().count() > LONGEST {
        issues.add(0, format!("expression code point size exceeds limit: size: {}, limit {LONGEST}", text.len()));
        return Err(issues.report());
    }
    let tokens = lexer::tokens(text, &mut issues);
    let mut parser = Parser { tokens, next: 0, depth: 0, builder: Builder::new(issues, bindings) };
    let root = parser.whole().unwrap_or(Expr { id: 0, height: 0, kind: Kind::Unknown });
    parser.builder.finish(root)
}

struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    next: usize,
    depth: usize,
    builder: Builder<'t>,
}

impl<'t> Parser<'t> {
    fn node(&mut self, at: usize, kind: Kind) -> Parsed {
        self.builder.node(at, kind)
    }

    fn wrong(&mut self, at: usize, message: impl Into<String>) -> Parsed {
        self.builder.wrong(at, message)
    }

    fn fail<T>(&mut self, at: usize, message: impl Into<String>) -> Result<T, Reported> {
        self.builder.fail(at, message)
    }

    fn peek(&self) -> Token<'t> {
        self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    fn ahead(&self, by: usize) -> Token<'t> {
        self.tokens[(self.next + by).min(self.tokens.len() - 1)]
    }

    fn take(&mut self) -> Token<'t> {
        let token = self.peek();
        self.next += 1;
        token
    }

    /// Consumes a sign if it is next.
    fn took(&mut self, sign: &str) -> bool {
        let is_next = self.peek().is(sign);
        self.next += usize::from(is_next);
        is_next
    }

    /// Consumes a required sign.
    fn need(&mut self, sign: &str, expected: &str) -> Result<Token<'t>, Reported> {
        let token = self.peek();
        if token.is(sign) {
            return Ok(self.take());
        }
        if self.ahead(1).is(sign) {
            return self.unexpected("extraneous", token, expected);
        }
        self.unexpected("mismatched", token, expected)
    }

    fn unexpected<T>(&mut self, how: &str, token: Token<'_>, expected: &str) -> Result<T, Reported> {
        self.fail(token.at, format!("Syntax error: {how} input {} expecting {expected}", token.quoted()))
    }

    fn whole(&mut self) -> Parsed {
        let root = self.expression()?;
        let token = self.peek();
        if token.sort == Sort::End {
            return Ok(root);
        }
        let how = if self.ahead(1).sort == Sort::End { "extraneous" } else { "mismatched" };
        self.unexpected(how, token, "<EOF>")
    }

    fn expression(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST / 2 {
            let at = self.peek().at;
            return self.fail(at, format!("expression recursion limit exceeded: {DEEPEST}"));
        }
        let condition = self.logical("||", "_||_")?;
        let result = if self.peek().is("?") {
            let sign = self.take();
            let then = self.logical("||", "_||_")?;
            self.need(":", "':'")?;
            let otherwise = self.expression()?;
            self.call(sign.at, "_?_:_", None, vec![condition, then, otherwise])
        } else {
            Ok(condition)
        };
        self.depth -= 1;
        result
    }

    /// Operands of `||` or `&&`, as a balanced tree.
    fn logical(&mut self, sign: &str, function: &str) -> Parsed {
        let mut terms = vec![self.term(sign)?];
        let mut signs = Vec::new();
        while self.peek().is(sign) {
            signs.push(self.take().at);
            terms.push(self.term(sign)?);
        }
        self.balanced(&mut terms.into_iter(), &signs, function)
    }

    fn balanced(&mut self, terms: &mut std::vec::IntoIter<Expr>, signs: &[usize], function: &str) -> Parsed {
        if signs.is_empty() {
            return terms.next().ok_or(Reported);
        }
        let middle = signs.len() / 2;
        let left = self.balanced(terms, &signs[..middle], function)?;
        let right = self.balanced(terms, &signs[middle + 1..], function)?;
        self.call(signs[middle], function, None, vec![left, right])
    }

    fn term(&mut self, sign: &str) -> Parsed {
        if sign == "||" { self.logical("&&", "_&&_") } else { self.operation(0) }
    }

    /// Comparisons, sums and products, by precedence.
    fn operation(&mut self, tightness: usize) -> Parsed {
        const LEVELS: [&[(&str, &str)]; 3] = [
            &[
                ("==", "_==_"),
                ("!=", "_!=_"),
                ("<", "_<_"),
                ("<=", "_<=_"),
                (">=", "_>=_"),
                (">", "_>_"),
                ("in", "@in"),
            ],
            &[("+", "_+_"), ("-", "_-_")],
            &[("*", "_*_"), ("/", "_/_"), ("%", "_%_")],
        ];
        let Some(level) = LEVELS.get(tightness) else { return self.unary() };
        let mut left = self.operation(tightness + 1)?;
        loop {
            let token = self.peek();
            let Some((_, function)) = level.iter().find(|(sign, _)| token.is(sign)) else { return Ok(left) };
            self.take();
            let right = self.operation(tightness + 1)?;
            left = self.call(token.at, function, None, vec![left, right])?;
        }
    }

    fn unary(&mut self) -> Parsed {
        let first = self.peek();
        let is_number = matches!(self.ahead(1).sort, Sort::Int | Sort::Double);
        let function = match first.text {
            "!" if first.sort == Sort::Sign => "!_",
            "-" if first.sort == Sort::Sign && !is_number => "-_",
            _ => return self.member(),
        };
        let mut is_odd = false;
        while self.took(first.text) {
            is_odd = !is_odd;
        }
        let operand = self.member()?;
        if is_odd { self.call(first.at, function, None, vec![operand]) } else { Ok(operand) }
    }

    fn member(&mut self) -> Parsed {
        let mut operand = self.primary()?;
        loop {
            let token = self.peek();
            if self.took("[") {
                let is_optional = self.took("?");
                let index = self.expression()?;
                self.need("]", "']'")?;
                let function = if is_optional { "_[?_]" } else { "_[_]" };
                operand = self.call(token.at, function, None, vec![operand, index])?;
            } else if self.took(".") {
                operand = self.selection(token.at, operand)?;
            } else {
                return Ok(operand);
            }
        }
    }

    /// A field selection or a method call, after the dot.
    fn selection(&mut self, dot: usize, operand: Expr) -> Parsed {
        let is_optional = self.took("?");
        let name = self.take();
        match name.sort {
            Sort::Identifier => {}
            Sort::EscapedIdentifier => {
                self.builder.report(name.at, "unsupported syntax: '`'");
            }
            Sort::Sign if ["true", "false", "null"].contains(&name.text) => {
                return self.unexpected("mismatched", name, "IDENTIFIER");
            }
            _ => return self.fail(name.at, format!("Syntax error: no viable alternative at input '.{}'", name.text)),
        }
        let field = name.text.trim_matches('`');
        if is_optional {
            let field = self.node(name.at, Kind::Literal(Literal::String(field.into())))?;
            return self.call(dot, "_?._", None, vec![operand, field]);
        }
        let open = self.peek();
        if name.sort == Sort::Identifier && self.took("(") {
            let arguments = self.arguments()?;
            return self.call(open.at, name.text, Some(operand), arguments);
        }
        self.node(dot, Kind::Select { operand: Box::new(operand), field: field.into(), is_test: false })
    }

    /// The arguments of a call, after its opening bracket.
    fn arguments(&mut self) -> Result<Vec<Expr>, Reported> {
        let mut arguments = Vec::new();
        if self.took(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expression()?);
            if !self.took(",") {
                self.close(")")?;
                return Ok(arguments);
            }
        }
    }

    /// Consumes the required closing bracket.
    fn close(&mut self, bracket: &str) -> Result<(), Reported> {
        let token = self.peek();
        if self.took(bracket) {
            return Ok(());
        }
        if token.sort == Sort::End {
            return self.fail(token.at, format!("Syntax error: missing '{bracket}' at '<EOF>'"));
        }
        self.need(bracket, &format!("'{bracket}'")).map(|_| ())
    }

    fn primary(&mut self) -> Parsed {
        let token = self.peek();
        match (token.sort, token.text) {
            (Sort::Sign, "(") => {
                self.take();
                let inner = self.expression()?;
                self.close(")")?;
                Ok(inner)
            }
            (Sort::Sign, "[") => self.list(),
            (Sort::Sign, "{") => self.map(),
            (Sort::Sign, ".") | (Sort::Identifier, _) => self.name(),
            _ => self.literal(),
        }
    }

    /// A variable, a call or a message.
    fn name(&mut self) -> Parsed {
        let start = self.peek().at;
        let dot = if self.took(".") { "." } else { "" };
        let token = self.take();
        if token.sort != Sort::Identifier {
            return self.unexpected("mismatched", token, "IDENTIFIER");
        }
        let mut names = 0;
        while self.ahead(names * 2).is(".") && self.ahead(names * 2 + 1).sort == Sort::Identifier {
            names += 1;
        }
        if self.ahead(names * 2).is("{") {
            let mut name = format!("{dot}{}", token.text);
            for _ in 0..names {
                self.take();
                name = format!("{name}.{}", self.take().text);
            }
            return self.object(&name);
        }
        if RESERVED.contains(&token.text) {
            self.builder.report(start, format!("reserved identifier: {}", token.text));
            if self.took("(") {
                self.arguments()?;
            }
            return self.node(start, Kind::Unknown);
        }
        let name = format!("{dot}{}", token.text);
        let open = self.peek();
        if self.took("(") {
            let arguments = self.arguments()?;
            return self.call(open.at, &name, None, arguments);
        }
        self.node(token.at, Kind::Ident(name.into()))
    }

    fn object(&mut self, name: &str) -> Parsed {
        let open = self.take();
        let mut fields = Vec::new();
        while !self.peek().is("}") {
            let is_optional = self.took("?");
            let field = self.take();
            if !matches!(field.sort, Sort::Identifier | Sort::EscapedIdentifier) {
                return self.unexpected("mismatched", field, "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}");
            }
            let colon = self.need(":", "':'")?;
            let value = self.expression()?;
            fields.push((colon.at, Arc::from(field.text.trim_matches('`')), value, is_optional));
            if !self.took(",") {
                break;
            }
        }
        self.close("}")?;
        self.node(open.at, Kind::Struct { name: name.into(), fields })
    }

    fn list(&mut self) -> Parsed {
        let open = self.take();
        let mut items = Vec::new();
        if self.took(",") {
            self.close("]")?;
            return self.node(open.at, Kind::List(items));
        }
        while !self.peek().is("]") {
            let is_optional = self.took("?");
            items.push((self.expression()?, is_optional));
            if !self.took(",") {
                break;
            }
        }
        self.close("]")?;
        self.node(open.at, Kind::List(items))
    }

    fn map(&mut self) -> Parsed {
        let open = self.take();
        let mut entries = Vec::new();
        if self.took(",") {
            self.close("}")?;
            return self.node(open.at, Kind::Map(entries));
        }
        while !self.peek().is("}") {
            let is_optional = self.took("?");
            let key = self.expression()?;
            self.need(":", "':'")?;
            entries.push(Entry { key, value: self.expression()?, is_optional });
            if !self.took(",") {
                break;
            }
        }
        self.close("}")?;
        self.node(open.at, Kind::Map(entries))
    }

    fn literal(&mut self) -> Parsed {
        let first = self.take();
        let is_negative = first.is("-");
        let token = if is_negative { self.take() } else { first };
        let digits = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => (digits.to_owned(), 16),
            None => (text.to_owned(), 10),
        };
        let sign = if is_negative { "-" } else { "" };
        let value = match (token.sort, token.text) {
            (Sort::Int, text) => {
                let (digits, base) = digits(text);
                i64::from_str_radix(&format!("{sign}{digits}"), base)
                    .map(Literal::Int)
                    .map_err(|_| "invalid int literal")
            }
            (Sort::Uint, text) => {
                let (digits, base) = digits(&text[..text.len() - 1]);
                u64::from_str_radix(&digits, base).map(Literal::Uint).map_err(|_| "invalid uint literal")
            }
            (Sort::Double, text) => match format!("{sign}{text}").parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(Literal::Double(value)),
                _ => Err("invalid double literal"),
            },
            (Sort::String, _) => literal::text(&token).map(|text| Literal::String(text.into())),
            (Sort::Bytes, _) => literal::bytes(&token).map(|bytes| Literal::Bytes(bytes.into())),
            (Sort::Sign, "true") => Ok(Literal::Bool(true)),
            (Sort::Sign, "false") => Ok(Literal::Bool(false)),
            (Sort::Sign, "null") => Ok(Literal::Null),
            _ => return self.misplaced(token),
        };
        match value {
            Ok(value) => self.node(first.at, Kind::Literal(value)),
            Err(message) => self.wrong(first.at, message),
        }
    }

    /// A token that starts no expression: skipped if an expression follows, and otherwise left to the caller.
    fn misplaced(&mut self, token: Token<'t>) -> Parsed {
        const BEHIND: [&str; 17] =
            ["==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "+", "*", "/", "%", "-", ".", "[", "?"];
        let next = self.peek();
        let is_start = match next.sort {
            Sort::Sign => ["[", "{", "(", ".", "-", "!", "true", "false", "null"].contains(&next.text),
            Sort::End | Sort::EscapedIdentifier => false,
            _ => true,
        };
        if is_start && token.sort != Sort::End {
            self.builder
                .report(token.at, format!("Syntax error: extraneous input {} expecting {EXPRESSION}", token.quoted()));
            return self.member();
        }
        if token.sort == Sort::Sign && BEHIND.contains(&token.text) {
            self.builder
                .report(token.at, format!("Syntax error: mismatched input {} expecting {EXPRESSION}", token.quoted()));
            self.next -= 1;
            return self.node(token.at, Kind::Unknown);
        }
        self.unexpected("mismatched", token, EXPRESSION)
    }

    /// A call, or the expansion of a macro.
    fn call(&mut self, at: usize, function: &str, target: Option<Expr>, arguments: Vec<Expr>) -> Parsed {
        match macros::expand(&mut self.builder, at, function, target, arguments) {
            Ok(expanded) => expanded,
            Err((target, arguments)) => {
                self.node(at, Kind::Call { function: function.into(), target: target.map(Box::new), arguments })
            }
        }
    }
}
