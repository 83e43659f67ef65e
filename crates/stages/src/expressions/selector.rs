//! Which objects a stage matches. In KWOK: `StageSelector`, `expression.Requirement`.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_expression::Expression;
use coracle_yaml::{At, UnreadFields, YamlError};
use serde_json::Value as Json;

use crate::expressions::query::Query;
use crate::expressions::value_from::{compile_cel, compile_jq, variables};

/// An object matches if all of this holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug)]
enum Requirement {
    Cel(Arc<Expression>),
    Jq(Query, Operator),
}

#[derive(Clone, Debug)]
enum Operator {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
}

impl Selector {
    pub(crate) fn read(place: &At<'_>) -> Result<Self, YamlError> {
        let mut fields = place.fields()?;
        let mut texts = |name: &str| fields.take(name).map_or(Ok(BTreeMap::new()), |place| place.texts_by_name());
        let (labels, annotations) = (texts("matchLabels")?, texts("matchAnnotations")?);
        let requirements = fields.items("matchExpressions")?.iter().map(Requirement::read).collect::<Result<_, _>>()?;
        fields.end()?;
        Ok(Self { labels, annotations, requirements })
    }

    /// Whether an object matches. An expression that fails does not hold.
    pub(crate) fn matches(&self, object: &Json) -> bool {
        let has = |field: &str, wanted: &BTreeMap<String, String>| {
            let found = &object["metadata"][field];
            wanted.iter().all(|(key, value)| found.get(key).and_then(Json::as_str) == Some(value))
        };
        has("labels", &self.labels)
            && has("annotations", &self.annotations)
            && self.requirements.iter().all(|requirement| requirement.holds(object))
    }
}

impl Requirement {
    fn read(place: &At<'_>) -> Result<Self, YamlError> {
        let mut fields = place.fields()?;
        match (fields.take("cel"), fields.take("jq")) {
            (Some(cel), None) => {
                fields.end()?;
                compile_cel(&cel).map(Self::Cel)
            }
            (None, Some(jq)) => {
                fields.end()?;
                Self::read_jq(jq.fields()?)
            }
            (None, None) => Self::read_jq(fields),
            _ => Err(place.error("needs one of cel and jq")),
        }
    }

    fn read_jq(mut fields: UnreadFields<'_>) -> Result<Self, YamlError> {
        let query = compile_jq(&fields.need("key")?)?;
        let operator = fields.need("operator")?;
        let values = fields.take("values");
        let items = values.as_ref().map_or(Ok(Vec::new()), |values| values.items())?;
        let texts = items.iter().map(|item| item.text().map(str::to_owned)).collect::<Result<Vec<_>, _>>()?;
        let word = operator.text()?;
        let needs_values = matches!(word, "In" | "NotIn");
        if needs_values && texts.is_empty() {
            return Err(operator.error(format!("{word} needs values")));
        }
        if let Some(values) = values.filter(|_| !needs_values && !texts.is_empty()) {
            return Err(values.error(format!("{word} takes no values")));
        }
        let operator = match word {
            "In" => Operator::In(texts),
            "NotIn" => Operator::NotIn(texts),
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            _ => return Err(operator.error(format!("{word:?} is not one of In, NotIn, Exists and DoesNotExist"))),
        };
        fields.end()?;
        Ok(Self::Jq(query, operator))
    }

    fn holds(&self, object: &Json) -> bool {
        match self {
            Self::Cel(expression) => expression.holds(&variables(object)).unwrap_or(false),
            Self::Jq(query, operator) => {
                let found = query.values(object).unwrap_or_default();
                match operator {
                    Operator::In(values) => found.iter().any(|value| is_among(value, values)),
                    Operator::NotIn(values) => !found.iter().any(|value| is_among(value, values)),
                    Operator::Exists => !found.is_empty(),
                    Operator::DoesNotExist => found.is_empty(),
                }
            }
        }
    }
}

fn is_among(value: &Json, values: &[String]) -> bool {
    match value {
        Json::String(text) => values.contains(text),
        Json::Bool(_) => values.contains(&value.to_string()),
        Json::Number(number) if number.is_i64() => values.contains(&number.to_string()),
        _ => false,
    }
}
