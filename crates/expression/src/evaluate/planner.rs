use std::collections::BTreeSet;
use std::sync::Arc;

use crate::check::Typed;
use crate::fault::Fault;
use crate::library::{self, Pattern, PatternError, compile_pattern};
use crate::meter::Meter;
use crate::syntax::{self, Expr, Kind, Literal};
use crate::types::Type;
use crate::value::{Key, ListValue, Map, Text, Value};

use super::node::{Attribute, Base, Fold, Operator, PlanNode, Qualifier, QualifierKey, Sides};
use super::price::Price;

/// Plans an expression for evaluation. Constants are evaluated now; `Err` is the error of a constant.
pub(crate) fn plan(root: &Expr, typed: &Typed) -> Result<PlanNode, String> {
    Planner { typed, variables: &typed.variables, slots: Vec::new() }.plan(root)
}

struct Planner<'p> {
    typed: &'p Typed,
    variables: &'p BTreeSet<String>,
    /// The variables of the enclosing comprehensions, by slot.
    slots: Vec<Arc<str>>,
}

type Planned = Result<PlanNode, String>;

impl Planner<'_> {
    fn plan(&mut self, expression: &Expr) -> Planned {
        match &expression.kind {
            Kind::Unknown => Err("unsupported expression".to_owned()),
            Kind::Literal(literal) => Ok(PlanNode::Constant(constant(literal))),
            Kind::Ident(name) => Ok(self.ident(expression, name)),
            Kind::Select { operand, field, is_test } => {
                let mut attribute = self.attribute(operand)?;
                let key = QualifierKey::Constant(Value::String(Text::Shared(Arc::clone(field))));
                attribute.push(&Arc::new(Qualifier { key, is_optional: false, is_test: *is_test }));
                attribute.is_test |= *is_test;
                Ok(PlanNode::Attribute(attribute))
            }
            Kind::Call { function, target, arguments } => {
                let arguments: Vec<&Expr> = target.iter().map(|target| &**target).chain(arguments).collect();
                self.call(expression, function, &arguments)
            }
            Kind::List(items) => {
                let items: Result<Vec<_>, String> =
                    items.iter().map(|(item, is_optional)| Ok((self.plan(item)?, *is_optional))).collect();
                Ok(folded_list(items?))
            }
            Kind::Map(entries) => {
                let entries: Result<Vec<_>, String> = entries
                    .iter()
                    .map(|entry| Ok((self.plan(&entry.key)?, self.plan(&entry.value)?, entry.is_optional)))
                    .collect();
                Ok(folded_map(entries?))
            }
            Kind::Struct { name, fields } => {
                let fields: Result<Vec<_>, String> = fields
                    .iter()
                    .map(|(_, field, value, is_optional)| Ok((Arc::clone(field), self.plan(value)?, *is_optional)))
                    .collect();
                let name = name.strip_prefix('.').map_or_else(|| Arc::clone(name), Arc::from);
                Ok(PlanNode::Message { name, fields: fields? })
            }
            Kind::Fold(fold) => self.fold(fold),
        }
    }

    fn ident(&self, expression: &Expr, name: &str) -> PlanNode {
        if let Some(slot) = self.slots.iter().rposition(|slot| **slot == *name) {
            return PlanNode::Attribute(Attribute::of(Base::Slot(slot)));
        }
        match (self.variables.iter().position(|variable| variable == name), self.typed.type_of(expression)) {
            (None, Type::Type(Some(of))) => PlanNode::Constant(Value::Type(Arc::clone(of))),
            (place, _) => PlanNode::Attribute(Attribute::of(Base::Variable(place.unwrap_or(usize::MAX)))),
        }
    }

    /// An expression as the start of an attribute.
    fn attribute(&mut self, expression: &Expr) -> Result<Attribute, String> {
        Ok(match self.plan(expression)? {
            PlanNode::Attribute(attribute) => attribute,
            other => Attribute::of(Base::Inner(Box::new(other))),
        })
    }

    fn all(&mut self, arguments: &[&Expr]) -> Result<Vec<PlanNode>, String> {
        arguments.iter().map(|argument| self.plan(argument)).collect()
    }

    fn pair(&mut self, arguments: &[&Expr]) -> Result<Box<Sides>, String> {
        match arguments {
            [left, right] => Ok(Box::new(Sides { left: self.plan(left)?, right: self.plan(right)? })),
            _ => Err("no such overload".to_owned()),
        }
    }

    fn call(&mut self, expression: &Expr, function: &Arc<str>, arguments: &[&Expr]) -> Planned {
        let overload = self.typed.overload(expression);
        match (&**function, arguments) {
            ("_&&_" | "_||_", _) => {
                Ok(PlanNode::Logical { stops_at: &**function == "_||_", terms: self.all(arguments)? })
            }
            ("_==_" | "_!=_", _) => {
                Ok(PlanNode::Equality { is_equal: &**function == "_==_", sides: self.pair(arguments)? })
            }
            ("_?_:_", [condition, then, otherwise]) => {
                let branches = (self.plan(condition)?, self.attribute(then)?, self.attribute(otherwise)?);
                Ok(PlanNode::Attribute(Attribute::of(Base::Conditional(Box::new(branches)))))
            }
            ("_[_]" | "_[?_]" | "_?._", [operand, index]) => self.index(operand, index, &**function != "_[_]"),
            ("@not_strictly_false", [argument]) => Ok(PlanNode::NotStrictlyFalse(Box::new(self.plan(argument)?))),
            ("or" | "orValue", [_, _]) => {
                Ok(PlanNode::OrElse { is_value: &**function == "orValue", sides: self.pair(arguments)? })
            }
            _ => {
                let arguments = self.all(arguments)?;
                self.plain_call(function, overload, arguments)
            }
        }
    }

    fn index(&mut self, operand: &Expr, index: &Expr, is_optional: bool) -> Planned {
        let mut attribute = self.attribute(operand)?;
        let key = match self.plan(index)? {
            PlanNode::Constant(key) => QualifierKey::Constant(key),
            PlanNode::Attribute(key) => QualifierKey::Attribute(key),
            other => QualifierKey::Attribute(Attribute::of(Base::Inner(Box::new(other)))),
        };
        attribute.push(&Arc::new(Qualifier { key, is_optional, is_test: false }));
        Ok(PlanNode::Attribute(attribute))
    }

    fn plain_call(&mut self, function: &Arc<str>, overload: Option<&str>, mut arguments: Vec<PlanNode>) -> Planned {
        let price = Price::of(function, overload);
        let collected = match arguments.first() {
            Some(PlanNode::Attribute(attribute)) => attribute.slot().filter(|slot| self.slots[*slot].starts_with('@')),
            _ => None,
        };
        if let Some(slot) = collected
            && ((&**function == "_+_" && overload == Some("add_list")) || &**function == "cel.@mapInsert")
        {
            arguments.remove(0);
            return Ok(PlanNode::Grow { slot, is_list: &**function == "_+_", more: arguments, price });
        }
        if let Some(operator) = operator(function) {
            return Ok(PlanNode::Operator { operator, arguments, price });
        }
        if matches!(&**function, "matches" | "find" | "findAll") {
            let ready = pattern(&arguments)?;
            return Ok(PlanNode::Match { name: Arc::clone(function), ready, arguments, price });
        }
        if overload == Some("in_list")
            && let [_, PlanNode::Constant(Value::List(list))] = &arguments[..]
            && let Some(items) = members(list)
        {
            if items.is_empty() {
                return Ok(PlanNode::Constant(Value::Bool(false)));
            }
            return Ok(PlanNode::Membership { item: Box::new(arguments.remove(0)), items });
        }
        let name = Arc::clone(function);
        let function = library::find(&name).ok_or_else(|| format!("no such overload: {name}"))?;
        let is_conversion = matches!(
            &*name,
            "bool" | "bytes" | "double" | "duration" | "dyn" | "int" | "string" | "timestamp" | "type" | "uint"
        );
        if is_conversion && let [PlanNode::Constant(argument)] = &arguments[..] {
            let converted = function(std::slice::from_ref(argument), &mut Meter::new(u64::MAX));
            return converted.map(PlanNode::Constant).map_err(|fault: Fault| fault.to_string());
        }
        Ok(PlanNode::Call { function, arguments, price })
    }

    fn fold(&mut self, fold: &syntax::Fold) -> Planned {
        let range = self.plan(&fold.range)?;
        let start = self.plan(&fold.start)?;
        let outer = self.slots.len();
        self.slots.push(Arc::clone(&fold.accumulator));
        self.slots.push(Arc::clone(&fold.variable));
        self.slots.extend(fold.second.clone());
        let condition = self.plan(&fold.condition)?;
        let step = self.plan(&fold.step)?;
        self.slots.truncate(outer + 1);
        let result = self.plan(&fold.result)?;
        self.slots.truncate(outer);
        let is_pairs = fold.second.is_some();
        Ok(PlanNode::Fold(Box::new(Fold { range, is_pairs, start, condition, step, result })))
    }
}

fn constant(literal: &Literal) -> Value<'static> {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Int(int) => Value::Int(*int),
        Literal::Uint(uint) => Value::Uint(*uint),
        Literal::Double(double) => Value::Double(*double),
        Literal::String(text) => Value::String(Text::Shared(Arc::clone(text))),
        Literal::Bytes(bytes) => Value::Bytes(Arc::clone(bytes)),
    }
}

fn operator(function: &str) -> Option<Operator> {
    Some(match function {
        "_+_" => Operator::Add,
        "_-_" => Operator::Subtract,
        "_*_" => Operator::Multiply,
        "_/_" => Operator::Divide,
        "_%_" => Operator::Remainder,
        "-_" => Operator::Negate,
        "!_" => Operator::Not,
        "_<_" => Operator::Less,
        "_<=_" => Operator::LessOrEqual,
        "_>_" => Operator::Greater,
        "_>=_" => Operator::GreaterOrEqual,
        _ => return None,
    })
}

/// The constant pattern of a call.
fn pattern(arguments: &[PlanNode]) -> Result<Option<Pattern>, String> {
    match arguments.get(1) {
        Some(PlanNode::Constant(Value::String(text))) => {
            compile_pattern(text).map(Some).map_err(|PatternError(why)| why)
        }
        _ => Ok(None),
    }
}

/// The items of a constant list, if they are simple enough for a lookup without cost.
fn members(list: &ListValue<'static>) -> Option<Vec<Value<'static>>> {
    let items = list.items().ok()?;
    let is_simple = |value: &Value<'_>| {
        matches!(value, Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::String(_))
    };
    items.iter().all(is_simple).then_some(items)
}

fn folded_list(items: Vec<(PlanNode, bool)>) -> PlanNode {
    let values: Option<Vec<Value<'static>>> = items
        .iter()
        .map(|item| match item {
            (PlanNode::Constant(value), false) => Some(value.clone()),
            _ => None,
        })
        .collect();
    match values {
        Some(values) => PlanNode::Constant(Value::list(values)),
        None => PlanNode::List { items },
    }
}

fn folded_map(entries: Vec<(PlanNode, PlanNode, bool)>) -> PlanNode {
    let values: Option<std::collections::BTreeMap<_, _>> = entries
        .iter()
        .map(|entry| match entry {
            (PlanNode::Constant(key), PlanNode::Constant(value), false) => Some((Key::of(key)?, value.clone())),
            _ => None,
        })
        .collect();
    match values {
        Some(values) => PlanNode::Constant(Value::Map(Map::Owned(Arc::new(values)))),
        None => PlanNode::Map { entries },
    }
}
