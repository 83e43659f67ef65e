use std::collections::BTreeSet;

use crate::check::{Typed, check};
use crate::environment::Environment;
use crate::estimate::estimate;
use crate::evaluate::{PlanNode, plan};
use crate::schema::Schema;
use crate::source::Report;
use crate::syntax::{Kind, Tree, parse};
use crate::types::Type;

/// A compiled expression.
#[derive(Debug)]
pub struct Expression {
    text: String,
    compiled: Box<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    node: PlanNode,
    typed: Typed,
    tree: Tree,
}

/// Why an expression cannot be compiled, or has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not a valid expression.
    #[error("{0}")]
    Refused(Report),
    /// A constant part of the expression fails.
    #[error("{0}")]
    Constant(String),
    /// The evaluation failed.
    #[error("{0}")]
    Evaluation(String),
    /// The result has the right type, and cannot be used as a patch.
    #[error("{0}")]
    NotAPatch(String),
    /// The result is not a boolean, and a boolean was needed.
    #[error("gave {0}, where true or false is needed")]
    NotABoolean(String),
}

/// The result of an expression, and its cost in Kubernetes' units.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluationResult<T> {
    /// The value, or the error.
    pub result: Result<T, Error>,
    /// The cost.
    pub cost: u64,
}

impl Error {
    /// Whether the evaluation was stopped because it exceeded the cost limit.
    pub fn is_too_costly(&self) -> bool {
        matches!(self, Self::Evaluation(message) if message.starts_with("operation cancelled: actual cost limit exceeded"))
    }
}

impl Expression {
    /// Compiles an expression in which every name is a variable of dynamic type.
    pub fn compile(text: &str) -> Result<Self, Error> {
        Self::compile_in(text, &Environment::open())
    }

    /// Compiles an expression with the variables of an environment.
    pub fn compile_in(text: &str, environment: &Environment) -> Result<Self, Error> {
        let mut tree = parse(text, environment.bindings()).map_err(Error::Refused)?;
        let typed = check(text, &mut tree, environment).map_err(Error::Refused)?;
        let node = plan(&tree.root, &typed).map_err(Error::Constant)?;
        Ok(Self { text: text.to_owned(), compiled: Box::new(Compiled { node, typed, tree }) })
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The variables that the expression uses.
    pub fn variables(&self) -> &BTreeSet<String> {
        &self.compiled.typed.variables
    }

    /// What the expression iterates over: the ranges of its outermost comprehensions (`pods` in `pods.all(p, …)`),
    /// and the variables that it uses outside of comprehensions, each as a separate expression. If all of them are
    /// empty, the expression's result is vacuous.
    pub fn ranges(&self) -> Vec<Expression> {
        let mut open = vec![&self.compiled.tree.root];
        let mut ranges = Vec::new();
        while let Some(expression) = open.pop() {
            match &expression.kind {
                Kind::Fold(fold) => ranges.push(&fold.range),
                Kind::Ident(_) => ranges.push(expression),
                other => open.extend(other.below()),
            }
        }
        let Compiled { typed, tree, .. } = &*self.compiled;
        let alone = |root: &crate::syntax::Expr| {
            let node = plan(root, typed).ok()?;
            let tree = Tree { root: root.clone(), places: tree.places.clone() };
            Some(Self { text: self.text.clone(), compiled: Box::new(Compiled { node, typed: typed.clone(), tree }) })
        };
        ranges.into_iter().filter_map(alone).collect()
    }

    /// The type of the expression's result.
    pub fn output_type(&self) -> &Type {
        self.compiled.typed.type_of(&self.compiled.tree.root)
    }

    /// The maximum cost of the expression for variables with this schema. In Kubernetes: `cel.Env.EstimateCost`.
    pub fn greatest_cost(&self, schema: &Schema) -> u64 {
        estimate(&self.compiled.tree, &self.compiled.typed, Some(schema)).most
    }

    pub(crate) fn node(&self) -> &PlanNode {
        &self.compiled.node
    }
}
