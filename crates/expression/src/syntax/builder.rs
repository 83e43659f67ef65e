use std::sync::Arc;

use crate::source::{Issues, Report};

use super::tree::{Entry, Expr, Fold, Kind, Tree};

/// The maximum nesting of brackets, conditionals and chains of operators; the code for trees is recursive.
pub(super) const DEEPEST: usize = 200;
/// The maximum number of expressions in a tree; macros copy their operands.
const LARGEST: usize = 40_000;

/// The error has been recorded.
#[derive(Debug)]
pub(super) struct Reported;

pub(super) type Parsed = Result<Expr, Reported>;

/// Builds trees and collects errors.
pub(super) struct Builder<'t> {
    places: Vec<usize>,
    issues: Issues<'t>,
    bindings: Bindings,
}

/// Whether expressions may bind values to names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Bindings {
    /// There is no `cel.bind`.
    #[default]
    Absent,
    /// `cel.bind` binds a value to a name.
    Allowed,
}

impl<'t> Builder<'t> {
    pub(super) fn new(issues: Issues<'t>, bindings: Bindings) -> Self {
        Self { places: Vec::new(), issues, bindings }
    }

    pub(super) fn has_bindings(&self) -> bool {
        self.bindings == Bindings::Allowed
    }

    pub(super) fn finish(self, root: Expr) -> Result<Tree, Report> {
        if self.issues.is_empty() { Ok(Tree { root, places: self.places }) } else { Err(self.issues.report()) }
    }

    pub(super) fn report(&mut self, at: usize, message: impl Into<String>) {
        self.issues.add(at, message);
    }

    /// An expression at a position in the text.
    pub(super) fn node(&mut self, at: usize, kind: Kind) -> Parsed {
        let height = kind.below().iter().map(|below| below.height).max().unwrap_or(0) + 1;
        if height > DEEPEST {
            return self.fail(at, format!("expression recursion limit exceeded: {DEEPEST}"));
        }
        if self.places.len() >= LARGEST {
            return self.fail(at, format!("the expression is too large: more than {LARGEST} parts"));
        }
        self.places.push(at);
        Ok(Expr { id: self.places.len() - 1, height, kind })
    }

    pub(super) fn place(&self, expression: &Expr) -> usize {
        self.places.get(expression.id).copied().unwrap_or(0)
    }

    /// Records an error.
    pub(super) fn fail<T>(&mut self, at: usize, message: impl Into<String>) -> Result<T, Reported> {
        self.issues.add(at, message);
        Err(Reported)
    }

    /// Records an error of an expression whose syntax is valid.
    pub(super) fn wrong(&mut self, at: usize, message: impl Into<String>) -> Parsed {
        self.issues.add(at, message);
        self.node(at, Kind::Unknown)
    }

    /// A copy of an expression, with new ids.
    pub(super) fn copy(&mut self, expression: &Expr) -> Parsed {
        let at = self.place(expression);
        let kind = match &expression.kind {
            Kind::Select { operand, field, is_test } => {
                Kind::Select { operand: Box::new(self.copy(operand)?), field: Arc::clone(field), is_test: *is_test }
            }
            Kind::Call { function, target, arguments } => Kind::Call {
                function: Arc::clone(function),
                target: target.as_ref().map(|target| self.copy(target)).transpose()?.map(Box::new),
                arguments: arguments.iter().map(|argument| self.copy(argument)).collect::<Result<_, _>>()?,
            },
            Kind::List(items) => Kind::List(
                items.iter().map(|(item, optional)| Ok((self.copy(item)?, *optional))).collect::<Result<_, _>>()?,
            ),
            Kind::Map(entries) => {
                Kind::Map(entries.iter().map(|entry| self.copy_entry(entry)).collect::<Result<_, _>>()?)
            }
            Kind::Fold(fold) => Kind::Fold(Box::new(Fold {
                range: self.copy(&fold.range)?,
                start: self.copy(&fold.start)?,
                condition: self.copy(&fold.condition)?,
                step: self.copy(&fold.step)?,
                result: self.copy(&fold.result)?,
                variable: Arc::clone(&fold.variable),
                second: fold.second.clone(),
                accumulator: Arc::clone(&fold.accumulator),
            })),
            plain => plain.clone(),
        };
        self.node(at, kind)
    }

    fn copy_entry(&mut self, entry: &Entry) -> Result<Entry, Reported> {
        Ok(Entry { key: self.copy(&entry.key)?, value: self.copy(&entry.value)?, is_optional: entry.is_optional })
    }
}
