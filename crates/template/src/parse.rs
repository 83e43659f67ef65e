//! Parses the parts of a template to a tree. In Go: `text/template/parse.Tree`.

use std::collections::BTreeMap;

use crate::Error;
use crate::functions::find;
use crate::lexer::{Piece, Token, What, pieces};
use crate::tree::{Branch, Callee, Command, Operand, Pipe, TemplateNode};

/// The maximum nesting.
const DEEPEST: usize = 64;

/// A template, and the templates that it defines.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    pub(crate) root: Vec<TemplateNode>,
    pub(crate) defined: BTreeMap<String, Vec<TemplateNode>>,
}

/// Parses a template.
pub(crate) fn parse(text: &str, host: &[&str]) -> Result<Parsed, Error> {
    let mut parser = Parser {
        pieces: pieces(text)?.into_iter(),
        host,
        variables: vec!["$".to_owned()],
        defined: BTreeMap::new(),
        loops: 0,
        depth: 0,
    };
    let (root, end) = parser.nodes()?;
    match end {
        None => Ok(Parsed { root, defined: parser.defined }),
        Some(end) => Err(Error::new(end.line, format!("unexpected {{{{{}}}}}", end.word))),
    }
}

struct Parser<'h> {
    pieces: std::vec::IntoIter<Piece>,
    host: &'h [&'h str],
    /// The variables in scope.
    variables: Vec<String>,
    defined: BTreeMap<String, Vec<TemplateNode>>,
    loops: usize,
    depth: usize,
}

/// The end of a list of nodes: `end` or `else`, with the rest of its action.
struct End {
    word: String,
    line: usize,
    rest: Vec<Token>,
}

impl Parser<'_> {
    /// Nodes up to `end`, `else` or the end of the text.
    fn nodes(&mut self) -> Result<(Vec<TemplateNode>, Option<End>), Error> {
        let mut nodes = Vec::new();
        while let Some(piece) = self.pieces.next() {
            let (mut tokens, line) = match piece {
                Piece::Text(text) => {
                    nodes.push(TemplateNode::Text(text));
                    continue;
                }
                // A comment.
                Piece::Action(tokens, _) if tokens.is_empty() => continue,
                Piece::Action(tokens, line) => (tokens, line),
            };
            let word = match &tokens[0].what {
                What::Word(word) => word.clone(),
                _ => String::new(),
            };
            if matches!(word.as_str(), "end" | "else") {
                tokens.remove(0);
                return Ok((nodes, Some(End { word, line, rest: tokens })));
            }
            nodes.extend(self.action(&word, tokens, line)?);
        }
        Ok((nodes, None))
    }

    fn action(&mut self, word: &str, mut tokens: Vec<Token>, line: usize) -> Result<Option<TemplateNode>, Error> {
        if !matches!(word, "if" | "with" | "range" | "define" | "block" | "template" | "break" | "continue") {
            return self.whole_pipe(tokens, line).map(|pipe| Some(TemplateNode::Action(pipe)));
        }
        tokens.remove(0);
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Error::new(line, "nested too deep"));
        }
        let node = match word {
            "if" => Some(TemplateNode::If(self.branch("if", tokens, line)?)),
            "with" => Some(TemplateNode::With(self.branch("with", tokens, line)?)),
            "range" => {
                self.loops += 1;
                let branch = self.branch("range", tokens, line);
                self.loops -= 1;
                Some(TemplateNode::Range(branch?))
            }
            "template" => {
                let name = name_of(&mut tokens, line, "template")?;
                let argument = if tokens.is_empty() { None } else { Some(self.whole_pipe(tokens, line)?) };
                Some(TemplateNode::Template { line, name, argument })
            }
            "define" | "block" => {
                let name = name_of(&mut tokens, line, word)?;
                let argument = match word {
                    "block" => Some(self.whole_pipe(tokens, line)?),
                    _ if !tokens.is_empty() => return Err(Error::new(line, "unexpected in define clause")),
                    _ => None,
                };
                self.define(name.clone(), line)?;
                (word == "block").then_some(TemplateNode::Template { line, name, argument })
            }
            _ if !tokens.is_empty() => return Err(Error::new(line, format!("unexpected in {{{{{word}}}}}"))),
            _ if self.loops == 0 => return Err(Error::new(line, format!("{{{{{word}}}}} outside {{{{range}}}}"))),
            "break" => Some(TemplateNode::Break),
            _ => Some(TemplateNode::Continue),
        };
        self.depth -= 1;
        Ok(node)
    }

    fn define(&mut self, name: String, line: usize) -> Result<(), Error> {
        let variables = std::mem::replace(&mut self.variables, vec!["$".to_owned()]);
        let loops = std::mem::take(&mut self.loops);
        let (nodes, end) = self.nodes()?;
        closed(end, line)?;
        self.variables = variables;
        self.loops = loops;
        if self.defined.insert(name.clone(), nodes).is_some() {
            return Err(Error::new(line, format!("multiple definition of template {name:?}")));
        }
        Ok(())
    }

    fn branch(&mut self, word: &str, tokens: Vec<Token>, line: usize) -> Result<Branch, Error> {
        let known = self.variables.len();
        let mut tokens = tokens;
        let pipe = if word == "range" { self.range_pipe(&mut tokens, line) } else { self.pipe(&mut tokens, line) }?;
        ended(&tokens)?;
        let (then, end) = self.nodes()?;
        let otherwise = match end {
            Some(End { word: found, line: at, mut rest }) if found == "else" => {
                let chained = matches!(rest.first(), Some(Token { what: What::Word(next), .. }) if next == word)
                    && word != "range";
                if chained {
                    rest.remove(0);
                    self.depth += 1;
                    if self.depth > DEEPEST {
                        return Err(Error::new(at, "nested too deep"));
                    }
                    let branch = self.branch(word, rest, at)?;
                    self.depth -= 1;
                    vec![if word == "if" { TemplateNode::If(branch) } else { TemplateNode::With(branch) }]
                } else {
                    ended(&rest)?;
                    let (otherwise, end) = self.nodes()?;
                    closed(end, line)?;
                    otherwise
                }
            }
            end => {
                closed(end, line)?;
                Vec::new()
            }
        };
        self.variables.truncate(known);
        Ok(Branch { pipe, then, otherwise })
    }

    /// A pipeline that may start with two variables.
    fn range_pipe(&mut self, tokens: &mut Vec<Token>, line: usize) -> Result<Pipe, Error> {
        let names: Vec<What> = tokens.iter().take(4).map(|token| token.what.clone()).collect();
        let [What::Variable(index), What::Comma, What::Variable(item), sign @ (What::Declare | What::Assign)] =
            names.as_slice()
        else {
            return self.pipe(tokens, line);
        };
        tokens.drain(..4);
        let assigns = *sign == What::Assign;
        let mut pipe = self.pipe(tokens, line)?;
        for name in [index, item] {
            self.named(name, assigns, line)?;
        }
        pipe.variables = vec![index.clone(), item.clone()];
        pipe.assigns = assigns;
        Ok(pipe)
    }

    /// A pipeline without any further tokens.
    fn whole_pipe(&mut self, mut tokens: Vec<Token>, line: usize) -> Result<Pipe, Error> {
        let pipe = self.pipe(&mut tokens, line)?;
        ended(&tokens)?;
        Ok(pipe)
    }

    fn named(&mut self, name: &str, assigns: bool, line: usize) -> Result<(), Error> {
        if !assigns {
            self.variables.push(name.to_owned());
        } else if !self.variables.iter().any(|known| known == name) {
            return Err(Error::new(line, format!("undefined variable {name:?}")));
        }
        Ok(())
    }

    /// A pipeline, up to a closing parenthesis or the end.
    fn pipe(&mut self, tokens: &mut Vec<Token>, line: usize) -> Result<Pipe, Error> {
        let line = tokens.first().map_or(line, |token| token.line);
        let names: Vec<What> = tokens.iter().take(2).map(|token| token.what.clone()).collect();
        let declared = match names.as_slice() {
            [What::Variable(name), sign @ (What::Declare | What::Assign)] => {
                tokens.drain(..2);
                Some((name.clone(), *sign == What::Assign))
            }
            _ => None,
        };
        let mut commands = Vec::new();
        loop {
            let command = self.command(tokens, line)?;
            let is_callable = matches!(
                command.first,
                Operand::Field(_) | Operand::Variable(..) | Operand::Chain(..) | Operand::Pipe(_) | Operand::Call(_)
            );
            if !commands.is_empty() && !is_callable {
                let stage = commands.len() + 1;
                return Err(Error::new(line, format!("non executable command in pipeline stage {stage}")));
            }
            commands.push(command);
            if tokens.first().is_none_or(|token| token.what != What::Pipe) {
                break;
            }
            tokens.remove(0);
        }
        let (variables, assigns) = match declared {
            Some((name, assigns)) => {
                self.named(&name, assigns, line)?;
                (vec![name], assigns)
            }
            None => (Vec::new(), false),
        };
        Ok(Pipe { line, variables, assigns, commands })
    }

    fn command(&mut self, tokens: &mut Vec<Token>, line: usize) -> Result<Command, Error> {
        let mut operands = Vec::new();
        while let Some(token) = tokens.first() {
            if matches!(token.what, What::Close | What::Pipe) {
                break;
            }
            if token.is_joined && !operands.is_empty() {
                return Err(Error::new(token.line, "operands need a space between them"));
            }
            let operand = self.operand(tokens)?;
            operands.push(self.fields_of(operand, tokens)?);
        }
        let mut operands = operands.into_iter();
        let first = operands.next().ok_or_else(|| Error::new(line, "missing value for command"))?;
        Ok(Command { first, arguments: operands.collect() })
    }

    fn operand(&mut self, tokens: &mut Vec<Token>) -> Result<Operand, Error> {
        let Token { what, line, .. } = tokens.remove(0);
        Ok(match what {
            What::Dot => Operand::Dot,
            What::Field(name) => Operand::Field(vec![name]),
            What::Text(text) => Operand::Text(text),
            What::Int(value) => Operand::Int(value),
            What::Float(value) => Operand::Float(value),
            What::Variable(name) if self.variables.contains(&name) => Operand::Variable(name, Vec::new()),
            What::Variable(name) => return Err(Error::new(line, format!("undefined variable {name:?}"))),
            What::Word(word) => match word.as_str() {
                "true" => Operand::Bool(true),
                "false" => Operand::Bool(false),
                "nil" => Operand::Nil,
                _ => Operand::Call(self.callee(word, line)?),
            },
            What::Open => {
                self.depth += 1;
                if self.depth > DEEPEST {
                    return Err(Error::new(line, "nested too deep"));
                }
                let pipe = self.pipe(tokens, line)?;
                self.depth -= 1;
                if tokens.first().is_none_or(|token| token.what != What::Close) {
                    return Err(Error::new(line, "unclosed left paren"));
                }
                tokens.remove(0);
                Operand::Pipe(Box::new(pipe))
            }
            What::Close | What::Pipe | What::Declare | What::Assign | What::Comma => {
                return Err(Error::new(line, "unexpected sign in operand"));
            }
        })
    }

    /// An operand with the fields that directly follow it.
    fn fields_of(&self, operand: Operand, tokens: &mut Vec<Token>) -> Result<Operand, Error> {
        let mut fields = Vec::new();
        while let Some(Token { what: What::Field(name), is_joined: true, .. }) = tokens.first() {
            fields.push(name.clone());
            tokens.remove(0);
        }
        if fields.is_empty() {
            return Ok(operand);
        }
        Ok(match operand {
            Operand::Field(mut names) => {
                names.append(&mut fields);
                Operand::Field(names)
            }
            Operand::Variable(name, _) => Operand::Variable(name, fields),
            Operand::Pipe(_) | Operand::Call(_) => Operand::Chain(Box::new(operand), fields),
            _ => return Err(Error::new(tokens.first().map_or(0, |token| token.line), "unexpected field after a term")),
        })
    }

    fn callee(&self, name: String, line: usize) -> Result<Callee, Error> {
        if self.host.contains(&name.as_str()) {
            return Ok(Callee::Host(name));
        }
        match name.as_str() {
            "and" => Ok(Callee::And),
            "or" => Ok(Callee::Or),
            _ => match find(&name) {
                Some((name, function)) => Ok(Callee::Known(name, function)),
                None => Err(Error::new(line, format!("function {name:?} not defined"))),
            },
        }
    }
}

fn name_of(tokens: &mut Vec<Token>, line: usize, word: &str) -> Result<String, Error> {
    match tokens.first().map(|token| token.what.clone()) {
        Some(What::Text(name)) => {
            tokens.remove(0);
            Ok(name)
        }
        _ => Err(Error::new(line, format!("{word} clause needs a name in quotes"))),
    }
}

fn ended(tokens: &[Token]) -> Result<(), Error> {
    tokens.first().map_or(Ok(()), |token| Err(Error::new(token.line, "unexpected sign after a command")))
}

/// Whether a list of nodes was ended by `end`.
fn closed(end: Option<End>, line: usize) -> Result<(), Error> {
    match end {
        Some(End { word, rest, .. }) if word == "end" => ended(&rest),
        Some(End { word, line, .. }) => Err(Error::new(line, format!("unexpected {{{{{word}}}}}"))),
        None => Err(Error::new(line, "unexpected EOF: no {{end}}")),
    }
}
