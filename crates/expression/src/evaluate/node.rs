use std::sync::Arc;

use crate::library::{Function, Pattern};
use crate::value::Value;

use super::price::Price;

/// Both operands of an operator.
#[derive(Debug)]
pub(crate) struct Sides {
    pub(crate) left: PlanNode,
    pub(crate) right: PlanNode,
}

/// A node of a planned expression.
#[derive(Debug)]
pub(crate) enum PlanNode {
    Constant(Value<'static>),
    Attribute(Attribute),
    /// `||` (stops at true) or `&&` (stops at false).
    Logical {
        stops_at: bool,
        terms: Vec<PlanNode>,
    },
    /// `==` or `!=`.
    Equality {
        is_equal: bool,
        sides: Box<Sides>,
    },
    Operator {
        operator: Operator,
        arguments: Vec<PlanNode>,
        price: Price,
    },
    /// A function.
    Call {
        function: Function,
        arguments: Vec<PlanNode>,
        price: Price,
    },
    /// `matches`, `find` and `findAll`, with the pattern if it is constant.
    Match {
        name: Arc<str>,
        ready: Option<Pattern>,
        arguments: Vec<PlanNode>,
        price: Price,
    },
    /// Whether a value is in a constant list.
    Membership {
        item: Box<PlanNode>,
        items: Vec<Value<'static>>,
    },
    /// `or` (an optional value) or `orValue`.
    OrElse {
        is_value: bool,
        sides: Box<Sides>,
    },
    /// Extends an accumulator by one item or entry.
    Grow {
        slot: usize,
        is_list: bool,
        more: Vec<PlanNode>,
        price: Price,
    },
    NotStrictlyFalse(Box<PlanNode>),
    List {
        items: Vec<(PlanNode, bool)>,
    },
    Map {
        entries: Vec<(PlanNode, PlanNode, bool)>,
    },
    /// `Name{field: value, …}`; whether each field is optional.
    Message {
        name: Arc<str>,
        fields: Vec<(Arc<str>, PlanNode, bool)>,
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

/// A value, and the steps to a part of it.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(super) base: Base,
    pub(super) way: Vec<Arc<Qualifier>>,
    /// Whether only the presence of the part is tested (`has`).
    pub(super) is_test: bool,
}

#[derive(Debug)]
pub(super) enum Base {
    /// A variable from outside, by its index among the names.
    Variable(usize),
    /// A variable of a comprehension.
    Slot(usize),
    Inner(Box<PlanNode>),
    Conditional(Box<(PlanNode, Attribute, Attribute)>),
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
    pub(super) range: PlanNode,
    /// Whether there are two variables: index and item, or key and value.
    pub(super) is_pairs: bool,
    pub(super) start: PlanNode,
    pub(super) condition: PlanNode,
    pub(super) step: PlanNode,
    pub(super) result: PlanNode,
}

impl Attribute {
    pub(super) fn of(base: Base) -> Self {
        Self { base, way: Vec::new(), is_test: false }
    }

    /// Adds a step. After a conditional it is added to both branches.
    pub(super) fn push(&mut self, qualifier: &Arc<Qualifier>) {
        match &mut self.base {
            Base::Conditional(branches) if self.way.is_empty() => {
                branches.1.push(qualifier);
                branches.2.push(qualifier);
            }
            _ => self.way.push(Arc::clone(qualifier)),
        }
    }

    /// The slot, if there are no steps.
    pub(super) fn slot(&self) -> Option<usize> {
        match self.base {
            Base::Slot(slot) if self.way.is_empty() => Some(slot),
            _ => None,
        }
    }
}
