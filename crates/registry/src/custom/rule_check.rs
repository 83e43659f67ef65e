use std::sync::Arc;

use coracle_expression::{Error, Expression, Schema, Type};
use coracle_meta::{FieldError, go_json};
use coracle_schema::structural::{Rule, Structural};
use serde_json::Value;

use super::rule_schema::{environment, rule_schema};

/// What is wrong with the rules of the schema of a kind that stands at `path` in its definition.
/// In Kubernetes: `ValidateCustomResourceDefinitionOpenAPISchema`, as far as it is about rules.
pub(super) fn check_rules(schema: &Structural, path: &str, errors: &mut Vec<FieldError>) {
    let mut walk = Walk { errors };
    walk.visit(&Place { schema, path, is_resource: true, uncorrelatable: None });
}

struct Walk<'e> {
    errors: &'e mut Vec<FieldError>,
}

/// A node of a schema.
#[derive(Clone, Copy)]
struct Place<'p> {
    schema: &'p Structural,
    path: &'p str,
    is_resource: bool,
    /// The outermost list around whose items cannot be compared with what they were.
    uncorrelatable: Option<&'p str>,
}

impl Walk<'_> {
    fn visit(&mut self, place: &Place<'_>) {
        let Place { schema, path, .. } = *place;
        if let Some(items) = &schema.items {
            let uncorrelatable = place.uncorrelatable.or((schema.list_type != "map").then_some(path));
            self.below(items, &format!("{path}.items"), uncorrelatable);
        }
        for (name, below) in &schema.properties {
            self.below(below, &format!("{path}.properties[{name}]"), place.uncorrelatable);
        }
        if let Some(below) = schema.additional.schema() {
            self.below(below, &format!("{path}.additionalProperties"), place.uncorrelatable);
        }
        if schema.rules.is_empty() {
            return;
        }
        let seen = rule_schema(schema, place.is_resource).map(Arc::new);
        for (index, rule) in schema.rules.iter().enumerate() {
            let at = format!("{path}.x-kubernetes-validations[{index}]");
            self.words(rule, &at);
            match &seen {
                Some(seen) if !rule.rule.trim().is_empty() => self.expressions(rule, seen, &at, place.uncorrelatable),
                Some(_) => {}
                None => {
                    let what =
                        "internal error: failed to construct type information for x-kubernetes-validations rules";
                    self.errors.push(FieldError::internal(format!("{path}.x-kubernetes-validations"), what));
                    return;
                }
            }
        }
    }

    fn below(&mut self, schema: &Structural, path: &str, uncorrelatable: Option<&str>) {
        self.visit(&Place { schema, path, is_resource: schema.embedded_resource, uncorrelatable });
    }

    /// What is wrong with a rule besides its expressions.
    fn words(&mut self, rule: &Rule, path: &str) {
        let (text, message) = (rule.rule.trim(), rule.message.trim());
        let field = format!("{path}.message");
        if text.is_empty() {
            self.errors.push(FieldError::required(format!("{path}.rule"), "rule is not specified"));
        } else if !rule.message.is_empty() && message.is_empty() {
            self.errors.push(FieldError::invalid(field, rule.message.as_str(), "must be non-empty if specified"));
        } else if message.contains('\n') {
            self.errors.push(FieldError::invalid(field, rule.message.as_str(), "must not contain line breaks"));
        } else if text.contains('\n') && message.is_empty() {
            let what = "message must be specified if rule contains line breaks";
            self.errors.push(FieldError::required(field, what));
        }
        if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
            let what = "messageExpression must be non-empty if specified";
            self.errors.push(FieldError::required(format!("{path}.messageExpression"), what));
        }
        let reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
        if !rule.reason.is_empty() && !reasons.contains(&rule.reason.as_str()) {
            self.errors.push(FieldError::not_supported(format!("{path}.reason"), rule.reason.as_str(), &reasons));
        }
    }

    fn expressions(&mut self, rule: &Rule, seen: &Arc<Schema>, path: &str, uncorrelatable: Option<&str>) {
        let environment = environment(rule, seen);
        let refuse = |field: &str, what: &str| {
            FieldError::invalid_unprinted(format!("{path}.{field}"), format!("{}: {what}", go_rule(rule)))
        };
        let expression = match Expression::compile_in(&rule.rule, &environment) {
            Ok(expression) if matches!(expression.output_type(), Type::Bool) => expression,
            Ok(_) => return self.errors.push(refuse("rule", "cel expression must evaluate to a bool")),
            Err(Error::Refused(report)) => {
                return self.errors.push(refuse("rule", &format!("compilation failed: {report}")));
            }
            Err(error) => {
                return self.errors.push(refuse("rule", &format!("program instantiation failed: {error}")));
            }
        };
        if !rule.message_expression.is_empty() {
            let what = match Expression::compile_in(&rule.message_expression, &environment) {
                Ok(message) if matches!(message.output_type(), Type::String) => None,
                Ok(_) => Some("messageExpression must evaluate to a string".to_owned()),
                Err(Error::Refused(report)) => Some(format!("messageExpression compilation failed: {report}")),
                Err(error) => Some(format!("messageExpression instantiation failed: {error}")),
            };
            self.errors.extend(what.map(|what| refuse("messageExpression", &what)));
        }
        if expression.variables().contains("oldSelf") {
            if let Some(within) = uncorrelatable {
                let what =
                    format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {within}");
                self.errors.push(FieldError::invalid(format!("{path}.rule"), rule.rule.as_str(), what));
            }
        } else if let Some(is_optional) = rule.optional_old_self {
            let what = "may not be set if oldSelf is not used in rule";
            self.errors.push(FieldError::invalid(format!("{path}.optionalOldSelf"), is_optional, what));
        }
    }
}

/// A rule as Go prints it into an error.
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
