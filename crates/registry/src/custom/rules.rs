use std::collections::BTreeMap;

use coracle_expression::{Error, Expression, Variables};
use coracle_meta::{FieldError, FieldErrorKind, go_json};
use coracle_schema::ListKind;
use coracle_schema::structural::{Rule, Structural, ValueType};
use serde_json::{Map, Value};

/// The rules of a custom kind, compiled, as a tree beside its schema. In Kubernetes: `schema/cel.Validator`.
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
    expression: Expression,
    message: Option<Expression>,
    /// Whether the rule compares with what was there before, and so holds for what is new.
    is_transition: bool,
}

impl ValidationRules {
    /// Compiles the rules of a schema; those that do not compile have been refused with their definition.
    pub(super) fn compile(schema: &Structural) -> Self {
        let below = |schema: &Structural| Some(Box::new(Self::compile(schema))).filter(|rules| !rules.is_empty());
        let properties = schema.properties.iter().map(|(name, schema)| (name.clone(), Self::compile(schema)));
        Self {
            here: schema.rules.iter().filter_map(Compiled::new).collect(),
            properties: properties.filter(|(_, rules)| !rules.is_empty()).collect(),
            additional: schema.additional.schema().and_then(below),
            items: schema.items.as_deref().and_then(below),
        }
    }

    /// Whether there is no rule at all.
    pub(super) fn is_empty(&self) -> bool {
        self.here.is_empty() && self.properties.is_empty() && self.additional.is_none() && self.items.is_none()
    }

    /// What the rules say about a value, and about how it changed.
    pub(super) fn check(&self, schema: &Structural, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        self.visit(schema, value, old, "", &mut errors);
        errors
    }

    fn visit(&self, schema: &Structural, value: &Value, old: Option<&Value>, path: &str, errors: &mut Vec<FieldError>) {
        if value.is_null() {
            return;
        }
        let old = old.filter(|old| !old.is_null());
        if !self.here.is_empty() {
            let (shown, shown_old) = (view(schema, value), old.map(|old| view(schema, old)));
            for rule in &self.here {
                errors.extend(rule.check(&shown, shown_old.as_ref(), path));
            }
        }
        match value {
            Value::Object(fields) => self.visit_fields(schema, fields, old, path, errors),
            Value::Array(items) => {
                let (Some(rules), Some(below)) = (&self.items, &schema.items) else { return };
                for (index, item) in items.iter().enumerate() {
                    let old = old.and_then(|old| counterpart(schema, item, old));
                    rules.visit(below, item, old, &format!("{path}[{index}]"), errors);
                }
            }
            _ => {}
        }
    }

    fn visit_fields(
        &self,
        schema: &Structural,
        fields: &Map<String, Value>,
        old: Option<&Value>,
        path: &str,
        errors: &mut Vec<FieldError>,
    ) {
        for (name, value) in fields {
            let old = old.and_then(|old| old.get(name));
            let dot = if path.is_empty() { "" } else { "." };
            if let (Some(rules), Some(below)) = (self.properties.get(name), schema.properties.get(name)) {
                rules.visit(below, value, old, &format!("{path}{dot}{name}"), errors);
            } else if let (Some(rules), Some(below)) = (&self.additional, schema.additional.schema()) {
                rules.visit(below, value, old, &format!("{path}[{name}]"), errors);
            }
        }
    }
}

/// The item of an old list that has the keys of a new item; only lists with keys have one.
fn counterpart<'v>(schema: &Structural, item: &Value, old: &'v Value) -> Option<&'v Value> {
    let ListKind::Map { keys } = schema.list_kind() else { return None };
    old.as_array()?.iter().find(|old| keys.iter().all(|key| old.get(key) == item.get(key)))
}

impl Compiled {
    fn new(rule: &Rule) -> Option<Self> {
        let expression = Expression::compile(&rule.rule).ok()?;
        let is_transition = expression.variables().contains("oldSelf");
        let message = Expression::compile(&rule.message_expression).ok();
        Some(Self { rule: rule.clone(), expression, message, is_transition })
    }

    fn check(&self, value: &Value, old: Option<&Value>, path: &str) -> Option<FieldError> {
        let is_optional = self.rule.optional_old_self == Some(true);
        if self.is_transition && old.is_none() && !is_optional {
            return None;
        }
        // What was let in once may stay as it is.
        if !self.is_transition && old == Some(value) {
            return None;
        }
        let mut variables = Variables::default();
        variables.set("self", value);
        if let Some(old) = old {
            variables.set("oldSelf", old);
        }
        match self.expression.holds(&variables) {
            Ok(true) => None,
            Ok(false) => Some(self.error(path, self.message(&variables))),
            Err(error) => {
                let what = format!("{} evaluating rule: {}", evaluation_text(&error), self.name());
                Some(FieldError::invalid_unprinted(display(path), what))
            }
        }
    }

    /// What the rule is called in messages.
    fn name(&self) -> &str {
        match self.rule.message.trim() {
            "" => self.rule.rule.trim(),
            message => message,
        }
    }

    fn message(&self, variables: &Variables) -> String {
        let computed = self.message.as_ref().and_then(|message| message.evaluate(variables).ok());
        let computed = computed.as_ref().and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
        match (computed, self.rule.message.trim()) {
            (Some(computed), _) => computed.to_owned(),
            (None, "") => format!("failed rule: {}", self.rule.rule.trim()),
            (None, message) => message.to_owned(),
        }
    }

    fn error(&self, path: &str, message: String) -> FieldError {
        let field = format!("{path}{}", self.rule.field_path);
        let field = display(&field);
        match self.rule.reason.as_str() {
            "FieldValueForbidden" => FieldError::forbidden(field, message),
            "FieldValueRequired" => FieldError::required(field, message),
            "FieldValueDuplicate" => FieldError { kind: FieldErrorKind::Duplicate, ..FieldError::duplicate(field, "") },
            _ => FieldError::invalid_unprinted(field, message),
        }
    }
}

fn evaluation_text(error: &Error) -> String {
    error.to_string()
}

/// A path as errors show it: without a leading dot, and `<nil>` for the root.
fn display(path: &str) -> String {
    match path.trim_start_matches('.') {
        "" => "<nil>".to_owned(),
        path => path.to_owned(),
    }
}

/// A value as rules see it: names that are no identifiers escaped, numbers of the declared type.
fn view(schema: &Structural, value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| view_field(schema, name, value)).collect())
        }
        Value::Array(items) => match &schema.items {
            Some(below) => Value::Array(items.iter().map(|item| view(below, item)).collect()),
            None => value.clone(),
        },
        Value::Number(number) if schema.value_type == Some(ValueType::Number) => {
            Value::from(number.as_f64().unwrap_or(0.0))
        }
        other => other.clone(),
    }
}

fn view_field(schema: &Structural, name: &str, value: &Value) -> (String, Value) {
    match (schema.properties.get(name), schema.additional.schema()) {
        (Some(below), _) => (escape(name), view(below, value)),
        (None, Some(below)) => (name.to_owned(), view(below, value)),
        (None, None) => (name.to_owned(), value.clone()),
    }
}

const KEYWORDS: [&str; 23] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
    "__proto__",
    "type",
];

/// The identifier under which rules find a field. In Kubernetes: `cel.Escape`.
fn escape(name: &str) -> String {
    if KEYWORDS[..21].contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__").replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__")
}

/// What is wrong with the rules of a schema that stands at `path` in its definition.
pub(super) fn check_rules(schema: &Structural, path: &str, errors: &mut Vec<FieldError>) {
    for (index, rule) in schema.rules.iter().enumerate() {
        check_rule(schema, rule, &format!("{path}.x-kubernetes-validations[{index}]"), errors);
    }
    if let Some(items) = &schema.items {
        check_rules(items, &format!("{path}.items"), errors);
    }
    for (name, below) in &schema.properties {
        check_rules(below, &format!("{path}.properties[{name}]"), errors);
    }
    if let Some(below) = schema.additional.schema() {
        check_rules(below, &format!("{path}.additionalProperties"), errors);
    }
}

fn check_rule(schema: &Structural, rule: &Rule, path: &str, errors: &mut Vec<FieldError>) {
    let (text, message) = (rule.rule.trim(), rule.message.trim());
    if text.is_empty() {
        errors.push(FieldError::required(format!("{path}.rule"), "rule is not specified"));
        return;
    }
    if !rule.message.is_empty() && message.is_empty() {
        let field = format!("{path}.message");
        errors.push(FieldError::invalid(field, rule.message.as_str(), "must be non-empty if specified"));
    } else if message.contains('\n') {
        let field = format!("{path}.message");
        errors.push(FieldError::invalid(field, rule.message.as_str(), "must not contain line breaks"));
    } else if text.contains('\n') && message.is_empty() {
        let what = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(format!("{path}.message"), what));
    }
    let reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
    if !rule.reason.is_empty() && !reasons.contains(&rule.reason.as_str()) {
        errors.push(FieldError::not_supported(format!("{path}.reason"), rule.reason.as_str(), &reasons));
    }
    for (field, text) in [("rule", &rule.rule), ("messageExpression", &rule.message_expression)] {
        if field == "messageExpression" && text.is_empty() {
            continue;
        }
        if let Some(why) = compile_error(schema, text) {
            let what = format!("{}: compilation failed: {why}", go_rule(rule));
            errors.push(FieldError::invalid_unprinted(format!("{path}.{field}"), what));
        }
    }
}

/// Why a text does not compile as a rule of a schema, in cel-go's form; `None` if it does.
fn compile_error(schema: &Structural, text: &str) -> Option<String> {
    let expression = match Expression::compile(text) {
        Ok(expression) => expression,
        Err(Error::Syntax { line, column, message }) => {
            return Some(located(text, line, column.saturating_sub(1), &format!("Syntax error: {message}")));
        }
        Err(other) => return Some(other.to_string()),
    };
    let unknown = expression.variables().iter().find(|name| !["self", "oldSelf"].contains(&name.as_str()));
    if let Some(name) = unknown {
        let at = chains(text).into_iter().find(|chain| chain.name == *name).map_or(0, |chain| chain.at);
        let what = format!("undeclared reference to '{name}' (in container '')");
        return Some(located_at(text, at, &what));
    }
    chains(text).iter().filter(|chain| ["self", "oldSelf"].contains(&chain.name)).find_map(|chain| {
        let (at, name) = undefined_field(schema, &chain.fields)?;
        Some(located_at(text, at, &format!("undefined field '{name}'")))
    })
}

/// A name in an expression, and the fields that are taken of it one after the other.
struct Chain<'t> {
    name: &'t str,
    at: usize,
    /// Where the dot stands, and the field.
    fields: Vec<(usize, &'t str)>,
}

/// The names of an expression with their fields; texts in quotes are passed over.
fn chains(text: &str) -> Vec<Chain<'_>> {
    let bytes = text.as_bytes();
    let is_name = |at: usize| bytes.get(at).is_some_and(|sign| sign.is_ascii_alphanumeric() || *sign == b'_');
    let name_end = |at: usize| (at..).find(|at| !is_name(*at)).unwrap_or(bytes.len());
    let mut chains = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'\'' | b'"') => {
                let mut end = at + 1;
                while end < bytes.len() && bytes[end] != quote {
                    end += if bytes[end] == b'\\' { 2 } else { 1 };
                }
                at = end + 1;
            }
            b'.' => at = name_end(at + 1).max(at + 1),
            _ if is_name(at) => {
                let end = name_end(at);
                let mut chain = Chain { name: &text[at..end], at, fields: Vec::new() };
                at = end;
                while bytes.get(at) == Some(&b'.') && is_name(at + 1) {
                    let end = name_end(at + 1);
                    if bytes.get(end) == Some(&b'(') {
                        break;
                    }
                    chain.fields.push((at, &text[at + 1..end]));
                    at = end;
                }
                chains.push(chain);
            }
            _ => at += 1,
        }
    }
    chains
}

/// The first field of a chain that the schema does not have.
fn undefined_field<'t>(schema: &Structural, fields: &[(usize, &'t str)]) -> Option<(usize, &'t str)> {
    let mut schema = schema;
    for (at, name) in fields {
        let is_struct = schema.value_type == Some(ValueType::Object) && schema.additional.schema().is_none();
        if !is_struct || schema.preserves_unknown {
            return None;
        }
        let of_the_api = schema.embedded_resource && ["apiVersion", "kind", "metadata"].contains(name);
        match schema.properties.iter().find(|(property, _)| escape(property) == **name) {
            Some((_, below)) => schema = below,
            None if of_the_api => return None,
            None => return Some((*at, name)),
        }
    }
    None
}

fn located_at(text: &str, at: usize, what: &str) -> String {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |start| start.chars().count());
    located(text, line, column, what)
}

/// An error as cel-go prints it; `column` counts from 0.
fn located(text: &str, line: usize, column: usize, what: &str) -> String {
    let source = text.lines().nth(line - 1).unwrap_or("");
    format!("ERROR: <input>:{line}:{}: {what}\n | {source}\n | {}^", column + 1, ".".repeat(column))
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
