use std::collections::BTreeSet;

use crate::syntax::Expr;
use crate::types::Type;

/// What a tree has been found to mean.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    /// The type of each expression, by its id.
    pub(crate) types: Vec<Type>,
    /// The ways to call a function that an expression may mean, by its id.
    pub(crate) overloads: Vec<Vec<&'static str>>,
    /// The variables from outside.
    pub(crate) variables: BTreeSet<String>,
}

impl Typed {
    pub(crate) fn type_of(&self, expression: &Expr) -> &Type {
        self.types.get(expression.id).unwrap_or(&Type::Dyn)
    }

    /// The one way to call a function that an expression means, if it is only one.
    pub(crate) fn overload(&self, expression: &Expr) -> Option<&'static str> {
        match self.overloads.get(expression.id).map(Vec::as_slice) {
            Some([only]) => Some(only),
            _ => None,
        }
    }
}
