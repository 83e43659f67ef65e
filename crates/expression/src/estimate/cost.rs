use crate::check::Typed;
use crate::schema::Schema;
use crate::syntax::{Entry, Expr, Fold, Kind, Literal, Tree};
use crate::types::Type;

use super::call::{Argument, EstimatedCall};
use super::calls;
use super::path;
use super::range::Range;
use super::sizes::{Entries, RangePart, Sizes};

const LIST: Range = Range::fixed(10);
const MAP: Range = Range::fixed(30);
const STRUCT: Range = Range::fixed(40);
/// The name of the accumulator of comprehensions in older versions of cel-go.
const OLD_ACCUMULATOR: &str = "__result__";

/// The cost range of an expression, whose variables have a schema.
pub(crate) fn estimate(tree: &Tree, typed: &Typed, schema: Option<&Schema>) -> Range {
    Estimate { sizes: Sizes::new(typed, schema) }.cost(&tree.root)
}

struct Estimate<'e> {
    sizes: Sizes<'e>,
}

impl<'e> Estimate<'e> {
    fn cost(&mut self, expression: &'e Expr) -> Range {
        match &expression.kind {
            Kind::Unknown | Kind::Literal(_) => Range::NOTHING,
            Kind::Ident(name) => {
                self.sizes.name(expression, name);
                // A type as a value is a constant, but costs as much as a variable.
                Range::ONE
            }
            Kind::Select { operand, is_test: true, .. } => self.cost(operand),
            Kind::Select { operand, field, .. } => {
                let cost = self.cost(operand);
                let of = self.sizes.typed.type_of(operand);
                let is_looked_up = matches!(of, Type::Map(..) | Type::Object(_) | Type::Named(_) | Type::Parameter(_));
                self.sizes.below(expression, operand, path::field(field));
                if is_looked_up { cost.plus(Range::ONE) } else { cost }
            }
            Kind::Call { function, target, arguments } => self.call(expression, function, target.as_deref(), arguments),
            Kind::List(items) => self.list(expression, items),
            Kind::Map(entries) => self.map(expression, entries),
            Kind::Struct { fields, .. } => {
                fields.iter().fold(STRUCT, |sum, (_, _, value, _)| sum.plus(self.cost(value)))
            }
            Kind::Fold(fold) if is_binding(fold) => self.binding(expression, fold),
            Kind::Fold(fold) => self.fold(expression, fold),
        }
    }

    fn list(&mut self, expression: &Expr, items: &'e [(Expr, bool)]) -> Range {
        let mut sum = LIST;
        let mut value = if items.is_empty() { Range::NOTHING } else { Range::NONE_YET };
        for (item, _) in items {
            sum = sum.plus(self.cost(item));
            value = value.union(self.sizes.size_or_any(item));
        }
        self.sizes.set_entries(expression, Some(Entries { is_list: true, key: Range::ONE, value }));
        sum
    }

    fn map(&mut self, expression: &Expr, entries: &'e [Entry]) -> Range {
        let mut sum = MAP;
        let start = if entries.is_empty() { Range::NOTHING } else { Range::NONE_YET };
        let (mut key, mut value) = (start, start);
        for entry in entries {
            sum = sum.plus(self.cost(&entry.key)).plus(self.cost(&entry.value));
            key = key.union(self.sizes.size_or_any(&entry.key));
            value = value.union(self.sizes.size_or_any(&entry.value));
        }
        self.sizes.set_entries(expression, Some(Entries { is_list: false, key, value }));
        sum
    }

    fn fold(&mut self, expression: &Expr, fold: &'e Fold) -> Range {
        let before = self.cost(&fold.range).plus(self.cost(&fold.start));
        self.sizes.bind(&fold.accumulator, &fold.start);
        match &fold.second {
            Some(second) => {
                self.sizes.iterate(&fold.variable, &fold.range, RangePart::Key);
                self.sizes.iterate(second, &fold.range, RangePart::Value);
            }
            None => self.sizes.iterate(&fold.variable, &fold.range, RangePart::Single),
        }
        let condition = self.cost(&fold.condition);
        let step = self.cost(&fold.step);
        self.sizes.leave(1 + usize::from(fold.second.is_some()));
        let after = self.cost(&fold.result);
        self.sizes.leave(1);
        let count = self.sizes.size_or_any(&fold.range);
        match &fold.start.kind {
            Kind::Literal(_) => {
                let size = self.sizes.size(&fold.start);
                self.sizes.set(expression, size);
            }
            Kind::List(_) | Kind::Map(_) => {
                self.sizes.set(expression, Some(count));
                let entries = self.sizes.entries(&fold.step);
                self.sizes.set_entries(expression, entries);
            }
            _ => {}
        }
        before.plus(after).plus(count.times(step.plus(condition)))
    }

    /// A binding: a comprehension over nothing, of which only the result is evaluated.
    fn binding(&mut self, expression: &Expr, fold: &'e Fold) -> Range {
        let before = self.cost(&fold.range).plus(self.cost(&fold.start));
        self.sizes.bind(&fold.accumulator, &fold.start);
        let cost = before.plus(self.cost(&fold.result));
        self.sizes.leave(1);
        self.sizes.copy(expression, &fold.result);
        cost
    }

    fn call(&mut self, expression: &Expr, function: &str, target: Option<&'e Expr>, arguments: &'e [Expr]) -> Range {
        if let ("dyn", [inner]) = (function, arguments) {
            let cost = self.cost(inner);
            self.sizes.copy(expression, inner);
            return cost.plus(Range::ONE);
        }
        let mut costs = Vec::with_capacity(arguments.len());
        let mut given = Vec::with_capacity(arguments.len());
        for argument in arguments {
            costs.push(self.cost(argument));
            given.push(self.argument(argument));
        }
        let overloads = self.overloads(expression, function);
        if overloads.is_empty() {
            return Range::NOTHING;
        }
        let of_target = target.map_or(Range::NOTHING, |target| self.cost(target));
        let target = target.map(|target| self.argument(target));
        let (mut cost, mut result) = (Range::NONE_YET, None);
        for overload in overloads {
            let call = EstimatedCall { function, overload, target, arguments: &given, costs: &costs };
            let (one, size) = calls::cost(&call, &mut self.sizes, expression);
            cost = cost.union(one);
            result = match (result, size) {
                (Some(known), Some(size)) => Some(Range::union(known, size)),
                (known, size) => known.or(size),
            };
            if let ("index_list" | "index_map", Some(first)) = (overload, arguments.first()) {
                result = self.sizes.entries(first).map(|entries| entries.value);
                self.sizes.below(expression, first, path::items);
            }
            result = result.or_else(|| self.sizes.size(expression));
        }
        self.sizes.set(expression, result);
        of_target.plus(cost)
    }

    fn overloads(&self, expression: &Expr, function: &str) -> Vec<&'static str> {
        match function {
            "_&&_" => vec!["logical_and"],
            "_||_" => vec!["logical_or"],
            "_?._" => vec!["select_optional_field"],
            _ => self.sizes.typed.overloads.get(expression.id).cloned().unwrap_or_default(),
        }
    }

    fn argument(&mut self, expression: &'e Expr) -> Argument<'e> {
        Argument {
            expression,
            of: self.sizes.typed.type_of(expression),
            path: self.sizes.path(expression),
            size: self.sizes.size(expression),
        }
    }
}

fn is_binding(fold: &Fold) -> bool {
    matches!(&fold.range.kind, Kind::List(items) if items.is_empty())
        && matches!(fold.condition.kind, Kind::Literal(Literal::Bool(false)))
        && *fold.accumulator != *OLD_ACCUMULATOR
}
