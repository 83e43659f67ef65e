use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use coracle_expression::{Environment, Error, Expression, Schema, Type};
use coracle_meta::{FieldError, go_json};
use coracle_schema::structural::{Rule, Structural, path_below};
use serde_json::Value;

use super::field_path;
use super::rule_cost::{self, Cardinality, Costs};
use super::rule_schema::{environment, rule_schema};

/// The errors of the rules of a schema at `path` in its definition, and their estimated costs. Single rules of an
/// unchanged schema can exceed the cost limit.
/// In Kubernetes: the part of `ValidateCustomResourceDefinitionOpenAPISchema` about rules.
///
/// `elsewhere` are the other errors of the schema: expressions are validated only at places without them, and not at
/// all if the schema is not structural.
pub(super) fn check_rules(
    schema: &Structural,
    path: &str,
    elsewhere: Option<&[FieldError]>,
    is_unchanged: bool,
    errors: &mut Vec<FieldError>,
) {
    let elsewhere = elsewhere.map(|errors| errors.iter().map(|error| error.field.as_str()).collect());
    let mut walk =
        Walk { of_words: Vec::new(), of_expressions: Vec::new(), costs: Costs::new(is_unchanged), elsewhere };
    walk.visit(&Place { schema, path, is_resource: true, uncorrelatable: None, cardinality: Some(1) });
    errors.append(&mut walk.of_words);
    errors.append(&mut walk.of_expressions);
    errors.extend(walk.costs.errors(path));
}

struct Walk<'e> {
    /// The fields with other errors.
    elsewhere: Option<BTreeSet<&'e str>>,
    of_words: Vec<FieldError>,
    of_expressions: Vec<FieldError>,
    costs: Costs,
}

/// A node of a schema.
#[derive(Clone, Copy)]
struct Place<'p> {
    schema: &'p Structural,
    path: &'p str,
    is_resource: bool,
    /// The outermost enclosing list whose items cannot be correlated with their previous versions.
    uncorrelatable: Option<&'p str>,
    cardinality: Cardinality,
}

impl Walk<'_> {
    fn visit(&mut self, place: &Place<'_>) {
        let Place { schema, path, .. } = *place;
        let wrong_before = self.of_words.len();
        if let Some(items) = &schema.items {
            let uncorrelatable = place.uncorrelatable.or((schema.list_type != "map").then_some(path));
            self.below(items, &format!("{path}.items"), &Place { uncorrelatable, ..*place });
        }
        for (name, below) in &schema.properties {
            self.below(below, &path_below(path, ".properties[", name, "]"), place);
        }
        if let Some(below) = schema.additional.schema() {
            self.below(below, &format!("{path}.additionalProperties"), place);
        }
        for (index, rule) in schema.rules.iter().enumerate() {
            check_words(rule, schema, &format!("{path}.x-kubernetes-validations[{index}]"), &mut self.of_words);
        }
        // Expressions at a place with errors would only repeat these less clearly.
        let is_right_elsewhere = self.elsewhere.as_ref().is_some_and(|wrong| {
            let after = wrong.range::<str, _>((Bound::Included(path), Bound::Unbounded)).next();
            !after.is_some_and(|field| field.starts_with(path))
        });
        if schema.rules.is_empty() || self.of_words.len() > wrong_before || !is_right_elsewhere {
            return;
        }
        let Some(seen) = rule_schema(schema, place.is_resource).map(Arc::new) else {
            let what = "internal error: failed to construct type information for x-kubernetes-validations rules: \
                unable to convert structural schema to CEL declarations";
            return self.of_expressions.push(FieldError::internal(format!("{path}.x-kubernetes-validations"), what));
        };
        let cardinality = place.cardinality.unwrap_or_else(|| seen.most_in_a_request());
        for (index, rule) in schema.rules.iter().enumerate() {
            let at = format!("{path}.x-kubernetes-validations[{index}]");
            let uses_old = self.expressions(rule, &seen, &at, cardinality);
            self.comparisons(rule, uses_old, &at, place.uncorrelatable);
        }
    }

    fn below(&mut self, schema: &Structural, path: &str, above: &Place<'_>) {
        let cardinality = rule_cost::below(above.cardinality, above.schema);
        self.visit(&Place { schema, path, is_resource: schema.embedded_resource, cardinality, ..*above });
    }

    /// Compiles the expressions and adds their costs; returns whether the rule uses the previous value.
    fn expressions(&mut self, rule: &Rule, seen: &Arc<Schema>, path: &str, cardinality: u64) -> bool {
        let environment = environment(rule, seen);
        let refuse = |field: &str, what: &str| {
            FieldError::invalid_unprinted(format!("{path}.{field}"), format!("{}: {what}", go_rule(rule)))
        };
        let refused = match compiled(&rule.rule, &environment) {
            Ok(expression) if matches!(expression.output_type(), Type::Bool) => Ok(expression),
            Ok(_) => Err("cel expression must evaluate to a bool".to_owned()),
            Err(Uncompiled::Text(why)) => Err(format!("compilation failed: {why}")),
            Err(Uncompiled::Constant(why)) => Err(format!("program instantiation failed: {why}")),
        };
        let expression = match refused {
            Ok(expression) => expression,
            Err(what) => {
                self.of_expressions.push(refuse("rule", &what));
                return false;
            }
        };
        let cost = expression.greatest_cost(seen).saturating_mul(cardinality);
        self.of_expressions.extend(self.costs.add(&format!("{path}.rule"), "estimated rule cost", cost));
        if !rule.message_expression.is_empty() {
            let field = "messageExpression";
            let error = match compiled(&rule.message_expression, &environment) {
                Ok(message) if matches!(message.output_type(), Type::String) => {
                    let what = "estimated messageExpression cost";
                    self.costs.add(&format!("{path}.{field}"), what, message.greatest_cost(seen))
                }
                Ok(_) => Some(refuse(field, "messageExpression must evaluate to a string")),
                Err(Uncompiled::Text(why)) => {
                    Some(refuse(field, &format!("messageExpression compilation failed: {why}")))
                }
                Err(Uncompiled::Constant(why)) => {
                    Some(refuse(field, &format!("messageExpression instantiation failed: {why}")))
                }
            };
            self.of_expressions.extend(error);
        }
        expression.variables().contains("oldSelf")
    }

    /// Whether a rule can use the previous value.
    fn comparisons(&mut self, rule: &Rule, uses_old: bool, path: &str, uncorrelatable: Option<&str>) {
        if let (true, Some(within)) = (uses_old, uncorrelatable) {
            let what = format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {within}");
            self.of_expressions.push(FieldError::invalid(format!("{path}.rule"), rule.rule.as_str(), what));
        }
        if let (false, Some(is_optional)) = (uses_old, rule.optional_old_self) {
            let what = "may not be set if oldSelf is not used in rule";
            self.of_expressions.push(FieldError::invalid(format!("{path}.optionalOldSelf"), is_optional, what));
        }
    }
}

/// Why an expression is unusable.
enum Uncompiled {
    Text(String),
    /// A constant part of it has no value.
    Constant(String),
}

fn compiled(text: &str, environment: &Environment) -> Result<Expression, Uncompiled> {
    Expression::compile_in(text, environment).map_err(|error| match error {
        Error::Refused(report) => Uncompiled::Text(report.to_string()),
        error => Uncompiled::Constant(error.to_string()),
    })
}

/// The errors of a rule except those of its expressions.
fn check_words(rule: &Rule, schema: &Structural, path: &str, errors: &mut Vec<FieldError>) {
    let has_lines = |text: &str| text.contains(['\n', '\r']);
    let (text, message) = (rule.rule.trim(), rule.message.trim());
    let field = format!("{path}.message");
    if text.is_empty() {
        errors.push(FieldError::required(format!("{path}.rule"), "rule is not specified"));
    } else if !rule.message.is_empty() && message.is_empty() {
        errors.push(FieldError::invalid(field, rule.message.as_str(), "must be non-empty if specified"));
    } else if has_lines(message) {
        errors.push(FieldError::invalid(field, rule.message.as_str(), "must not contain line breaks"));
    } else if has_lines(text) && message.is_empty() {
        errors.push(FieldError::required(field, "message must be specified if rule contains line breaks"));
    }
    if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
        let what = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(format!("{path}.messageExpression"), what));
    }
    let reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
    if !rule.reason.is_empty() && !reasons.contains(&rule.reason.as_str()) {
        errors.push(FieldError::not_supported(format!("{path}.reason"), rule.reason.as_str(), &reasons));
    }
    let mut blamed = |what: &str| {
        errors.push(FieldError::invalid(format!("{path}.fieldPath"), rule.field_path.as_str(), what));
    };
    if !rule.field_path.is_empty() && rule.field_path.trim().is_empty() {
        blamed("must be non-empty if specified");
    }
    if has_lines(&rule.field_path) {
        blamed("must not contain line breaks");
    }
    if field_path::normalized(&rule.field_path, schema).is_err() {
        blamed("must be a valid path");
    }
}

/// A rule as Go prints it in an error.
fn go_rule(rule: &Rule) -> String {
    let text = |text: &str| go_json(&Value::from(text).to_string());
    let reason = if rule.reason.is_empty() { "null".to_owned() } else { text(&rule.reason) };
    let optional = rule.optional_old_self.map_or("null".to_owned(), |flag| flag.to_string());
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{reason},\"FieldPath\":{},\"OptionalOldSelf\":{optional}}}",
        text(&rule.rule),
        text(&rule.message),
        text(&rule.message_expression),
        text(&rule.field_path)
    )
}
