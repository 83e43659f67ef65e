use crate::syntax::{Expr, Kind, Literal};
use crate::types::Type;

use super::path::Path;
use super::range::Range;

pub(super) const TRAVERSAL: f64 = 0.1;
pub(super) const PATTERN: f64 = 0.25;

/// The cost of a call, and the size of its result if it is known.
pub(super) type Costed = (Range, Option<Range>);

/// An overload of a function, with what is known about its arguments.
pub(super) struct EstimatedCall<'c, 'e> {
    pub(super) function: &'c str,
    pub(super) overload: &'static str,
    pub(super) target: Option<Argument<'e>>,
    pub(super) arguments: &'c [Argument<'e>],
    pub(super) costs: &'c [Range],
}

/// What is known about an argument.
#[derive(Clone, Copy)]
pub(super) struct Argument<'e> {
    pub(super) expression: &'e Expr,
    pub(super) of: &'e Type,
    pub(super) path: Path<'e>,
    pub(super) size: Option<Range>,
}

impl Argument<'_> {
    pub(super) fn size(&self) -> Range {
        self.size.unwrap_or(Range::ANY)
    }

    /// The value of an integer literal.
    pub(super) fn whole(&self) -> Option<i64> {
        match self.expression.kind {
            Kind::Literal(Literal::Int(number)) => Some(number),
            _ => None,
        }
    }
}
