use std::sync::Arc;

use crate::library::{Function, Pattern};
use crate::value::Value;

use super::price::Price;

/// A step of an expression, ready to run.
#[derive(Debug)]
pub(crate) enum Node {
    Constant(Value<'static>),
    Attribute(Attribute),
    /// `||` (stops at true) or `&&` (stops at false).
    Logical {
        stops_at: bool,
        terms: Vec<Node>,
    },
    /// `==` or `!=`.
    Equality {
        is_equal: bool,
        sides: Box<(Node, Node)>,
    },
    Operator {
        operator: Operator,
        arguments: Vec<Node>,
        price: Price,
    },
    /// A function.
    Call {
        function: Function,
        arguments: Vec<Node>,
        price: Price,
    },
    /// `matches`, `find` and `findAll`, with the pattern if it is constant.
    Match {
        name: Arc<str>,
        ready: Option<Pattern>,
        arguments: Vec<Node>,
        price: Price,
    },
    /// Whether a value is one of constants.
    Membership {
        item: Box<Node>,
        items: Vec<Value<'static>>,
    },
    /// `or` (an optional value) or `orValue`.
    OrElse {
        is_value: bool,
        sides: Box<(Node, Node)>,
    },
    /// What a loop collects, with one more item or entry.
    Grow {
        slot: usize,
        is_list: bool,
        more: Vec<Node>,
        price: Price,
    },
    NotStrictlyFalse(Box<Node>),
    List {
        items: Vec<(Node, bool)>,
    },
    Map {
        entries: Vec<(Node, Node, bool)>,
    },
    Fold(Box<Fold>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Negate,
    Not,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A value, and the way from it to what stands within it.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(super) base: Base,
    pub(super) way: Vec<Arc<Qualifier>>,
    /// Whether only the presence of what stands there is asked for.
    pub(super) is_test: bool,
}

#[derive(Debug)]
pub(super) enum Base {
    /// A variable from outside, by its place among the names.
    Variable(usize),
    /// A variable of a loop.
    Slot(usize),
    Inner(Box<Node>),
    Conditional(Box<(Node, Attribute, Attribute)>),
}

/// One step into a value.
#[derive(Debug)]
pub(super) struct Qualifier {
    pub(super) key: QualifierKey,
    pub(super) is_optional: bool,
    pub(super) is_test: bool,
}

#[derive(Debug)]
pub(super) enum QualifierKey {
    Constant(Value<'static>),
    Attribute(Attribute),
}

#[derive(Debug)]
pub(crate) struct Fold {
    pub(super) range: Node,
    /// Whether there are two variables: place and item, or key and value.
    pub(super) is_pairs: bool,
    pub(super) start: Node,
    pub(super) condition: Node,
    pub(super) step: Node,
    pub(super) result: Node,
}

impl Attribute {
    pub(super) fn of(base: Base) -> Self {
        Self { base, way: Vec::new(), is_test: false }
    }

    /// One step further. Behind a condition it is a step of both sides.
    pub(super) fn push(&mut self, qualifier: &Arc<Qualifier>) {
        match &mut self.base {
            Base::Conditional(branches) if self.way.is_empty() => {
                branches.1.push(qualifier);
                branches.2.push(qualifier);
            }
            _ => self.way.push(Arc::clone(qualifier)),
        }
    }

    /// The slot that this is, and nothing within it.
    pub(super) fn slot(&self) -> Option<usize> {
        match self.base {
            Base::Slot(slot) if self.way.is_empty() => Some(slot),
            _ => None,
        }
    }
}
