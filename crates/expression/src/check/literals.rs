//! Errors in constants that have the right type. In Kubernetes: the `ASTValidators` of the environment.

use crate::library::compile_pattern;
use crate::source::Issues;
use crate::syntax::{Expr, Kind, Literal, Tree};
use crate::types::Type;
use crate::value::{Text, Value};

use super::formats;
use super::typed::Typed;

pub(super) fn check(tree: &Tree, typed: &Typed, issues: &mut Issues<'_>) {
    Literals { tree, typed, issues }.visit(&tree.root, false);
}

struct Literals<'l, 't> {
    tree: &'l Tree,
    typed: &'l Typed,
    issues: &'l mut Issues<'t>,
}

impl Literals<'_, '_> {
    fn report(&mut self, expression: &Expr, message: impl Into<String>) {
        self.issues.add(self.tree.place(expression.id), message);
    }

    /// Visits an expression and its operands. Arguments of `format` may have different types.
    fn visit(&mut self, expression: &Expr, is_exempt: bool) {
        let mut is_exempt = is_exempt;
        match &expression.kind {
            Kind::Call { function, target, arguments } => {
                let pattern = usize::from(target.is_none());
                match &**function {
                    "format" => {
                        is_exempt = true;
                        if let (Some(target), [argument]) = (target, &arguments[..])
                            && let Some((wrong, why)) = formats::check(expression, target, argument, self.typed)
                        {
                            self.report(wrong, why);
                        }
                    }
                    "duration" | "timestamp" => self.time(function, arguments.first()),
                    "matches" => self.pattern(arguments.get(pattern)),
                    _ => {}
                }
            }
            Kind::List(items) if !is_exempt => {
                let mut common: Option<Type> = None;
                for (item, is_optional) in items {
                    let of = self.unwrapped(item, *is_optional);
                    if !self.fits(item, &mut common, &of) {
                        break;
                    }
                }
            }
            Kind::Map(entries) if !is_exempt => {
                let (mut keys, mut values) = (None, None);
                for entry in entries {
                    let of = self.typed.type_of(&entry.key).clone();
                    self.fits(&entry.key, &mut keys, &of);
                    let of = self.unwrapped(&entry.value, entry.is_optional);
                    self.fits(&entry.value, &mut values, &of);
                }
            }
            _ => {}
        }
        for below in expression.kind.below() {
            self.visit(below, is_exempt);
        }
    }

    fn unwrapped(&self, expression: &Expr, is_optional: bool) -> Type {
        match self.typed.type_of(expression) {
            Type::Optional(inner) if is_optional => (**inner).clone(),
            other => other.clone(),
        }
    }

    /// Whether an item has the same type as the previous ones.
    fn fits(&mut self, expression: &Expr, common: &mut Option<Type>, of: &Type) -> bool {
        match common {
            Some(common) if common != of => {
                let message = format!("expected type '{common}' but found '{of}'");
                self.report(expression, message);
                false
            }
            Some(_) => true,
            None => {
                *common = Some(of.clone());
                true
            }
        }
    }

    fn time(&mut self, function: &str, argument: Option<&Expr>) {
        let Some(argument) = argument else { return };
        let value = match &argument.kind {
            Kind::Literal(Literal::String(text)) => Value::String(Text::Borrowed(text)),
            Kind::Literal(Literal::Int(int)) => Value::Int(*int),
            _ => return,
        };
        let converted = if function == "duration" { value.to_duration() } else { value.to_timestamp() };
        if converted.is_err() {
            self.report(argument, format!("invalid {function} argument"));
        }
    }

    fn pattern(&mut self, argument: Option<&Expr>) {
        let Some(argument) = argument else { return };
        if let Kind::Literal(Literal::String(text)) = &argument.kind
            && compile_pattern(text).is_err()
        {
            self.report(argument, "invalid matches argument");
        }
    }
}
