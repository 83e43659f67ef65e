//! What a template is made of. In Go: `text/template/parse.Node`.

use crate::functions::Function;

/// A part of a template.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Text(String),
    Action(Pipe),
    If(Branch),
    With(Branch),
    Range(Branch),
    Template { line: usize, name: String, argument: Option<Pipe> },
    Break,
    Continue,
}

/// What is done if a pipeline gives something, and what otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub(crate) pipe: Pipe,
    pub(crate) then: Vec<Node>,
    pub(crate) otherwise: Vec<Node>,
}

/// Commands, each with the value of the one before as its last argument.
#[derive(Clone, Debug)]
pub(crate) struct Pipe {
    pub(crate) line: usize,
    /// The variables that get the value.
    pub(crate) variables: Vec<String>,
    /// Whether the variables are there already.
    pub(crate) assigns: bool,
    pub(crate) commands: Vec<Command>,
}

/// What is called, or is there, and its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) first: Operand,
    pub(crate) arguments: Vec<Operand>,
}

#[derive(Clone, Debug)]
pub(crate) enum Operand {
    Dot,
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Field(Vec<String>),
    Variable(String, Vec<String>),
    Chain(Box<Operand>, Vec<String>),
    Pipe(Box<Pipe>),
    Call(Callee),
}

/// A function that a template calls.
#[derive(Clone, Debug)]
pub(crate) enum Callee {
    /// Gives the first argument that is empty, and asks for no further one.
    And,
    /// Gives the first argument that is not empty, and asks for no further one.
    Or,
    Known(&'static str, Function),
    Host(String),
}
