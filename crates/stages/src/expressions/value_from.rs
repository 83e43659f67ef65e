//! Values that an expression takes from the object. In KWOK: `durationFrom`, `int64From`.

use std::sync::Arc;

use coracle_ambient::{SignedDuration, Timestamp};
use coracle_expression::{Environment, Expression, Variables};
use coracle_meta::parse_duration;
use coracle_yaml::{At, YamlError};
use serde_json::Value as Json;

use crate::expressions::query::Query;

/// An expression in jq or CEL.
#[derive(Clone, Debug)]
pub(crate) enum ValueFrom {
    Cel(Arc<Expression>),
    Jq(Query),
}

/// The result of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ExpressionResult<T> {
    Value(T),
    /// There is no value, and the configured default does not apply.
    None,
    /// The expression has no result, so the configured default applies.
    Nothing,
}

impl ValueFrom {
    pub(crate) fn read(place: &At<'_>) -> Result<Self, YamlError> {
        let mut fields = place.fields()?;
        let (cel, jq, short) = (fields.take("cel"), fields.take("jq"), fields.take("expressionFrom"));
        fields.end()?;
        match (cel, jq, short) {
            (Some(cel), None, None) => compile_cel(&cel).map(Self::Cel),
            (None, Some(jq), None) => {
                let mut fields = jq.fields()?;
                let text = fields.need("expression")?;
                fields.end()?;
                compile_jq(&text).map(Self::Jq)
            }
            (None, None, Some(text)) => compile_jq(&text).map(Self::Jq),
            _ => Err(place.error("needs one of cel, jq and expressionFrom")),
        }
    }

    /// A duration in Go's format, or the time until a timestamp.
    pub(crate) fn duration(&self, object: &Json, now: Timestamp) -> Result<ExpressionResult<SignedDuration>, String> {
        match self {
            Self::Cel(expression) => match evaluate(expression, object)? {
                Json::String(text) => match duration_of(&text, now) {
                    Some(duration) => Ok(ExpressionResult::Value(duration)),
                    None => Err(format!("{text:?} is no duration")),
                },
                Json::Number(number) => {
                    Ok(ExpressionResult::Value(SignedDuration::from_nanos(number.as_i64().unwrap_or_default())))
                }
                other => Err(format!("gave {other}, which is no duration")),
            },
            Self::Jq(query) => Ok(match first(query, object) {
                Some(Json::String(text)) if text.is_empty() => ExpressionResult::None,
                Some(Json::String(text)) => {
                    duration_of(&text, now).map_or(ExpressionResult::Nothing, ExpressionResult::Value)
                }
                _ => ExpressionResult::Nothing,
            }),
        }
    }

    /// An integer.
    pub(crate) fn number(&self, object: &Json) -> Result<ExpressionResult<i64>, String> {
        match self {
            Self::Cel(expression) => match evaluate(expression, object)? {
                Json::Number(number) => Ok(ExpressionResult::Value(whole(&number))),
                Json::Bool(value) => Ok(ExpressionResult::Value(i64::from(value))),
                other => Err(format!("gave {other}, which is no number")),
            },
            Self::Jq(query) => Ok(match first(query, object) {
                Some(Json::String(text)) => text.parse().map_or(ExpressionResult::None, ExpressionResult::Value),
                Some(Json::Number(number)) => ExpressionResult::Value(whole(&number)),
                _ => ExpressionResult::Nothing,
            }),
        }
    }
}

/// Compiles `{expression: …}`, in CEL; the object is `self`.
pub(crate) fn compile_cel(place: &At<'_>) -> Result<Arc<Expression>, YamlError> {
    let mut fields = place.fields()?;
    let text = fields.need("expression")?;
    fields.end()?;
    let environment = Environment::new().with("self", coracle_expression::Type::Dyn);
    let compiled = Expression::compile_in(text.text()?, &environment);
    compiled.map(Arc::new).map_err(|error| text.error(error.to_string()))
}

pub(crate) fn compile_jq(place: &At<'_>) -> Result<Query, YamlError> {
    Query::new(place.text()?).map_err(|why| place.error(why))
}

/// The variables of an expression for an object.
pub(crate) fn variables(object: &Json) -> Variables<'_> {
    let mut variables = Variables::default();
    variables.set("self", object);
    variables
}

fn evaluate(expression: &Expression, object: &Json) -> Result<Json, String> {
    expression.evaluate(&variables(object)).map_err(|error| error.to_string())
}

fn first(query: &Query, object: &Json) -> Option<Json> {
    query.values(object)?.into_iter().next()
}

fn duration_of(text: &str, now: Timestamp) -> Option<SignedDuration> {
    if let Ok(date) = text.parse::<Timestamp>() {
        return Some(date.duration_since(now));
    }
    let (sign, length) = text.strip_prefix('-').map_or((1, text), |length| (-1, length));
    let length = SignedDuration::try_from(parse_duration(length)?).ok()?;
    length.checked_mul(sign)
}

#[expect(clippy::cast_possible_truncation, reason = "a float becomes the nearest whole number that there is")]
fn whole(number: &serde_json::Number) -> i64 {
    number.as_i64().unwrap_or_else(|| number.as_f64().unwrap_or_default() as i64)
}
