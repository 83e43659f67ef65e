use std::sync::Arc;

use crate::check::Typed;
use crate::schema::Schema;
use crate::syntax::{Expr, Kind, Literal};
use crate::types::Type;

use super::path::{self, Path};
use super::range::Range;

/// The known sizes of the parts of an expression, by their ids.
pub(super) struct Sizes<'e> {
    pub(super) typed: &'e Typed,
    root: Option<&'e Schema>,
    paths: Vec<Path<'e>>,
    computed: Vec<Option<Range>>,
    entries: Vec<Option<Entries>>,
    /// The variables of the enclosing comprehensions, the innermost last.
    scopes: Vec<(Arc<str>, Local<'e>)>,
}

/// The known sizes of the keys and values of a list or a map that the expression creates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entries {
    pub(super) is_list: bool,
    pub(super) key: Range,
    pub(super) value: Range,
}

/// What is known about a variable of a comprehension.
#[derive(Clone, Copy)]
struct Local<'e> {
    path: Path<'e>,
    size: Option<Range>,
    entries: Option<Entries>,
}

/// The part of the range that a variable represents.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RangePart {
    Key,
    Value,
    /// The only variable of a comprehension: the items of a list, the keys of a map.
    Single,
}

impl Entries {
    pub(super) fn union(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (one, other) = (one?, other?);
        Some(Self { is_list: one.is_list, key: one.key.union(other.key), value: one.value.union(other.value) })
    }
}

impl<'e> Sizes<'e> {
    pub(super) fn new(typed: &'e Typed, root: Option<&'e Schema>) -> Self {
        let count = typed.types.len();
        Self {
            typed,
            root,
            paths: vec![Path::Unsaid; count],
            computed: vec![None; count],
            entries: vec![None; count],
            scopes: Vec::new(),
        }
    }

    fn local(&self, name: &str) -> Option<&Local<'e>> {
        self.scopes.iter().rev().find(|(scoped, _)| **scoped == *name).map(|(_, local)| local)
    }

    pub(super) fn path(&self, expression: &Expr) -> Path<'e> {
        match &expression.kind {
            Kind::Ident(name) => self.local(name).map_or(self.paths[expression.id], |local| local.path),
            _ => self.paths[expression.id],
        }
    }

    /// Records the path of a name.
    pub(super) fn name(&mut self, expression: &Expr, name: &str) {
        self.paths[expression.id] = self.local(name).map_or(Path::root(self.root), |local| local.path);
    }

    /// Records that an expression is one step below another.
    pub(super) fn below(&mut self, expression: &Expr, operand: &Expr, step: impl FnOnce(&'e Schema) -> Path<'e>) {
        self.paths[expression.id] = self.path(operand).then(self.root, step);
    }

    pub(super) fn items_of(&self, path: Path<'e>) -> Path<'e> {
        path.then(self.root, path::items)
    }

    pub(super) fn set(&mut self, expression: &Expr, size: Option<Range>) {
        if size.is_some() {
            self.computed[expression.id] = size;
        }
    }

    pub(super) fn set_entries(&mut self, expression: &Expr, entries: Option<Entries>) {
        if entries.is_some() {
            self.entries[expression.id] = entries;
        }
    }

    pub(super) fn copy(&mut self, to: &Expr, from: &Expr) {
        let (size, entries) = (self.size(from), self.entries(from));
        self.set(to, size);
        self.set_entries(to, entries);
    }

    /// In Kubernetes: `coster.computeSize`.
    pub(super) fn size(&mut self, expression: &Expr) -> Option<Range> {
        if let Some(size) = self.computed[expression.id].or_else(|| written_size(expression)) {
            return Some(size);
        }
        if let Some(largest) = self.path(expression).largest() {
            self.computed[expression.id] = Some(Range::up_to(largest));
            return self.computed[expression.id];
        }
        if is_scalar(self.typed.type_of(expression)) {
            return Some(Range::ONE);
        }
        match &expression.kind {
            Kind::Ident(name) => self.local(name)?.size,
            _ => None,
        }
    }

    pub(super) fn size_or_any(&mut self, expression: &Expr) -> Range {
        self.size(expression).unwrap_or(Range::ANY)
    }

    pub(super) fn entries(&self, expression: &Expr) -> Option<Entries> {
        self.entries[expression.id].or_else(|| match &expression.kind {
            Kind::Ident(name) => self.local(name)?.entries,
            _ => None,
        })
    }

    /// Adds a variable that represents a value.
    pub(super) fn bind(&mut self, name: &Arc<str>, value: &Expr) {
        let local = Local { path: self.path(value), size: self.size(value), entries: self.entries(value) };
        self.scopes.push((Arc::clone(name), local));
    }

    /// Adds a variable that iterates over a list or a map.
    pub(super) fn iterate(&mut self, name: &Arc<str>, range: &Expr, part: RangePart) {
        let entries = self.entries(range);
        let is_list = entries.map_or(matches!(self.typed.type_of(range), Type::List(_)), |entries| entries.is_list);
        let is_value = part == RangePart::Value || (part == RangePart::Single && is_list);
        let size = entries.map(|entries| if is_value { entries.value } else { entries.key });
        let step = match (is_value, is_list) {
            (true, _) => path::items,
            (false, true) => |_: &Schema| Path::Lost,
            (false, false) => path::keys,
        };
        let path = self.path(range).then(self.root, step);
        self.scopes.push((Arc::clone(name), Local { path, size, entries: None }));
    }

    pub(super) fn leave(&mut self, variables: usize) {
        self.scopes.truncate(self.scopes.len().saturating_sub(variables));
    }
}

/// The size of a literal.
fn written_size(expression: &Expr) -> Option<Range> {
    Some(Range::fixed(match &expression.kind {
        Kind::Literal(Literal::String(text)) => text.chars().count() as u64,
        Kind::Literal(Literal::Bytes(bytes)) => bytes.len() as u64,
        Kind::Literal(_) => 1,
        Kind::List(items) => items.len() as u64,
        Kind::Map(entries) => entries.len() as u64,
        _ => return None,
    }))
}

fn is_scalar(of: &Type) -> bool {
    match of {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
        Type::Optional(inner) => is_scalar(inner),
        _ => false,
    }
}
