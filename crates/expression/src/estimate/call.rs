use crate::syntax::{Expr, Kind, Literal};
use crate::types::Type;

use super::path::Path;
use super::range::Range;

pub(super) const TRAVERSAL: f64 = 0.1;
pub(super) const PATTERN: f64 = 0.25;

/// What a call costs, and how large its result is if that is known.
pub(super) type Costed = (Range, Option<Range>);

/// One way to call a function, with what is known of its arguments.
pub(super) struct Call<'c, 'e> {
    pub(super) function: &'c str,
    pub(super) overload: &'static str,
    pub(super) target: Option<Argument<'e>>,
    pub(super) arguments: &'c [Argument<'e>],
    pub(super) costs: &'c [Range],
}

/// What is known of an argument.
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

    /// The whole number that stands written out.
    pub(super) fn whole(&self) -> Option<i64> {
        match self.expression.kind {
            Kind::Literal(Literal::Int(number)) => Some(number),
            _ => None,
        }
    }
}
