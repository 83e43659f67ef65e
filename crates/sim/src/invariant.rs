use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use coracle_expression::{Expression, Variables};
use coracle_meta::Object;
use coracle_store::Revision;
use serde_json::Value;

use crate::seen::LEFT_OUT;
use crate::shown_parts::shown_parts;
use crate::{ClusterState, FollowedObject, Mismatch, matches, mismatches};

/// A question about all objects at one revision.
#[derive(Clone, Debug)]
pub enum InvariantQuestion {
    /// An expression over the lists of objects, by their plurals, and over bound objects.
    Expression(Arc<Expression>),
    /// A partial object that must match: the object with its name if it has one, or any object of its kind.
    Partial(Value),
}

/// The answer to a question at one revision.
#[derive(Clone, Debug, PartialEq)]
pub enum InvariantAnswer {
    /// It holds.
    Holds,
    /// It does not hold, with the reason if it is known.
    Fails {
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
        /// The most similar object, if the question is about an object.
        nearest: Option<Arc<Object>>,
    },
    /// The question cannot be answered, for example because it reads a field that does not exist.
    Unanswerable(String),
}

/// A condition that has to hold, or must not hold, at every revision.
#[derive(Clone, Debug)]
pub struct Invariant {
    /// A sentence for reports.
    pub name: String,
    /// Whether it has to hold always or never.
    pub polarity: Polarity,
    /// The question.
    pub question: InvariantQuestion,
    /// The moment from which on it is evaluated, which [`World::reached`](crate::World::reached) names; absent for the
    /// beginning.
    pub since: Option<String>,
    /// The line on which it is written, for the event log.
    pub line: Option<u64>,
}

/// Whether the answer to a question must be yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polarity {
    /// It has to hold at every revision.
    Always,
    /// It must not hold at any revision.
    Never,
}

/// Objects for expressions; each version of each object is converted once, when it is first read.
#[derive(Debug, Default)]
pub struct Lists {
    by_plural: BTreeMap<String, BTreeMap<Bytes, FollowedObject>>,
    bound: BTreeMap<String, Value>,
    revision: Revision,
}

impl Lists {
    /// Applies a change of one object whose plural is `plural`.
    pub fn follow(&mut self, plural: &str, key: &Bytes, after: Option<&FollowedObject>) {
        let list = self.by_plural.entry(plural.to_owned()).or_default();
        match after {
            Some(object) => list.insert(key.clone(), object.clone()),
            None => list.remove(key),
        };
    }

    /// Binds a name to an object.
    pub fn bind(&mut self, name: &str, object: &Object) {
        self.bound.insert(name.to_owned(), object.to_value());
    }

    /// Sets the revision of the lists.
    pub fn set_revision(&mut self, revision: Revision) {
        self.revision = revision;
    }

    /// Whether a variable has the contents of Secrets.
    fn is_secret(&self, name: &str) -> bool {
        let is_bound = |object: &Value| object.get("kind").is_some_and(|kind| kind == "Secret");
        name == "secrets" || self.bound.get(name).is_some_and(is_bound)
    }

    /// The variables of an expression: a list for every plural (empty if there is no object), bound objects,
    /// `revision`.
    fn variables(&self, expression: &Expression) -> Variables<'_> {
        let mut variables = Variables::default();
        for name in expression.variables() {
            if let Some(value) = self.bound.get(name) {
                variables.set(name, value);
            } else if name == "revision" {
                variables.set_owned(name, Value::from(self.revision));
            } else {
                let list = self.by_plural.get(name).into_iter().flat_map(BTreeMap::values);
                variables.set_list(name, list.map(FollowedObject::prepared));
            }
        }
        variables
    }
}

impl InvariantQuestion {
    /// Answers the question for the objects of `cluster`, which `lists` holds too.
    pub fn ask(&self, cluster: &ClusterState, lists: &Lists, namespace: &str) -> InvariantAnswer {
        match self {
            Self::Expression(expression) => match expression.holds(&lists.variables(expression)) {
                Ok(true) => InvariantAnswer::Holds,
                Ok(false) => InvariantAnswer::fails(expression.text(), "false"),
                Err(error) => InvariantAnswer::Unanswerable(format!("`{}`: {error}", expression.text())),
            },
            Self::Partial(expected) => ask_partial(expected, cluster, namespace),
        }
    }

    /// What is expected if it must not hold.
    pub(crate) fn refused(&self) -> String {
        match self {
            Self::Expression(expression) => format!("never {}", expression.text()),
            Self::Partial(_) => "never true".to_owned(),
        }
    }

    /// The values that show why an expression has its answer; `otherwise` for a partial object, and if no part has a value.
    /// It costs more than the answer, so it is for the answer that is reported.
    pub(crate) fn found(&self, lists: &Lists, otherwise: String) -> String {
        let parts = match self {
            Self::Expression(expression) => {
                shown_parts(expression, |part| lists.variables(part), |name| lists.is_secret(name))
            }
            Self::Partial(_) => return otherwise,
        };
        if parts.is_empty() { otherwise } else { parts }
    }
}

/// The objects that a question is about: if none of them exists, the answer is vacuous.
#[derive(Debug)]
pub(crate) enum Subjects {
    /// The lists that an expression iterates over.
    Ranges(Vec<Expression>),
    /// The objects with the kind, namespace and name of a partial object.
    Objects(Value),
}

impl Subjects {
    pub(crate) fn of(question: &InvariantQuestion) -> Self {
        match question {
            InvariantQuestion::Expression(expression) => Self::Ranges(expression.ranges()),
            InvariantQuestion::Partial(expected) => Self::Objects(expected.clone()),
        }
    }

    /// Whether any of them exists.
    pub(crate) fn are_there(&self, cluster: &ClusterState, lists: &Lists, namespace: &str) -> bool {
        match self {
            Self::Ranges(ranges) => ranges.iter().any(|range| match range.evaluate(&lists.variables(range)) {
                Ok(Value::Array(items)) => !items.is_empty(),
                Ok(Value::Object(fields)) => !fields.is_empty(),
                Ok(_) => true,
                Err(_) => false,
            }),
            Self::Objects(expected) => candidates(expected, cluster, namespace).next().is_some(),
        }
    }
}

impl InvariantAnswer {
    fn fails(expected: &str, found: &str) -> Self {
        Self::Fails { expected: expected.to_owned(), found: found.to_owned(), nearest: None }
    }
}

/// The objects that may match a partial object.
fn candidates<'c>(
    expected: &'c Value,
    cluster: &'c ClusterState,
    namespace: &'c str,
) -> impl Iterator<Item = &'c Arc<Object>> {
    let text = |path: &str| expected.pointer(path).and_then(Value::as_str);
    let namespace = text("/metadata/namespace").unwrap_or(namespace);
    let named = text("/metadata/name");
    cluster
        .of_kind(text("/apiVersion").unwrap_or(""), text("/kind").unwrap_or(""))
        .filter(move |object| object.namespace().is_empty() || object.namespace() == namespace)
        .filter(move |object| named.is_none_or(|name| object.name() == name))
}

fn ask_partial(expected: &Value, cluster: &ClusterState, namespace: &str) -> InvariantAnswer {
    let text = |path: &str| expected.pointer(path).and_then(Value::as_str);
    let (kind, named) = (text("/kind").unwrap_or(""), text("/metadata/name"));
    let mut nearest: Option<(Vec<Mismatch>, &Arc<Object>)> = None;
    for object in candidates(expected, cluster, namespace) {
        let found = object.to_value();
        if matches(expected, &found) {
            return InvariantAnswer::Holds;
        }
        let differences = mismatches(expected, &found);
        if nearest.as_ref().is_none_or(|(fewest, _)| differences.len() < fewest.len()) {
            nearest = Some((differences, object));
        }
    }
    let what = named.map_or_else(|| format!("any {kind}"), |name| format!("{kind} {name}"));
    match nearest {
        None => {
            let namespace = text("/metadata/namespace").unwrap_or(namespace);
            InvariantAnswer::fails(&format!("{what} in {namespace}"), "no such object")
        }
        Some((differences, object)) => {
            // Answers go to logs and reports, so they must not contain the contents of a Secret.
            let hides = |path: &str| {
                kind == "Secret"
                    && ["data", "stringData", "metadata.annotations"].iter().any(|field| path.starts_with(field))
            };
            let shown = |m: &Mismatch, value: &Value| {
                if hides(&m.path) { LEFT_OUT.to_owned() } else { value.to_string() }
            };
            let expected: Vec<_> =
                differences.iter().map(|m| format!("{} = {}", m.path, shown(m, &m.expected))).collect();
            let found = |m: &Mismatch| m.found.as_ref().map_or("nothing".to_owned(), |found| shown(m, found));
            let found: Vec<_> = differences.iter().map(|m| format!("{} = {}", m.path, found(m))).collect();
            InvariantAnswer::Fails {
                expected: format!("{what}: {}", expected.join(", ")),
                found: format!("{}: {}", object.name(), found.join(", ")),
                nearest: Some(Arc::clone(object)),
            }
        }
    }
}
