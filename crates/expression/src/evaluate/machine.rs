use std::collections::BTreeMap;
use std::sync::Arc;

use crate::fault::Fault;
use crate::library::{Patterns, map_insert};
use crate::meter::{Meter, Use};
use crate::value::{Key, ListValue, Map, Message, Value};

use super::node::{Fold, Operator, PlanNode, Sides};
use super::price::{self, Price};

pub(crate) type Evaluated<'v> = Result<Value<'v>, Fault>;

/// Evaluates one expression.
pub(crate) struct Machine<'p, 'v> {
    /// The values of the variables from outside, by their index, as far as they were needed.
    pub(super) variables: Vec<Option<Evaluated<'v>>>,
    /// Their names.
    pub(super) names: Vec<&'p str>,
    pub(super) source: &'p mut dyn VariableSource<'v>,
    pub(super) slots: Vec<Slot<'p, 'v>>,
    pub(super) meter: Meter,
    patterns: Patterns,
}

/// A variable of a comprehension.
pub(super) enum Slot<'p, 'v> {
    Ready(Evaluated<'v>),
    /// Evaluated when it is first needed.
    Lazy(&'p PlanNode),
}

/// The source of the variables' values.
pub(crate) trait VariableSource<'v> {
    /// The value of a variable; `None` if it does not exist.
    fn value(&mut self, name: &str) -> Option<Evaluated<'v>>;
}

/// The result of an expression, and its cost.
pub(crate) struct EvaluationOutcome<'v> {
    pub(crate) result: Evaluated<'v>,
    pub(crate) cost: u64,
    pub(crate) used: Use,
}

impl<'p, 'v> Machine<'p, 'v> {
    pub(crate) fn new(names: Vec<&'p str>, source: &'p mut dyn VariableSource<'v>, meter: Meter) -> Self {
        let (variables, patterns) = (vec![None; names.len()], Patterns::default());
        Self { variables, names, source, slots: Vec::new(), meter, patterns }
    }

    /// The value of a variable from outside, by its index.
    pub(super) fn variable(&mut self, place: usize) -> Evaluated<'v> {
        if let Some(Some(value)) = self.variables.get(place) {
            return value.clone();
        }
        let name = self.names.get(place).copied().unwrap_or_default();
        let Some(value) = self.source.value(name) else {
            return Err(Fault::new(format!("no such attribute(s): {name}")));
        };
        if let Some(known) = self.variables.get_mut(place) {
            *known = Some(value.clone());
        }
        value
    }

    pub(crate) fn run(mut self, node: &'p PlanNode) -> EvaluationOutcome<'v> {
        let result = self.evaluate(node);
        EvaluationOutcome { result, cost: self.meter.cost(), used: self.meter.used() }
    }

    pub(super) fn evaluate(&mut self, node: &'p PlanNode) -> Evaluated<'v> {
        self.meter.work(4)?;
        match node {
            PlanNode::Constant(value) => Ok(value.clone()),
            PlanNode::Attribute(attribute) => self.attribute(attribute),
            PlanNode::Logical { stops_at, terms } => self.logical(*stops_at, terms),
            PlanNode::Equality { is_equal, sides } => self.equality(*is_equal, sides),
            PlanNode::Operator { operator, arguments, price } => self.operator(*operator, arguments, *price),
            PlanNode::Call { function, arguments, price, .. } => {
                let arguments = self.arguments(arguments, *price)?;
                let result = function(&arguments, &mut self.meter);
                self.charged(*price, &arguments, result)
            }
            PlanNode::Match { name, ready, arguments, price } => {
                let arguments = match ready {
                    Some(_) => arguments.iter().map(|node| self.evaluate(node)).collect::<Result<Vec<_>, _>>()?,
                    None => self.arguments(arguments, *price)?,
                };
                let result = self.patterns.call(name, &arguments, ready.as_ref(), &mut self.meter);
                self.charged(*price, &arguments, result)
            }
            PlanNode::Membership { item, items } => {
                let item = self.evaluate(item)?;
                for candidate in items {
                    if candidate.equals(&item, &mut self.meter)? {
                        return Ok(Value::Bool(true));
                    }
                }
                Ok(Value::Bool(false))
            }
            PlanNode::OrElse { is_value, sides } => match self.evaluate(&sides.left)? {
                Value::Optional(Some(value)) if *is_value => Ok((*value).clone()),
                Value::Optional(None) => self.evaluate(&sides.right),
                other => Ok(other),
            },
            PlanNode::Grow { slot, is_list, more, price } => self.grow(*slot, *is_list, more, *price),
            PlanNode::NotStrictlyFalse(argument) => {
                let value = self.evaluate(argument);
                self.meter.charge(1)?;
                match value {
                    Ok(Value::Bool(value)) => Ok(Value::Bool(value)),
                    Err(fault) if fault.is_final() => Err(fault),
                    _ => Ok(Value::Bool(true)),
                }
            }
            PlanNode::List { items } => {
                let list = self.list(items);
                self.made(10, list)
            }
            PlanNode::Map { entries } => {
                let map = self.map(entries);
                self.made(30, map)
            }
            PlanNode::Message { name, fields } => {
                let message = self.message(name, fields);
                self.made(40, message)
            }
            PlanNode::Fold(fold) => self.fold(fold),
        }
    }

    /// The values of all arguments. The call is charged even if one of two arguments fails.
    fn arguments(&mut self, nodes: &'p [PlanNode], price: Price) -> Result<Vec<Value<'v>>, Fault> {
        let mut values = Vec::with_capacity(nodes.len());
        let mut failed = None;
        for node in nodes {
            match self.evaluate(node) {
                Ok(value) => values.push(value),
                Err(fault) if fault.is_final() || nodes.len() > 2 => return Err(fault),
                Err(fault) => {
                    failed = failed.or(Some(fault));
                    values.push(Value::Null);
                }
            }
        }
        match failed {
            None => Ok(values),
            Some(fault) => {
                price.charge(&values, None, &mut self.meter)?;
                Err(fault)
            }
        }
    }

    fn charged(&mut self, price: Price, arguments: &[Value<'v>], result: Evaluated<'v>) -> Evaluated<'v> {
        if let Err(fault) = &result
            && fault.is_final()
        {
            return result;
        }
        price.charge(arguments, result.as_ref().ok(), &mut self.meter)?;
        result
    }

    /// `||` and `&&`: an error of one side is ignored if the other side decides.
    fn logical(&mut self, stops_at: bool, terms: &'p [PlanNode]) -> Evaluated<'v> {
        let mut failed = None;
        for term in terms {
            match self.evaluate(term) {
                Ok(Value::Bool(value)) if value == stops_at => return Ok(Value::Bool(stops_at)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => failed = failed.or(Some(Fault::no_overload())),
                Err(fault) if fault.is_final() => return Err(fault),
                Err(fault) => failed = failed.or(Some(fault)),
            }
        }
        failed.map_or(Ok(Value::Bool(!stops_at)), Err)
    }

    fn equality(&mut self, is_equal: bool, sides: &'p Sides) -> Evaluated<'v> {
        let (one, other) = (self.evaluate(&sides.left), self.evaluate(&sides.right));
        let (one, other) = match (one, other) {
            (Ok(one), Ok(other)) => (one, other),
            (Err(fault), other) | (other, Err(fault)) => {
                let other = other.unwrap_or(Value::Null);
                self.meter.charge(price::equality(&Value::Null, &other, is_equal))?;
                return Err(fault);
            }
        };
        let same = one.equals(&other, &mut self.meter);
        self.meter.charge(price::equality(&one, &other, is_equal))?;
        match same {
            Err(fault) if fault.is_final() || is_equal => Err(fault),
            same => Ok(Value::Bool(same.unwrap_or(false) == is_equal)),
        }
    }

    fn operator(&mut self, operator: Operator, nodes: &'p [PlanNode], price: Price) -> Evaluated<'v> {
        let mut arguments = self.arguments(nodes, price)?;
        let ordered = |arguments: &[Value<'v>]| match arguments {
            [one, other] => one.compare(other),
            _ => Err(Fault::no_overload()),
        };
        let result = match (operator, &arguments[..]) {
            (Operator::Add, [_, _]) => {
                // The cost does not depend on the sum, so the parts can be moved into it.
                price.charge(&arguments, None, &mut self.meter)?;
                return match (arguments.pop(), arguments.pop()) {
                    (Some(other), Some(one)) => one.add(other, &mut self.meter),
                    _ => Err(Fault::no_overload()),
                };
            }
            (Operator::Subtract, [one, other]) => one.subtract(other),
            (Operator::Multiply, [one, other]) => one.multiply(other),
            (Operator::Divide, [one, other]) => one.divide(other),
            (Operator::Remainder, [one, other]) => one.remainder(other),
            (Operator::Negate, [only]) => only.negate(),
            (Operator::Not, [Value::Bool(value)]) => Ok(Value::Bool(!value)),
            (Operator::Less, arguments) => ordered(arguments).map(|order| Value::Bool(order.is_lt())),
            (Operator::LessOrEqual, arguments) => ordered(arguments).map(|order| Value::Bool(order.is_le())),
            (Operator::Greater, arguments) => ordered(arguments).map(|order| Value::Bool(order.is_gt())),
            (Operator::GreaterOrEqual, arguments) => ordered(arguments).map(|order| Value::Bool(order.is_ge())),
            _ => Err(Fault::no_overload()),
        };
        self.charged(price, &arguments, result)
    }

    /// Extends the accumulator of a comprehension. It is not shared, so it grows in place.
    fn grow(&mut self, slot: usize, is_list: bool, nodes: &'p [PlanNode], price: Price) -> Evaluated<'v> {
        self.meter.charge(1)?;
        let mut more = self.arguments(nodes, price)?;
        if matches!(self.slots[slot], Slot::Lazy(_)) {
            let _ = self.slot(slot);
        }
        let collected = match std::mem::replace(&mut self.slots[slot], Slot::Ready(Err(Fault::no_overload()))) {
            Slot::Ready(collected) => collected,
            Slot::Lazy(_) => Err(Fault::no_overload()),
        };
        self.meter.charge(1)?;
        match (collected?, is_list) {
            (collected, true) => match more.pop() {
                Some(items) => collected.add(items, &mut self.meter),
                None => Err(Fault::no_overload()),
            },
            (collected, false) => map_insert(collected, &more, &mut self.meter),
        }
    }

    /// The creation of a list or a map is charged even if it fails.
    fn made(&mut self, cost: u64, value: Evaluated<'v>) -> Evaluated<'v> {
        match value {
            Err(fault) if fault.is_final() => Err(fault),
            value => self.meter.charge(cost).and(value),
        }
    }

    fn list(&mut self, nodes: &'p [(PlanNode, bool)]) -> Evaluated<'v> {
        let mut items = Vec::with_capacity(nodes.len());
        for (node, is_optional) in nodes {
            match (self.evaluate(node)?, is_optional) {
                (value, false) => items.push(value),
                (Value::Optional(Some(value)), true) => items.push((*value).clone()),
                (Value::Optional(None), true) => {}
                (other, true) => {
                    let what = "cannot initialize optional list element from non-optional value";
                    return Err(Fault::new(format!("{what} {}", other.shown())));
                }
            }
        }
        self.meter.items(items.len())?;
        Ok(Value::list(items))
    }

    fn map(&mut self, nodes: &'p [(PlanNode, PlanNode, bool)]) -> Evaluated<'v> {
        let mut entries = BTreeMap::new();
        for (key, value, is_optional) in nodes {
            let key = self.evaluate(key)?;
            let value = match (self.evaluate(value)?, is_optional) {
                (value, false) => value,
                (Value::Optional(Some(value)), true) => (*value).clone(),
                (Value::Optional(None), true) => continue,
                (other, true) => {
                    let what = "cannot initialize optional entry";
                    let (key, value) = (key.shown(), other.shown());
                    return Err(Fault::new(format!("{what} '{key}' from non-optional value {value}")));
                }
            };
            let key =
                Key::of(&key).ok_or_else(|| Fault::new(format!("unsupported key type: {}", key.type_of().name())))?;
            entries.insert(key, value);
        }
        self.meter.items(entries.len().saturating_mul(3))?;
        Ok(Value::Map(Map::Owned(Arc::new(entries))))
    }

    fn message(&mut self, name: &Arc<str>, nodes: &'p [(Arc<str>, PlanNode, bool)]) -> Evaluated<'v> {
        let mut fields = BTreeMap::new();
        for (field, node, is_optional) in nodes {
            let value = match (self.evaluate(node)?, is_optional) {
                (value, false) => value,
                (Value::Optional(Some(value)), true) => (*value).clone(),
                (Value::Optional(None), true) => {
                    fields.remove(field);
                    continue;
                }
                (other, true) => {
                    let value = other.shown();
                    let what = format!("cannot initialize optional entry '{field}' from non-optional value {value}");
                    return Err(Fault::new(what));
                }
            };
            fields.insert(Arc::clone(field), value);
        }
        self.meter.items(fields.len().saturating_mul(3))?;
        Message::checked(Arc::clone(name), fields).map(Value::message)
    }

    fn fold(&mut self, fold: &'p Fold) -> Evaluated<'v> {
        let range = self.evaluate(&fold.range)?;
        let outer = self.slots.len();
        self.slots.push(Slot::Lazy(&fold.start));
        let looped = match (&range, fold.is_pairs) {
            (Value::List(list), is_pairs) => self.over_list(fold, list, is_pairs),
            (Value::Map(map), is_pairs) => self.over_map(fold, map, is_pairs),
            (other, _) => {
                let name = other.type_of().name();
                Err(Fault::new(format!("got '{name}', expected iterable type")))
            }
        };
        self.slots.truncate(outer + 1);
        let result = looped.and_then(|()| self.evaluate(&fold.result));
        self.slots.truncate(outer);
        result
    }

    fn over_list(&mut self, fold: &'p Fold, list: &ListValue<'v>, is_pairs: bool) -> Result<(), Fault> {
        for at in 0..list.len() {
            let item = list.get(at).unwrap_or(Ok(Value::Null));
            let place = is_pairs.then(|| Value::Int(i64::try_from(at).unwrap_or(i64::MAX)));
            if !self.round(fold, place, item)? {
                break;
            }
        }
        Ok(())
    }

    fn over_map(&mut self, fold: &'p Fold, map: &Map<'v>, is_pairs: bool) -> Result<(), Fault> {
        self.meter.items(map.len())?;
        for key in map.keys() {
            let goes_on = if is_pairs {
                let value = map.find(&key).unwrap_or(Ok(Value::Null));
                self.round(fold, Some(key), value)?
            } else {
                self.round(fold, None, Ok(key))?
            };
            if !goes_on {
                break;
            }
        }
        Ok(())
    }

    /// One iteration of a comprehension; `false` ends it.
    fn round(&mut self, fold: &'p Fold, first: Option<Value<'v>>, item: Evaluated<'v>) -> Result<bool, Fault> {
        let collected = self.slots.len();
        self.slots.extend(first.map(|first| Slot::Ready(Ok(first))));
        self.slots.push(Slot::Ready(item));
        let goes_on = match self.evaluate(&fold.condition) {
            Ok(Value::Bool(false)) => false,
            Err(fault) if fault.is_final() => return Err(fault),
            _ => true,
        };
        if goes_on {
            let step = self.evaluate(&fold.step);
            if let Err(fault) = &step
                && fault.is_final()
            {
                return Err(fault.clone());
            }
            self.slots[collected - 1] = Slot::Ready(step);
        }
        self.slots.truncate(collected);
        Ok(goes_on)
    }
}
