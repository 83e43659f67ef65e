//! CEL, the expression language of Kubernetes, behind one small surface.
//!
//! ```text
//! text --compile (refused with its column)--> Expression --evaluate(Variables)--> JSON value | bool
//! ```
//! Start at [`Expression`]. In Kubernetes: `apiserver/pkg/cel`, with its libraries for lists, sets, text, regular
//! expressions, URLs, IP addresses, versions and quantities.
//! Unlike Kubernetes: there is no type checker, so that a field that no schema knows shows when the expression runs.
//! Not here: which variables an expression sees; that is the caller's.

mod convert;
mod free;

use std::collections::{BTreeMap, BTreeSet};

use kube_cel::KubeCelExt;
use kube_cel::cel::{Context, Program, Value as CelValue};
use serde_json::Value;

/// Expressions deeper than this are refused: the evaluator is recursive.
const DEEPEST: usize = 64;
/// Expressions longer than this are refused.
const LONGEST_BYTES: usize = 16 * 1024;

/// A compiled expression.
#[derive(Debug)]
pub struct Expression {
    text: String,
    program: Program,
    variables: BTreeSet<String>,
}

/// Why a text is not an expression, or did not give a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not an expression.
    #[error("{message} (line {line}, column {column} of the expression)")]
    Syntax {
        /// The line in the text, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What was expected.
        message: String,
    },
    /// The expression ran and gave no value.
    #[error("{0}")]
    Evaluation(String),
    /// The expression gave a value where true or false was needed.
    #[error("gave {0}, where true or false is needed")]
    NotABoolean(String),
}

/// What an expression sees, by name. Conversion from JSON is done once and shared by all expressions.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    values: BTreeMap<String, CelValue>,
}

impl Variables {
    /// Makes `value` visible as `name`.
    pub fn set(&mut self, name: impl Into<String>, value: &Value) {
        self.values.insert(name.into(), convert::from_json(value));
    }

    /// Makes a list of prepared values visible as `name`.
    pub fn set_list<'a>(&mut self, name: impl Into<String>, values: impl IntoIterator<Item = &'a Prepared>) {
        let list: Vec<CelValue> = values.into_iter().map(|value| value.0.clone()).collect();
        self.values.insert(name.into(), CelValue::from(list));
    }
}

/// A JSON value converted once, to be shown in many lists.
#[derive(Clone, Debug)]
pub struct Prepared(CelValue);

impl Prepared {
    /// Converts a value.
    pub fn new(value: &Value) -> Self {
        Self(convert::from_json(value))
    }
}

impl Expression {
    /// Compiles a text.
    pub fn compile(text: &str) -> Result<Self, Error> {
        let refused = |message: &str| Error::Syntax { line: 1, column: 1, message: message.to_owned() };
        if text.len() > LONGEST_BYTES {
            return Err(refused("the expression is too long"));
        }
        if nesting(text) > DEEPEST {
            return Err(refused("the expression is nested too deeply"));
        }
        let program = Program::compile(text).map_err(|errors| match errors.errors.first() {
            Some(error) => Error::Syntax {
                line: usize::try_from(error.pos.0).unwrap_or(1).max(1),
                column: usize::try_from(error.pos.1).unwrap_or(1).max(1),
                message: error.msg.clone(),
            },
            None => refused("not an expression"),
        })?;
        let variables = free::variables(program.expression());
        Ok(Self { text: text.to_owned(), program, variables })
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names that the expression takes from outside.
    pub fn variables(&self) -> &BTreeSet<String> {
        &self.variables
    }

    /// The value of the expression.
    pub fn evaluate(&self, variables: &Variables) -> Result<Value, Error> {
        let value = self.run(variables)?;
        convert::to_json(&value).ok_or_else(|| Error::Evaluation(format!("gave {value:?}, which is no JSON value")))
    }

    /// Whether the expression is true.
    pub fn holds(&self, variables: &Variables) -> Result<bool, Error> {
        match self.run(variables)? {
            CelValue::Bool(holds) => Ok(holds),
            other => Err(Error::NotABoolean(
                convert::to_json(&other).map_or_else(|| format!("{other:?}"), |v| v.to_string()),
            )),
        }
    }

    fn run(&self, variables: &Variables) -> Result<CelValue, Error> {
        let mut context = Context::default().with_all();
        for name in &self.variables {
            if let Some(value) = variables.values.get(name) {
                context.add_variable_from_value(name.clone(), value.clone());
            }
        }
        self.program.execute(&context).map_err(|error| Error::Evaluation(error.to_string()))
    }
}

/// How deep brackets and unary operators are nested, counted before the recursive parser sees them.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest, mut run) = (0_usize, 0, 0_usize);
    for sign in text.bytes() {
        match sign {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        run = if matches!(sign, b'!' | b'-') { run + 1 } else { 0 };
        deepest = deepest.max(depth + run);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn holds(text: &str, pods: &Value) -> Result<bool, Error> {
        let mut variables = Variables::default();
        variables.set("pods", pods);
        Expression::compile(text)?.holds(&variables)
    }

    #[test]
    fn expressions_look_into_objects() {
        let pods =
            json!([{"metadata": {"name": "a"}, "status": {"phase": "Running"}, "n": 3}, {"metadata": {"name": "b"}}]);
        for (text, expected) in [
            ("size(pods) == 2", true),
            ("pods.filter(p, has(p.status) && p.status.phase == 'Running').size() == 1", true),
            ("pods.exists(p, p.metadata.name == 'b' && !has(p.status))", true),
            ("pods.all(p, p.metadata.name < 'b')", false),
            ("pods[0].n + 1 == 4", true),
            ("quantity('1Gi').isGreaterThan(quantity('1Mi'))", true),
        ] {
            assert_eq!(holds(text, &pods), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_bad_text_is_refused_with_its_place() {
        let Err(Error::Syntax { line, column, .. }) = Expression::compile("size(pods) ==") else { panic!("accepted") };
        assert_eq!(line, 1);
        assert!(column > 1, "{column}");
        assert!(matches!(holds("1 + 1", &json!([])), Err(Error::NotABoolean(_))));
        assert!(matches!(holds("nobody == 1", &json!([])), Err(Error::Evaluation(_))));
    }

    #[test]
    fn only_names_from_outside_count_as_variables() {
        let expression =
            Expression::compile("pods.filter(p, p.a == limit).map(q, q.b).size() > 0 && size(x.y) == 1").unwrap();
        let names: Vec<_> = expression.variables().iter().map(String::as_str).collect();
        assert_eq!(names, ["limit", "pods", "x"]);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_compiler_panic(text in r#"[ -~]{0,60}"#) {
            let _ = holds(&text, &json!([{"a": 1}]));
        }

        #[test]
        fn no_combination_of_words_makes_the_evaluator_panic(words in proptest::collection::vec(
            proptest::sample::select(vec!["pods", "size(", "(", ")", "[", "]", "{", "}", "==", "+", "-", "!", "1", "'a'", ".", "map(p,", "p", "has(", "quantity(", ",", "?", ":", "&&", "9223372036854775807", "%", "/", "0", "duration(", "'1h'", "matches(", "'['"]), 0..14)) {
            let _ = holds(&words.join(" "), &json!([{"a": 1}]));
        }
    }
}
