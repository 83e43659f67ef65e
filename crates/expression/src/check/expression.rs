use std::sync::Arc;

use crate::syntax::{Entry, Expr, Fold, Kind, Literal};
use crate::types::Type;

use super::checker::{Checker, ResolvedName};
use super::message_types;

/// Types with more parts than this are rejected.
const LARGEST_TYPE: usize = 500;

impl Checker<'_> {
    /// Determines the type of an expression and of its operands.
    pub(super) fn check(&mut self, expression: &mut Expr) {
        let mut kind = std::mem::replace(&mut expression.kind, Kind::Unknown);
        let of = match &mut kind {
            Kind::Unknown => Some(Type::Error),
            Kind::Literal(literal) => Some(type_of_literal(literal)),
            Kind::Ident(name) => Some(self.ident(expression, name)),
            Kind::Select { .. } => {
                let of = self.select(expression, &mut kind);
                Some(of)
            }
            Kind::Call { .. } => {
                self.call(expression, &mut kind);
                None
            }
            Kind::List(items) => Some(self.list(items)),
            Kind::Map(entries) => Some(self.map(expression, entries)),
            Kind::Struct { name, fields } => Some(self.message(expression, name, fields)),
            Kind::Fold(fold) => Some(self.fold(fold)),
        };
        expression.kind = kind;
        if let Some(of) = of {
            self.set(expression, of);
        }
    }

    fn ident(&mut self, expression: &Expr, name: &mut Arc<str>) -> Type {
        let found = self.find(name);
        if let Some(plain) = name.strip_prefix('.') {
            *name = plain.into();
        }
        match found {
            Some(ResolvedName::Variable(of)) => of,
            Some(ResolvedName::TypeItself(of)) => Type::Type(Some(Arc::new(of))),
            None => {
                self.undeclared(expression, name);
                Type::Error
            }
        }
    }

    fn select(&mut self, expression: &Expr, kind: &mut Kind) -> Type {
        if let Some(name) = qualified(kind)
            && let Some(found) = self.find(&name)
        {
            *kind = Kind::Ident(name.into());
            return match found {
                ResolvedName::Variable(of) => of,
                ResolvedName::TypeItself(of) => Type::Type(Some(Arc::new(of))),
            };
        }
        let Kind::Select { operand, field, is_test } = kind else { return Type::Error };
        let of = self.field(expression, operand, field, false);
        if *is_test { Type::Bool } else { self.known(&of) }
    }

    /// The type of a field of an operand.
    fn field(&mut self, expression: &Expr, operand: &mut Expr, field: &str, is_optional: bool) -> Type {
        self.check(operand);
        let of = self.known(&self.type_of(operand));
        let (of, is_optional) = match of {
            Type::Optional(inner) => ((*inner).clone(), true),
            other => (other, is_optional),
        };
        let result = match &of {
            Type::Map(_, values) => (**values).clone(),
            Type::Object(schema) => match schema.field(field) {
                Some(field) => field.schema.as_type(),
                None => {
                    self.report(expression, format!("undefined field '{field}'"));
                    Type::Error
                }
            },
            Type::Message(name) => match message_types::type_of_field(name, field) {
                Some(of) => of,
                None => {
                    self.report(expression, format!("undefined field '{field}'"));
                    Type::Error
                }
            },
            Type::Named(name) => {
                self.report(expression, format!("unexpected failed resolution of '{name}'"));
                Type::Error
            }
            Type::Parameter(_) => {
                self.assign(&Type::Dyn, &of);
                Type::Dyn
            }
            Type::Dyn | Type::Error => Type::Dyn,
            other => {
                self.report(expression, format!("type '{other}' does not support field selection"));
                Type::Dyn
            }
        };
        if is_optional { Type::optional(result) } else { result }
    }

    fn call(&mut self, expression: &Expr, kind: &mut Kind) {
        let Kind::Call { function, target, arguments } = kind else { return };
        if &**function == "_?._" {
            let (operands, fields) = arguments.split_at_mut(1);
            let Some(Kind::Literal(Literal::String(field))) = fields.first().map(|field| &field.kind) else { return };
            let of = self.field(expression, &mut operands[0], field, true);
            let of = self.known(&of);
            return self.set(expression, of);
        }
        arguments.iter_mut().for_each(|argument| self.check(argument));
        if let Some(receiver) = target {
            let qualified = qualified(&receiver.kind).map(|prefix| format!("{prefix}.{function}"));
            if let Some(name) = qualified.filter(|name| self.is_function(name)) {
                *function = name.into();
                *target = None;
            } else {
                self.check(receiver);
            }
        }
        if let Some(plain) = function.strip_prefix('.') {
            *function = plain.into();
        }
        if !self.is_function(function) {
            self.undeclared(expression, function);
            return self.set(expression, Type::Error);
        }
        if matches!(&**function, "_&&_" | "_||_") {
            return self.logical(expression, arguments);
        }
        self.resolve(expression, function, target.as_deref(), arguments);
    }

    /// `&&` and `||`, whose operands must be booleans.
    fn logical(&mut self, expression: &Expr, sides: &[Expr]) {
        let mut result = Type::Bool;
        for side in sides {
            let of = self.type_of(side);
            if !self.assign(&of, &Type::Bool) {
                self.mismatch(side, &Type::Bool, &of);
                result = Type::Error;
            }
        }
        self.set(expression, result);
    }

    /// The result type of an operation on an optional value.
    pub(super) fn unwrapped(&mut self, expression: &Expr, is_optional: bool) -> Type {
        let of = self.type_of(expression);
        match (&of, is_optional) {
            (Type::Optional(inner), true) => (**inner).clone(),
            (other, true) if !other.is_dyn() => {
                self.mismatch(expression, &Type::optional(other.clone()), other);
                of
            }
            _ => of,
        }
    }

    fn list(&mut self, items: &mut [(Expr, bool)]) -> Type {
        let mut common = None;
        for (item, is_optional) in items {
            self.check(item);
            let of = self.unwrapped(item, *is_optional);
            common = Some(self.join(common, of));
        }
        Type::list(common.unwrap_or_else(|| self.open_type()))
    }

    fn map(&mut self, expression: &Expr, entries: &mut [Entry]) -> Type {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            self.check(&mut entry.key);
            let of = self.type_of(&entry.key);
            keys = Some(self.join(keys, of));
            self.check(&mut entry.value);
            let of = self.unwrapped(&entry.value, entry.is_optional);
            values = Some(self.join(values, of));
        }
        match (keys, values) {
            (Some(keys), Some(values)) => {
                let of = self.known(&Type::map(keys, values));
                if weight(&of, LARGEST_TYPE).is_none() {
                    self.report(expression, "the type of the expression is too large");
                    return Type::Error;
                }
                of
            }
            _ => {
                let keys = self.open_type();
                Type::map(keys, self.open_type())
            }
        }
    }

    fn fold(&mut self, fold: &mut Fold) -> Type {
        self.check(&mut fold.range);
        self.check(&mut fold.start);
        let range = self.known(&self.type_of(&fold.range));
        let accumulated = self.type_of(&fold.start);
        let (first, second) = match (&range, &fold.second) {
            (Type::List(items), None) => ((**items).clone(), None),
            (Type::List(items), Some(_)) => (Type::Int, Some((**items).clone())),
            (Type::Map(keys, _), None) => ((**keys).clone(), None),
            (Type::Map(keys, values), Some(_)) => ((**keys).clone(), Some((**values).clone())),
            (Type::Dyn | Type::Error | Type::Parameter(_), _) => {
                self.assign(&Type::Dyn, &range);
                (Type::Dyn, Some(Type::Dyn))
            }
            _ => {
                let what = "cannot be range of a comprehension (must be list, map, or dynamic)";
                self.report(&fold.range, format!("expression of type '{range}' {what}"));
                (Type::Error, Some(Type::Error))
            }
        };
        let collected = vec![(Arc::clone(&fold.accumulator), accumulated.clone())];
        let mut looped = vec![(Arc::clone(&fold.variable), first)];
        looped.extend(fold.second.clone().zip(second));
        self.within(collected, |checker| {
            checker.within(looped, |checker| {
                checker.check(&mut fold.condition);
                checker.need(&fold.condition, &Type::Bool);
                checker.check(&mut fold.step);
                checker.need(&fold.step, &accumulated);
            });
            checker.check(&mut fold.result);
        });
        self.known(&self.type_of(&fold.result))
    }

    fn need(&mut self, expression: &Expr, expected: &Type) {
        let of = self.type_of(expression);
        if !self.assign(expected, &of) {
            self.mismatch(expression, expected, &of);
        }
    }
}

/// The remaining budget after a type; only maps can make types grow faster than the text.
fn weight(of: &Type, budget: usize) -> Option<usize> {
    let left = budget.checked_sub(1)?;
    of.parameters().into_iter().try_fold(left, |left, part| weight(part, left))
}

fn type_of_literal(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}

/// `a.b.c`, if an expression consists only of names and dots.
fn qualified(kind: &Kind) -> Option<String> {
    match kind {
        Kind::Ident(name) => Some(name.strip_prefix('.').unwrap_or(name).to_owned()),
        Kind::Select { operand, field, is_test: false } => Some(format!("{}.{field}", qualified(&operand.kind)?)),
        _ => None,
    }
}
