use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use coracle_expression::{Environment, Error, Expression, Schema, Type};
use coracle_meta::{GroupVersion, GroupVersionKind};
use coracle_schema::Table;
use serde_json::Value;

use crate::component_words::{COMPONENTS, controllers, nearest_component, senders};
use crate::misfit::{Misfit, misfit};
use crate::parse::Vocabulary;
use crate::typed;
use crate::word::did_you_mean;

/// The built-in kinds of the cluster with their fields, and expressions over lists of their objects by plural.
#[derive(Debug)]
pub struct BuiltIn {
    table: Arc<Table>,
    /// By kind, created when an expression uses it.
    schemas: BTreeMap<GroupVersionKind, OnceLock<Arc<Schema>>>,
}

impl Default for BuiltIn {
    fn default() -> Self {
        let table = Arc::clone(Table::newest());
        let schemas = table.resources().iter().map(|row| (row.kind.clone(), OnceLock::new())).collect();
        Self { table, schemas }
    }
}

impl BuiltIn {
    /// The kinds by their plurals.
    pub fn kinds_by_plural(&self) -> BTreeMap<String, String> {
        self.table.resources().iter().map(|row| (row.plural.clone(), row.kind.kind.clone())).collect()
    }

    /// Checks the name of a component, or of a controller or a simulated node as a part of one.
    ///
    /// # Errors
    /// If there is no such component, with the nearest name.
    pub fn check_component(&self, name: &str) -> Result<(), String> {
        let is_node = name.strip_prefix("kubelet/").is_some_and(|node| !node.is_empty());
        if is_node || COMPONENTS.contains(&name) || controllers().any(|known| known == name) {
            return Ok(());
        }
        let hint = nearest_component(name, &[]).map(|known| format!("; did you mean `{known}`?"));
        Err(format!("unknown component `{name}`{}", hint.unwrap_or_default()))
    }

    fn kind(api_version: &str, kind: &str) -> Option<GroupVersionKind> {
        Some(GroupVersion::parse(api_version)?.kind(kind))
    }

    /// The type of objects of a kind.
    fn type_of(&self, kind: &GroupVersionKind) -> Option<Type> {
        let made = self.schemas.get(kind)?;
        let schema = self.table.kind(kind)?;
        Some(made.get_or_init(|| typed::schema(&kind.kind, schema.root())).as_type())
    }

    /// The type of the list that a plural stands for; `None` if it is not the plural of a kind. If one list holds
    /// objects of several kinds, its type is unknown.
    fn list_of(&self, plural: &str) -> Option<Type> {
        let stored =
            self.table.resources().iter().filter(|row| row.plural == plural && row.stored_as == row.resource());
        let kinds: Vec<_> = stored.map(|row| &row.kind).collect();
        match kinds[..] {
            [] => None,
            [kind] => self.type_of(kind).map(Type::list),
            _ => Some(Type::list(Type::Dyn)),
        }
    }

    /// The error of an expression, with a suggestion for the field.
    fn refusal(&self, error: &Error) -> String {
        let field = match error {
            Error::Refused(report) => report.issues.iter().find_map(|issue| {
                let (_, rest) = issue.message.split_once("undefined field '")?;
                rest.split('\'').next()
            }),
            _ => None,
        };
        let known = || {
            self.table.types().filter_map(|ty| match &ty.body {
                coracle_schema::TypeBody::Struct(of) => Some(of.fields.iter().map(|field| field.name.as_str())),
                coracle_schema::TypeBody::Special(_) => None,
            })
        };
        let hint = field.map(|field| did_you_mean(field, known().flatten())).unwrap_or_default();
        format!("{error}{hint}")
    }
}

/// The errors except those about comparisons with null: a stored field may be null although its type has no null.
fn with_null(error: Error) -> Option<Error> {
    let Error::Refused(mut report) = error else { return Some(error) };
    let is_comparison = |message: &str| {
        let types = ["_!=_", "_==_"].iter().find_map(|operator| {
            message.strip_prefix(&format!("found no matching overload for '{operator}' applied to '("))
        });
        types.is_some_and(|types| types.starts_with("null,") || types.ends_with(", null)'"))
    };
    report.issues.retain(|issue| !is_comparison(&issue.message));
    (!report.issues.is_empty()).then_some(Error::Refused(report))
}

impl Vocabulary for BuiltIn {
    fn plural(&self, api_version: &str, kind: &str) -> Option<String> {
        let kind = Self::kind(api_version, kind)?;
        self.table.resources().iter().find(|row| row.kind == kind).map(|row| row.plural.clone())
    }

    fn kinds(&self) -> Vec<String> {
        self.table.resources().iter().map(|row| row.kind.kind.clone()).collect()
    }

    fn plurals(&self) -> Vec<String> {
        self.table.resources().iter().map(|row| row.plural.clone()).collect()
    }

    fn senders(&self) -> Vec<String> {
        senders().collect()
    }

    fn stored_version(&self, api_version: &str, kind: &str) -> Option<String> {
        let kind = Self::kind(api_version, kind)?;
        let row = self.table.resources().iter().find(|row| row.kind == kind)?;
        self.table.resource(&row.stored_as).map(|stored| stored.kind.api_version())
    }

    fn misfit(&self, api_version: &str, kind: &str, object: &Value) -> Option<Misfit> {
        let schema = self.table.kind(&Self::kind(api_version, kind)?)?;
        misfit(kind, schema.root(), object)
    }

    fn expression_problem(&self, text: &str, names: &BTreeMap<String, Option<(String, String)>>) -> Option<String> {
        let expression = match Expression::compile(text) {
            Ok(expression) => expression,
            Err(error) => return Some(error.to_string()),
        };
        let mut environment = Environment::new();
        for name in expression.variables() {
            let of = match names.get(name) {
                Some(Some((api_version, kind))) => {
                    Self::kind(api_version, kind).and_then(|kind| self.type_of(&kind)).unwrap_or(Type::Dyn)
                }
                Some(None) => Type::Dyn,
                None if name == "revision" => Type::Int,
                None => match self.list_of(name) {
                    Some(list) => list,
                    None => {
                        let plurals: BTreeSet<String> = self.plurals().into_iter().collect();
                        let known = plurals.iter().chain(names.keys()).map(String::as_str);
                        let hint = did_you_mean(name, known);
                        return Some(format!(
                            "`{name}` is neither the plural of a kind, nor `revision`, nor a name given by a step{hint}"
                        ));
                    }
                },
            };
            environment = environment.with(name.as_str(), of);
        }
        match Expression::compile_in(text, &environment) {
            Err(error) => with_null(error).map(|error| self.refusal(&error)),
            Ok(typed) => match typed.output_type() {
                Type::Bool | Type::Dyn => None,
                other => Some(format!("it gives a value of type {other}, where true or false is needed")),
            },
        }
    }
}
