//! The syntax tree of a template. In Go: `text/template/parse.Node`.

use crate::functions::Function;

/// A node of a template.
#[derive(Clone, Debug)]
pub(crate) enum TemplateNode {
    Text(String),
    Action(Pipe),
    If(Branch),
    With(Branch),
    Range(Branch),
    Template { line: usize, name: String, argument: Option<Pipe> },
    Break,
    Continue,
}

/// The nodes for a pipeline that is not empty, and the nodes for an empty one.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub(crate) pipe: Pipe,
    pub(crate) then: Vec<TemplateNode>,
    pub(crate) otherwise: Vec<TemplateNode>,
}

/// Commands, each with the previous value as its last argument.
#[derive(Clone, Debug)]
pub(crate) struct Pipe {
    pub(crate) line: usize,
    /// The variables that are set.
    pub(crate) variables: Vec<String>,
    /// Whether the variables are assigned, not declared.
    pub(crate) assigns: bool,
    pub(crate) commands: Vec<Command>,
}

/// A function or an operand, and its arguments.
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

/// A function in a template.
#[derive(Clone, Debug)]
pub(crate) enum Callee {
    /// Returns the first empty argument, and does not evaluate the rest.
    And,
    /// Returns the first argument that is not empty, and does not evaluate the rest.
    Or,
    Known(&'static str, Function),
    Host(String),
}
