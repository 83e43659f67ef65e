//! Selects parts of values.

use crate::fault::Fault;
use crate::value::Value;

use super::machine::{Evaluated, Machine, Slot};
use super::node::{Attribute, Base, Qualifier, QualifierKey};

impl<'p, 'v> Machine<'p, 'v> {
    /// The value of an attribute, including its charge; [`Self::resolve`] charges only for each step.
    pub(super) fn attribute(&mut self, attribute: &'p Attribute) -> Evaluated<'v> {
        let value = self.resolve(attribute);
        let is_charged = !matches!(attribute.base, Base::Conditional(_)) && !attribute.is_test;
        if is_charged {
            self.meter.charge(1)?;
        }
        match value {
            Ok(Value::Optional(value)) if attribute.is_test => Ok(Value::Bool(value.is_some())),
            value => value,
        }
    }

    fn resolve(&mut self, attribute: &'p Attribute) -> Evaluated<'v> {
        let value = match &attribute.base {
            Base::Variable(place) => self.variable(*place)?,
            Base::Slot(slot) => self.slot(*slot)?,
            Base::Inner(node) => self.evaluate(node)?,
            Base::Conditional(branches) => match self.evaluate(&branches.0)? {
                Value::Bool(true) => self.resolve(&branches.1)?,
                Value::Bool(false) => self.resolve(&branches.2)?,
                _ => return Err(Fault::no_overload()),
            },
        };
        if attribute.way.is_empty() { Ok(value) } else { self.follow(value, attribute) }
    }

    pub(super) fn slot(&mut self, slot: usize) -> Evaluated<'v> {
        let start = match self.slots.get(slot) {
            Some(Slot::Ready(value)) => return value.clone(),
            Some(Slot::Lazy(start)) => *start,
            None => return Err(Fault::no_overload()),
        };
        // The initial value of a comprehension knows only the slots of the variables around it.
        let above = self.slots.split_off(slot);
        let value = self.evaluate(start);
        self.slots.extend(above);
        if let Some(place) = self.slots.get_mut(slot) {
            *place = Slot::Ready(value.clone());
        }
        value
    }

    /// Follows the steps from a value to a part of it.
    fn follow(&mut self, value: Value<'v>, attribute: &'p Attribute) -> Evaluated<'v> {
        let (mut value, mut is_optional) = match value {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(value)) => ((*value).clone(), true),
            value => (value, false),
        };
        for qualifier in &attribute.way {
            is_optional |= qualifier.is_optional;
            let found = self.step(&value, qualifier, is_optional || qualifier.is_test);
            if qualifier.is_test {
                self.meter.charge(1)?;
                let is_there = found?.is_some();
                if is_optional && !is_there {
                    return Ok(Value::Optional(None));
                }
                value = Value::Bool(is_there);
            } else if is_optional {
                let Some(found) = found? else { return Ok(Value::Optional(None)) };
                self.meter.charge(1)?;
                value = found;
            } else {
                self.meter.charge(1)?;
                value = found?.unwrap_or(Value::Null);
            }
        }
        Ok(if is_optional { Value::some(value) } else { value })
    }

    /// The value at a key of a value. A missing key is a fault unless it `may_miss`.
    fn step(
        &mut self,
        value: &Value<'v>,
        qualifier: &'p Qualifier,
        may_miss: bool,
    ) -> Result<Option<Value<'v>>, Fault> {
        let resolved;
        let key: &Value<'v> = match &qualifier.key {
            QualifierKey::Constant(key) => {
                resolved = key.clone();
                &resolved
            }
            QualifierKey::Attribute(attribute) => {
                resolved = self.resolve(attribute)?;
                &resolved
            }
        };
        let missing =
            |what: &str| if may_miss { Ok(None) } else { Err(Fault::new(format!("{what}: {}", key.shown()))) };
        match value {
            Value::Map(map) => match map.find(key) {
                Some(found) => found.map(Some),
                None => map.instead_of_missing().map_or_else(|| missing("no such key"), |empty| Ok(Some(empty))),
            },
            Value::List(list) => {
                let place = index(key)?;
                match usize::try_from(place).ok().and_then(|place| list.get(place)) {
                    Some(found) => found.map(Some),
                    None => missing("index out of bounds"),
                }
            }
            Value::Message(message) => match message.field(key, may_miss)? {
                Some(found) => Ok(Some(found)),
                None => missing("no such key"),
            },
            _ => missing("no such key"),
        }
    }
}

/// The index for a key in a list.
fn index(key: &Value<'_>) -> Result<i64, Fault> {
    match key {
        Value::Int(int) => Ok(*int),
        Value::Uint(uint) => Ok(i64::try_from(*uint).unwrap_or(i64::MAX)),
        Value::Double(double) if double.fract() == 0.0 && double.abs() < 9e15 => Ok(*double as i64),
        Value::Double(_) => Err(Fault::new(format!("unsupported index value {} in list", key.shown()))),
        other => Err(Fault::new(format!("unsupported index type '{}' in list", other.type_of().name()))),
    }
}
