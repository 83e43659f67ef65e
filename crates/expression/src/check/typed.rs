use std::collections::BTreeSet;

use crate::syntax::Expr;
use crate::types::Type;

/// The result of type checking.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    /// The type of each expression, by its id.
    pub(crate) types: Vec<Type>,
    /// The possible overloads of each call, by its expression's id.
    pub(crate) overloads: Vec<Vec<&'static str>>,
    /// The used variables from outside.
    pub(crate) variables: BTreeSet<String>,
}

impl Typed {
    pub(crate) fn type_of(&self, expression: &Expr) -> &Type {
        self.types.get(expression.id).unwrap_or(&Type::Dyn)
    }

    /// The overload of a call, if there is only one.
    pub(crate) fn overload(&self, expression: &Expr) -> Option<&'static str> {
        match self.overloads.get(expression.id).map(Vec::as_slice) {
            Some([only]) => Some(only),
            _ => None,
        }
    }
}
