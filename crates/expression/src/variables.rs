use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::authorizer::{Authorization, Authorizer, AuthorizerAttributes};
use crate::expression::{Error, Expression};
use crate::fault::Fault;
use crate::schema::Schema;
use crate::value::{Opaque, Value, from_json, references};

/// The variables of an expression, by name. Values are converted only when an expression reads them.
#[derive(Clone, Default)]
pub struct Variables<'v> {
    values: BTreeMap<String, Binding<'v>>,
}

#[derive(Clone)]
enum Binding<'v> {
    Json(&'v Json, Option<&'v Schema>),
    Owned(Arc<Json>, Option<&'v Schema>),
    Optional(Option<&'v Json>, Option<&'v Schema>),
    List(Arc<Vec<&'v Json>>),
    Authorizer(Arc<dyn Authorizer>),
    Check(Arc<dyn Authorizer>, Box<AuthorizerAttributes>),
    Computed(Arc<Result<Expression, Error>>),
}

/// A JSON value for use in several lists.
#[derive(Clone, Debug)]
pub struct Prepared(Json);

impl Prepared {
    /// Prepares a value.
    pub fn new(value: Json) -> Self {
        Self(value)
    }
}

impl<'v> Variables<'v> {
    /// Sets the variable `name`.
    pub fn set(&mut self, name: impl Into<String>, value: &'v Json) {
        self.values.insert(name.into(), Binding::Json(value, None));
    }

    /// Sets the variable `name`, with a schema.
    pub fn set_typed(&mut self, name: impl Into<String>, value: &'v Json, schema: &'v Schema) {
        self.values.insert(name.into(), Binding::Json(value, Some(schema)));
    }

    /// Sets the variable `name` to an optional value.
    pub fn set_optional(&mut self, name: impl Into<String>, value: Option<&'v Json>, schema: &'v Schema) {
        self.values.insert(name.into(), Binding::Optional(value, Some(schema)));
    }

    /// Sets the variable `name` to an owned value.
    pub fn set_owned(&mut self, name: impl Into<String>, value: Json) {
        self.values.insert(name.into(), Binding::Owned(Arc::new(value), None));
    }

    /// Sets the variable `name` to an owned value, with a schema.
    pub fn set_owned_typed(&mut self, name: impl Into<String>, value: Json, schema: &'v Schema) {
        self.values.insert(name.into(), Binding::Owned(Arc::new(value), Some(schema)));
    }

    /// Sets the variable `name` to a list of values.
    pub fn set_list(&mut self, name: impl Into<String>, values: impl IntoIterator<Item = &'v Prepared>) {
        let values = values.into_iter().map(|value| &value.0).collect();
        self.values.insert(name.into(), Binding::List(Arc::new(values)));
    }

    /// Sets the variable `name` to an authorizer, which decides for the requesting user.
    pub fn set_authorizer(&mut self, name: impl Into<String>, authorizer: Arc<dyn Authorizer>) {
        self.values.insert(name.into(), Binding::Authorizer(authorizer));
    }

    /// Sets the variable `name` to a check of one resource that lacks only its verb.
    pub fn set_resource_check(
        &mut self,
        name: impl Into<String>,
        authorizer: Arc<dyn Authorizer>,
        about: AuthorizerAttributes,
    ) {
        self.values.insert(name.into(), Binding::Check(authorizer, Box::new(about)));
    }

    /// Sets the variable `name` to the result of an expression, which is evaluated when it is first needed.
    pub fn set_computed(&mut self, name: impl Into<String>, expression: Arc<Result<Expression, Error>>) {
        self.values.insert(name.into(), Binding::Computed(expression));
    }

    /// A variable, and the expression that computes it, if any.
    pub(crate) fn find(&self, name: &str) -> Option<(&str, Option<&Result<Expression, Error>>)> {
        let (name, binding) = self.values.get_key_value(name)?;
        let expression = match binding {
            Binding::Computed(expression) => Some(&**expression),
            _ => None,
        };
        Some((name, expression))
    }

    /// The value of a name, if no expression computes it.
    pub(crate) fn value(&self, name: &str) -> Option<Result<Value<'_>, Fault>> {
        let authorization = |of| Value::opaque(Opaque::Authorization(Arc::new(of)));
        Some(match self.values.get(name)? {
            Binding::Json(json, schema) => from_json(json, *schema),
            Binding::Owned(json, schema) => from_json(json, *schema),
            Binding::Optional(None, _) => Ok(Value::Optional(None)),
            Binding::Optional(Some(json), schema) => from_json(json, *schema).map(Value::some),
            Binding::List(items) => Ok(references(items.iter().copied())),
            Binding::Authorizer(authorizer) => {
                Ok(authorization(Authorization::Authorizer(Arc::clone(authorizer), AuthorizerAttributes::default())))
            }
            Binding::Check(authorizer, about) => {
                Ok(authorization(Authorization::Resource(Arc::clone(authorizer), AuthorizerAttributes::clone(about))))
            }
            Binding::Computed(_) => return None,
        })
    }
}
