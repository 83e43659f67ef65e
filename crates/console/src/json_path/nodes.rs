//! The parts of a template.

/// A part of a template.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Text(String),
    /// What stands in braces, step by step.
    Action(Vec<Node>),
    Field(String),
    Identifier(String),
    Slice(Slice),
    Union(Vec<Vec<Node>>),
    Filter(Filter),
    Integer(i64),
    Float(f64),
    Bool(bool),
    Wildcard,
    Recursive,
}

/// Items of a list: `[first:end:step]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slice {
    pub(super) first: Option<i64>,
    pub(super) end: Option<i64>,
    /// Whether the end follows from the first: `[1]`.
    pub(super) is_derived: bool,
    pub(super) step: Option<i64>,
}

/// The items for which a comparison holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Filter {
    pub(super) left: Vec<Node>,
    /// `exists` without a right side.
    pub(super) operator: String,
    pub(super) right: Vec<Node>,
}
