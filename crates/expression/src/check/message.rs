use std::sync::Arc;

use crate::syntax::Expr;
use crate::types::Type;

use super::checker::{Checker, ResolvedName};
use super::message_types::type_of_field;

impl Checker<'_> {
    /// The type of `Name{field: value, …}`.
    pub(super) fn message(
        &mut self,
        expression: &Expr,
        name: &Arc<str>,
        fields: &mut [(usize, Arc<str>, Expr, bool)],
    ) -> Type {
        let of = match self.find(name) {
            Some(ResolvedName::TypeItself(Type::Message(of))) => of,
            Some(ResolvedName::TypeItself(of)) => {
                self.report(expression, format!("'{of}' is not a message type"));
                return Type::Error;
            }
            Some(ResolvedName::Variable(_)) => {
                self.report(expression, format!("'{name}' is not a type"));
                return Type::Error;
            }
            None => {
                self.undeclared(expression, name);
                return Type::Error;
            }
        };
        for (place, field, value, is_optional) in fields {
            self.check(value);
            let given = self.unwrapped(value, *is_optional);
            let declared = type_of_field(&of, field);
            let fits = match &declared {
                Some(declared) => self.assign(declared, &given),
                None => given.is_dyn_or_error(),
            };
            if !fits {
                let declared = declared.map_or_else(String::new, |declared| declared.to_string());
                let what = format!("expected type of field '{field}' is '{declared}' but provided type is '{given}'");
                self.report_in(*place, what);
            }
        }
        Type::Message(of)
    }
}
