use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_expression::{
    Allowance, COST_OF_ONE_EXPRESSION, COST_OF_ONE_OBJECT, Error, Expression, Schema, Session, Variables,
};
use coracle_meta::{FieldError, go_quote};
use coracle_schema::structural::{Rule, Structural, ValueType, path_below};
use serde_json::{Map, Value};

use super::field_path;
use super::rule_schema::{environment, rule_schema};

/// The maximum length of a computed message, in bytes.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// The compiled rules of a custom kind, as a tree parallel to its schema. In Kubernetes: `schema/cel.Validator`.
#[derive(Debug, Default)]
pub(super) struct ValidationRules {
    here: Vec<Compiled>,
    properties: BTreeMap<String, ValidationRules>,
    additional: Option<Box<ValidationRules>>,
    items: Option<Box<ValidationRules>>,
}

#[derive(Debug)]
struct Compiled {
    rule: Rule,
    schema: Arc<Schema>,
    expression: Expression,
    message: Option<Expression>,
    /// Whether the rule is a transition rule, which uses the previous value.
    is_transition: bool,
}

/// The errors of one object, and the remaining cost budget of its rules.
struct Findings<'a> {
    errors: Vec<FieldError>,
    budget: u64,
    allowance: &'a Allowance,
    /// Whether the evaluation has ended.
    is_over: bool,
}

/// A value and its previous version.
#[derive(Clone, Copy)]
struct Change<'v> {
    new: &'v Value,
    old: Option<&'v Value>,
    /// Whether the nearest enclosing value that can be correlated is unchanged.
    is_same_around: bool,
}

impl ValidationRules {
    /// Compiles the rules of the schema of a kind; a definition with rules that do not compile was refused.
    pub(super) fn compile(schema: &Structural) -> Self {
        Self::compile_node(schema, true)
    }

    /// Compiles the rules at and below one node of a schema.
    pub(super) fn compile_for(schema: &Structural, is_resource: bool) -> Self {
        Self::compile_node(schema, is_resource)
    }

    fn compile_node(schema: &Structural, is_resource: bool) -> Self {
        let below = |schema: &Structural| Self::compile_node(schema, schema.embedded_resource);
        let boxed = |schema: &Structural| Some(Box::new(below(schema))).filter(|rules| !rules.is_empty());
        let seen = if schema.rules.is_empty() { None } else { rule_schema(schema, is_resource).map(Arc::new) };
        let here = seen.iter().flat_map(|seen| schema.rules.iter().filter_map(|rule| Compiled::new(rule, seen)));
        let properties = schema.properties.iter().map(|(name, schema)| (name.clone(), below(schema)));
        Self {
            here: here.collect(),
            properties: properties.filter(|(_, rules)| !rules.is_empty()).collect(),
            additional: schema.additional.schema().and_then(boxed),
            items: schema.items.as_deref().and_then(boxed),
        }
    }

    /// Whether there are no rules.
    pub(super) fn is_empty(&self) -> bool {
        self.here.is_empty() && self.properties.is_empty() && self.additional.is_none() && self.items.is_none()
    }

    /// Evaluates the rules for a value and its change, up to the cost limit.
    pub(super) fn check(
        &self,
        schema: &Structural,
        new: &Value,
        old: Option<&Value>,
        allowance: &Allowance,
    ) -> Vec<FieldError> {
        let mut findings = Findings { errors: Vec::new(), budget: COST_OF_ONE_OBJECT, allowance, is_over: false };
        self.visit(schema, Change { new, old, is_same_around: false }, "", &mut findings);
        findings.errors
    }

    fn visit(&self, schema: &Structural, change: Change<'_>, path: &str, findings: &mut Findings<'_>) {
        if change.new.is_null() || findings.is_over {
            return;
        }
        let old = change.old.filter(|old| !old.is_null());
        let is_same = old.map_or(change.is_same_around, |old| schema.is_same(change.new, old));
        let change = Change { old, is_same_around: is_same, ..change };
        for rule in &self.here {
            rule.check(schema, change, path, findings);
            if findings.is_over {
                return;
            }
        }
        match change.new {
            Value::Object(fields) => self.visit_fields(schema, fields, change, path, findings),
            Value::Array(items) => {
                let (Some(rules), Some(below)) = (&self.items, &schema.items) else { return };
                let items_before = schema.items_before(old);
                for (index, new) in items.iter().enumerate() {
                    let old = items_before.of(new);
                    rules.visit(below, Change { new, old, ..change }, &format!("{path}[{index}]"), findings);
                }
            }
            _ => {}
        }
    }

    fn visit_fields(
        &self,
        schema: &Structural,
        fields: &Map<String, Value>,
        change: Change<'_>,
        path: &str,
        findings: &mut Findings<'_>,
    ) {
        for (name, new) in fields {
            let change = Change { new, old: change.old.and_then(|old| old.get(name)), ..change };
            let dot = if path.is_empty() { "" } else { "." };
            if let (Some(rules), Some(below)) = (self.properties.get(name), schema.properties.get(name)) {
                rules.visit(below, change, &path_below(path, dot, name, ""), findings);
            } else if let (Some(rules), Some(below)) = (&self.additional, schema.additional.schema()) {
                rules.visit(below, change, &path_below(path, "[", name, "]"), findings);
            }
        }
    }
}

impl Findings<'_> {
    fn end(&mut self, error: FieldError) {
        self.errors.push(error);
        self.is_over = true;
    }

    /// Subtracts a cost from the budget; returns whether the budget suffices.
    fn pays(&mut self, cost: u64) -> bool {
        let left = self.budget.checked_sub(cost);
        self.budget = left.unwrap_or(0);
        left.is_some()
    }
}

impl Compiled {
    fn new(rule: &Rule, schema: &Arc<Schema>) -> Option<Self> {
        let environment = environment(rule, schema);
        let expression = Expression::compile_in(&rule.rule, &environment).ok()?;
        let is_transition = expression.variables().contains("oldSelf");
        let message = Expression::compile_in(&rule.message_expression, &environment).ok();
        Some(Self { rule: rule.clone(), schema: Arc::clone(schema), expression, message, is_transition })
    }

    fn check(&self, schema: &Structural, change: Change<'_>, path: &str, findings: &mut Findings<'_>) {
        let is_optional = self.rule.optional_old_self == Some(true);
        if self.is_transition && change.old.is_none() && !is_optional {
            return;
        }
        let mut variables = Variables::default();
        variables.set_typed("self", change.new, &self.schema);
        if is_optional {
            variables.set_optional("oldSelf", change.old, &self.schema);
        } else if let Some(old) = change.old {
            variables.set_typed("oldSelf", old, &self.schema);
        }
        let mut session = Session::within(&variables, findings.allowance);
        let run = session.decide(&self.expression, COST_OF_ONE_EXPRESSION);
        if findings.allowance.is_spent() {
            findings.is_over = true;
            return;
        }
        let type_name = schema.value_type.map_or("", ValueType::as_str);
        let invalid = |what: String| FieldError::invalid(display(path), type_name, what);
        if !findings.pays(run.cost) {
            let what = "validation failed due to running out of cost budget, no further validation rules will be run";
            return findings.end(invalid(what.to_owned()));
        }
        match run.result {
            Ok(true) => {}
            // Unchanged values that violate a rule can stay.
            Ok(false) if !self.is_transition && change.is_same_around => {}
            Ok(false) => match self.message(&variables, findings) {
                Ok(message) => findings.errors.push(self.error(schema, change.new, path, message)),
                Err(what) => findings.end(invalid(what)),
            },
            Err(error) if error.is_too_costly() => {
                let what = "no further validation rules will be run due to call cost exceeds limit for rule";
                findings.end(invalid(format!("'{error}': {what}: {}", self.name())));
            }
            Err(error) => findings.errors.push(invalid(self.failure(&error))),
        }
    }

    /// Why the rule could not be evaluated.
    fn failure(&self, error: &Error) -> String {
        let text = error.to_string();
        if text.starts_with("no such overload") {
            let what = "call arguments did not match a supported operator, function or macro signature for rule";
            return format!("'{text}': {what}: {}", self.name());
        }
        format!("{text} evaluating rule: {}", self.name())
    }

    /// The rule in messages.
    fn name(&self) -> &str {
        match self.rule.message.trim() {
            "" => self.rule.rule.trim(),
            message => message,
        }
    }

    /// The message of a violation; `Err` if its computation exceeds the cost limit.
    fn message(&self, variables: &Variables<'_>, findings: &mut Findings<'_>) -> Result<String, String> {
        if let Some(message) = &self.message {
            let run = Session::within(variables, findings.allowance).run(message, COST_OF_ONE_EXPRESSION);
            if !findings.pays(run.cost) {
                let what = "messageExpression evaluation failed due to running out of cost budget, no further \
                    validation rules will be run";
                return Err(what.to_owned());
            }
            match run.result {
                Ok(Value::String(text)) => {
                    let text = text.trim();
                    if !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n') {
                        return Ok(text.to_owned());
                    }
                }
                Err(error) if error.is_too_costly() => {
                    let what = "no further validation rules will be run due to call cost exceeds limit for \
                        messageExpression";
                    return Err(format!("{what}: {}", go_quote(message.text())));
                }
                _ => {}
            }
        }
        Ok(match self.rule.message.trim() {
            "" => format!("failed rule: {}", self.rule.rule.trim()),
            message => message.to_owned(),
        })
    }

    fn error(&self, schema: &Structural, value: &Value, path: &str, message: String) -> FieldError {
        let field = match field_path::normalized(&self.rule.field_path, schema) {
            Ok(below) if !below.is_empty() => display(&format!("{path}.{below}")),
            _ => display(path),
        };
        let is_printed = !matches!(schema.value_type, Some(ValueType::Object | ValueType::Array));
        match self.rule.reason.as_str() {
            "FieldValueForbidden" => FieldError::forbidden(field, message),
            "FieldValueRequired" => FieldError::required(field, message),
            "FieldValueDuplicate" if is_printed => FieldError::duplicate(field, value.clone()),
            "FieldValueDuplicate" => FieldError::duplicate(field, ""),
            _ if is_printed => FieldError::invalid(field, value.clone(), message),
            _ => FieldError::invalid_unprinted(field, message),
        }
    }
}

/// A path as errors show it: without a leading dot, and `<nil>` for the root.
fn display(path: &str) -> String {
    match path.trim_start_matches('.') {
        "" => "<nil>".to_owned(),
        path => path.to_owned(),
    }
}
