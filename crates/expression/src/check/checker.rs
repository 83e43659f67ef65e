use std::collections::BTreeSet;
use std::sync::Arc;

use crate::environment::Environment;
use crate::source::{Issues, Report};
use crate::syntax::{Expr, Tree};
use crate::types::Type;

use super::literals;
use super::message_types;
use super::signatures::{Overload, overloads};
use super::substitution::{Substitution, most_general};
use super::typed::Typed;

/// Type-checks a tree; selections that turn out to be qualified names are replaced in it.
pub(crate) fn check(text: &str, tree: &mut Tree, environment: &Environment) -> Result<Typed, Report> {
    let Tree { root, places } = tree;
    let mut checker = Checker {
        environment,
        places,
        issues: Issues::new(text),
        found: Substitution::default(),
        open_types: 0,
        scopes: Vec::new(),
        types: vec![None; places.len()],
        overloads: vec![Vec::new(); places.len()],
        variables: BTreeSet::new(),
    };
    checker.check(root);
    let Checker { issues, found, types, overloads, variables, .. } = checker;
    if !issues.is_empty() {
        return Err(issues.report());
    }
    let types = types.into_iter().map(|of| of.map_or(Type::Dyn, |of| found.apply(&of, true))).collect();
    let typed = Typed { types, overloads, variables };
    let mut issues = Issues::new(text);
    literals::check(tree, &typed, &mut issues);
    if issues.is_empty() { Ok(typed) } else { Err(issues.report()) }
}

pub(super) struct Checker<'c> {
    environment: &'c Environment,
    places: &'c [usize],
    issues: Issues<'c>,
    found: Substitution,
    open_types: usize,
    /// The variables of the enclosing comprehensions, the innermost last.
    scopes: Vec<(Arc<str>, Type)>,
    types: Vec<Option<Type>>,
    overloads: Vec<Vec<&'static str>>,
    variables: BTreeSet<String>,
}

/// The meaning of a name.
pub(super) enum ResolvedName {
    Variable(Type),
    TypeItself(Type),
}

impl Checker<'_> {
    pub(super) fn report(&mut self, expression: &Expr, message: impl Into<String>) {
        self.report_at(expression.id, message);
    }

    pub(super) fn report_at(&mut self, id: usize, message: impl Into<String>) {
        let at = self.places.get(id).copied().unwrap_or(0);
        self.report_in(at, message);
    }

    /// Reports an error at a byte of the text.
    pub(super) fn report_in(&mut self, at: usize, message: impl Into<String>) {
        self.issues.add(at, message);
    }

    pub(super) fn undeclared(&mut self, expression: &Expr, name: &str) {
        self.report(expression, format!("undeclared reference to '{name}' (in container '')"));
    }

    pub(super) fn mismatch(&mut self, expression: &Expr, expected: &Type, found: &Type) {
        self.report(expression, format!("expected type '{expected}' but found '{found}'"));
    }

    pub(super) fn set(&mut self, expression: &Expr, of: Type) {
        self.types[expression.id] = Some(of);
    }

    pub(super) fn type_of(&self, expression: &Expr) -> Type {
        self.types[expression.id].clone().unwrap_or(Type::Error)
    }

    pub(super) fn known(&self, of: &Type) -> Type {
        self.found.apply(of, false)
    }

    pub(super) fn assign(&mut self, to: &Type, from: &Type) -> bool {
        self.found.assign(to, from)
    }

    pub(super) fn open_type(&mut self) -> Type {
        self.open_types += 1;
        Type::Parameter(format!("_var{}", self.open_types - 1).into())
    }

    /// Runs with additional variables in scope.
    pub(super) fn within<T>(&mut self, variables: Vec<(Arc<str>, Type)>, run: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.scopes.len();
        self.scopes.extend(variables);
        let result = run(self);
        self.scopes.truncate(outer);
        result
    }

    /// The meaning of a name. A variable from outside is recorded as used.
    pub(super) fn find(&mut self, name: &str) -> Option<ResolvedName> {
        let name = name.strip_prefix('.').unwrap_or(name);
        if let Some((_, of)) = self.scopes.iter().rev().find(|(scoped, _)| **scoped == *name) {
            return Some(ResolvedName::Variable(of.clone()));
        }
        if let Some(of) = self.environment.variable(name) {
            self.variables.insert(name.to_owned());
            return Some(ResolvedName::Variable(of));
        }
        let message = || self.environment.has_patch_types().then(|| message_types::type_named(name)).flatten();
        Type::named(name).or_else(message).map(ResolvedName::TypeItself)
    }

    /// Whether the environment has a function of this name.
    pub(super) fn is_function(&self, name: &str) -> bool {
        overloads(name).is_some() && (name != message_types::ESCAPE_KEY || self.environment.has_patch_types())
    }

    /// The common type of two items of a list.
    pub(super) fn join(&mut self, previous: Option<Type>, current: Type) -> Type {
        let Some(previous) = previous else { return current };
        if self.assign(&previous, &current) {
            return most_general(&previous, &current);
        }
        Type::Dyn
    }

    /// Finds the matching overloads of a call, and its result type.
    pub(super) fn resolve(&mut self, call: &Expr, function: &str, target: Option<&Expr>, arguments: &[Expr]) {
        let given: Vec<Type> = target.into_iter().chain(arguments).map(|argument| self.type_of(argument)).collect();
        let mut result: Option<Type> = None;
        let mut fitting = Vec::new();
        for overload in overloads(function).unwrap_or_default() {
            if overload.is_member != target.is_some() || overload.parameters.len() != given.len() {
                continue;
            }
            let (parameters, returned) = self.instance(overload);
            if !self.found.assign_all(given.iter(), parameters.iter()) {
                continue;
            }
            fitting.push(overload.id);
            let returned = self.known(&returned);
            result = Some(match result {
                Some(result) if !result.is_dyn() && returned != result => Type::Dyn,
                Some(result) => result,
                None => returned,
            });
        }
        self.overloads[call.id] = fitting;
        let result = result.unwrap_or_else(|| {
            let given: Vec<Type> = given.iter().map(|of| self.found.apply(of, true)).collect();
            let signature = signature(&given, target.is_some());
            self.report(call, format!("found no matching overload for '{function}' applied to '{signature}'"));
            Type::Error
        });
        self.set(call, result);
    }

    /// A signature with fresh type parameters.
    fn instance(&mut self, overload: &Overload) -> (Vec<Type>, Type) {
        let mut own = Substitution::default();
        let mut names = BTreeSet::new();
        overload.parameters.iter().chain([&overload.result]).for_each(|of| collect(of, &mut names));
        for name in names {
            let open = self.open_type();
            own.set(&Type::Parameter(name), open);
        }
        let parameters = overload.parameters.iter().map(|of| own.apply(of, false)).collect();
        (parameters, own.apply(&overload.result, false))
    }
}

fn collect(of: &Type, names: &mut BTreeSet<Arc<str>>) {
    match of {
        Type::Parameter(name) => {
            names.insert(Arc::clone(name));
        }
        other => other.parameters().into_iter().for_each(|part| collect(part, names)),
    }
}

/// The argument types of a call, as in errors.
fn signature(given: &[Type], is_member: bool) -> String {
    let names: Vec<String> = given.iter().map(Type::to_string).collect();
    match names.split_first() {
        Some((target, rest)) if is_member => format!("{target}.({})", rest.join(", ")),
        _ => format!("({})", names.join(", ")),
    }
}
