use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use coracle_expression::{Expression, Prepared, Variables};
use coracle_meta::Object;
use coracle_store::Revision;
use serde_json::Value;

use crate::seen::LEFT_OUT;
use crate::{ClusterState, Mismatch, matches, mismatches};

/// What can be asked of all objects at one revision.
#[derive(Clone, Debug)]
pub enum Question {
    /// An expression over lists of objects, by their plurals, and over bound objects.
    Expression(Arc<Expression>),
    /// An object that has to have these fields: the one with the name if it names one, any of its kind otherwise.
    Partial(Value),
}

/// The answer to a question at one revision.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It holds.
    Holds,
    /// It does not hold, and why, as far as that can be said.
    Fails {
        /// What was expected.
        expected: String,
        /// What is there.
        found: String,
        /// The object that comes nearest, if the question is about one.
        nearest: Option<Arc<Object>>,
    },
    /// The question makes no sense here: a field that is not there was read, say.
    Unanswerable(String),
}

/// Something that has to hold, or must not hold, at every revision.
#[derive(Debug)]
pub struct Invariant {
    /// A sentence for reports.
    pub name: String,
    /// Whether it has to hold always or never.
    pub polarity: Polarity,
    /// What is asked.
    pub question: Question,
    /// The moment from which on it is asked, which [`World::reached`](crate::World::reached) names; absent for the beginning.
    pub since: Option<String>,
}

/// Whether a question has to be answered with yes or with no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polarity {
    /// It has to hold at every revision.
    Always,
    /// It must not hold at any revision.
    Never,
}

/// Objects made ready for expressions; conversion is done once for each version of each object.
#[derive(Debug, Default)]
pub struct Lists {
    by_plural: BTreeMap<String, BTreeMap<Bytes, Prepared>>,
    bound: BTreeMap<String, Value>,
    revision: Revision,
}

impl Lists {
    /// Follows one change of one object whose plural is `plural`.
    pub fn follow(&mut self, plural: &str, key: &Bytes, after: Option<&Object>) {
        let list = self.by_plural.entry(plural.to_owned()).or_default();
        match after {
            Some(object) => list.insert(key.clone(), Prepared::new(object.to_value())),
            None => list.remove(key),
        };
    }

    /// Makes an object known under a name.
    pub fn bind(&mut self, name: &str, object: &Object) {
        self.bound.insert(name.to_owned(), object.to_value());
    }

    /// The revision that the lists show.
    pub fn set_revision(&mut self, revision: Revision) {
        self.revision = revision;
    }

    /// What an expression sees: a list for every plural (empty if there is no such object), bound objects, `revision`.
    fn variables(&self, expression: &Expression) -> Variables<'_> {
        let mut variables = Variables::default();
        for name in expression.variables() {
            if let Some(value) = self.bound.get(name) {
                variables.set(name, value);
            } else if name == "revision" {
                variables.set_owned(name, Value::from(self.revision));
            } else {
                let list = self.by_plural.get(name).into_iter().flat_map(BTreeMap::values);
                variables.set_list(name, list);
            }
        }
        variables
    }
}

impl Question {
    /// Answers the question for the objects of `cluster`, which `lists` shows too.
    pub fn ask(&self, cluster: &ClusterState, lists: &Lists, namespace: &str) -> Answer {
        match self {
            Self::Expression(expression) => match expression.holds(&lists.variables(expression)) {
                Ok(true) => Answer::Holds,
                Ok(false) => Answer::fails(expression.text(), "false"),
                Err(error) => Answer::Unanswerable(format!("`{}`: {error}", expression.text())),
            },
            Self::Partial(expected) => ask_partial(expected, cluster, namespace),
        }
    }
}

/// What a question is about: where none of it is there, every answer to the question says nothing.
#[derive(Debug)]
pub(crate) enum Subjects {
    /// The lists that an expression goes through.
    Ranges(Vec<Expression>),
    /// The objects with the kind, the namespace and the name that a partial object names.
    Objects(Value),
}

impl Subjects {
    pub(crate) fn of(question: &Question) -> Self {
        match question {
            Question::Expression(expression) => Self::Ranges(expression.ranges()),
            Question::Partial(expected) => Self::Objects(expected.clone()),
        }
    }

    /// Whether any of it is there.
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

impl Answer {
    fn fails(expected: &str, found: &str) -> Self {
        Self::Fails { expected: expected.to_owned(), found: found.to_owned(), nearest: None }
    }
}

/// The objects that a partial object may be a part of.
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

fn ask_partial(expected: &Value, cluster: &ClusterState, namespace: &str) -> Answer {
    let text = |path: &str| expected.pointer(path).and_then(Value::as_str);
    let (kind, named) = (text("/kind").unwrap_or(""), text("/metadata/name"));
    let mut nearest: Option<(Vec<Mismatch>, &Arc<Object>)> = None;
    for object in candidates(expected, cluster, namespace) {
        let found = object.to_value();
        if matches(expected, &found) {
            return Answer::Holds;
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
            Answer::fails(&format!("{what} in {namespace}"), "no such object")
        }
        Some((differences, object)) => {
            // What is in a Secret is told to nobody: the answer goes to logs and reports.
            let hides = |path: &str| {
                kind == "Secret"
                    && ["data", "stringData", "metadata.annotations"].iter().any(|field| path.starts_with(field))
            };
            let shown = |m: &Mismatch, value: &Value| match hides(&m.path) {
                true => LEFT_OUT.to_owned(),
                false => value.to_string(),
            };
            let expected: Vec<_> =
                differences.iter().map(|m| format!("{} = {}", m.path, shown(m, &m.expected))).collect();
            let found = |m: &Mismatch| m.found.as_ref().map_or("nothing".to_owned(), |found| shown(m, found));
            let found: Vec<_> = differences.iter().map(|m| format!("{} = {}", m.path, found(m))).collect();
            Answer::Fails {
                expected: format!("{what}: {}", expected.join(", ")),
                found: format!("{}: {}", object.name(), found.join(", ")),
                nearest: Some(Arc::clone(object)),
            }
        }
    }
}
