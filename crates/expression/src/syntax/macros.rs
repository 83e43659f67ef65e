use std::sync::Arc;

use super::builder::{Builder, Parsed, Reported};
use super::tree::{Expr, Fold, Kind, Literal};

/// The name of a comprehension's accumulator; it is not a valid identifier.
pub(crate) const ACCUMULATOR: &str = "@result";
const UNUSED: &str = "#unused";
const SORT_INPUT: &str = "@__sortBy_input__";

/// Expands a macro, or returns the parts of an ordinary call.
pub(super) fn expand(
    builder: &mut Builder<'_>,
    at: usize,
    function: &str,
    target: Option<Expr>,
    mut arguments: Vec<Expr>,
) -> Result<Parsed, (Option<Expr>, Vec<Expr>)> {
    let count = arguments.len();
    let Some(target) = target else {
        if function == "has" && count == 1 {
            let argument = arguments.remove(0);
            return Ok(Expansion { builder, at }.has(argument));
        }
        return Err((None, arguments));
    };
    if function == "bind" && count == 3 && builder.has_bindings() && is_named(&target, "cel") {
        return Ok(Expansion { builder, at }.named_value(arguments));
    }
    let is_macro = match function {
        "all" | "exists" | "exists_one" => count == 2 || count == 3,
        "existsOne" | "transformMap" | "transformMapEntry" | "transformList" if count == 3 => true,
        "transformMap" | "transformMapEntry" | "transformList" => count == 4,
        "map" => count == 2 || count == 3,
        "filter" | "optMap" | "optFlatMap" | "sortBy" => count == 2,
        _ => false,
    };
    if !is_macro {
        return Err((Some(target), arguments));
    }
    let mut expansion = Expansion { builder, at };
    Ok(match function {
        "optMap" | "optFlatMap" => expansion.optional_map(function, target, arguments),
        "sortBy" => expansion.sort_by(target, arguments),
        _ => expansion.fold(function, target, arguments),
    })
}

fn is_named(expression: &Expr, name: &str) -> bool {
    matches!(&expression.kind, Kind::Ident(named) if **named == *name)
}

struct Expansion<'p, 't> {
    builder: &'p mut Builder<'t>,
    at: usize,
}

impl Expansion<'_, '_> {
    fn node(&mut self, kind: Kind) -> Parsed {
        self.builder.node(self.at, kind)
    }

    fn literal(&mut self, literal: Literal) -> Parsed {
        self.node(Kind::Literal(literal))
    }

    fn ident(&mut self, name: &str) -> Parsed {
        self.node(Kind::Ident(name.into()))
    }

    fn accumulator(&mut self) -> Parsed {
        self.ident(ACCUMULATOR)
    }

    fn call(&mut self, function: &str, arguments: Vec<Expr>) -> Parsed {
        self.node(Kind::Call { function: function.into(), target: None, arguments })
    }

    fn method(&mut self, function: &str, target: Expr, arguments: Vec<Expr>) -> Parsed {
        self.node(Kind::Call { function: function.into(), target: Some(Box::new(target)), arguments })
    }

    fn has(mut self, argument: Expr) -> Parsed {
        match argument.kind {
            Kind::Select { operand, field, .. } => self.node(Kind::Select { operand, field, is_test: true }),
            _ => {
                let at = self.builder.place(&argument);
                self.builder.wrong(at, "invalid argument to has() macro")
            }
        }
    }

    /// The variable in an argument.
    fn variable(&mut self, argument: &Expr, otherwise: &str) -> Result<Arc<str>, Parsed> {
        let at = self.builder.place(argument);
        match &argument.kind {
            Kind::Ident(name) if **name == *ACCUMULATOR || **name == *"__result__" => {
                Err(self.builder.wrong(at, "iteration variable overwrites accumulator variable"))
            }
            Kind::Ident(name) => Ok(Arc::clone(name)),
            _ => Err(self.builder.wrong(at, otherwise)),
        }
    }

    fn fold(&mut self, function: &str, target: Expr, mut arguments: Vec<Expr>) -> Parsed {
        let is_mapping = matches!(function, "map" | "filter");
        let otherwise = if is_mapping { "argument is not an identifier" } else { "argument must be a simple name" };
        let variable = match self.variable(&arguments[0], otherwise) {
            Ok(variable) => variable,
            Err(wrong) => return wrong,
        };
        let second = if is_mapping || arguments.len() == 2 {
            None
        } else {
            match self.variable(&arguments[1], otherwise) {
                Ok(second) if second == variable => {
                    let at = self.builder.place(&arguments[1]);
                    return self.builder.wrong(at, format!("duplicate variable name: {variable}"));
                }
                Ok(second) => Some(second),
                Err(wrong) => return wrong,
            }
        };
        let names = 1 + usize::from(second.is_some());
        let body = arguments.split_off(names);
        let first = arguments.remove(0);
        let (start, condition, step, result) = match function {
            "all" | "exists" => self.quantifier(function == "all", body)?,
            "exists_one" | "existsOne" => self.exactly_one(body)?,
            _ => self.collection(function, first, &variable, body)?,
        };
        let accumulator = Arc::from(ACCUMULATOR);
        let fold = Fold { range: target, variable, second, accumulator, start, condition, step, result };
        self.node(Kind::Fold(Box::new(fold)))
    }

    fn quantifier(&mut self, is_all: bool, mut body: Vec<Expr>) -> Result<(Expr, Expr, Expr, Expr), Reported> {
        let start = self.literal(Literal::Bool(is_all))?;
        let mut so_far = self.accumulator()?;
        if !is_all {
            so_far = self.call("!_", vec![so_far])?;
        }
        let condition = self.call("@not_strictly_false", vec![so_far])?;
        let so_far = self.accumulator()?;
        let step = self.call(if is_all { "_&&_" } else { "_||_" }, vec![so_far, body.remove(0)])?;
        Ok((start, condition, step, self.accumulator()?))
    }

    fn exactly_one(&mut self, mut body: Vec<Expr>) -> Result<(Expr, Expr, Expr, Expr), Reported> {
        let start = self.literal(Literal::Int(0))?;
        let condition = self.literal(Literal::Bool(true))?;
        let (so_far, one) = (self.accumulator()?, self.literal(Literal::Int(1))?);
        let more = self.call("_+_", vec![so_far, one])?;
        let so_far = self.accumulator()?;
        let step = self.call("_?_:_", vec![body.remove(0), more, so_far])?;
        let (found, one) = (self.accumulator()?, self.literal(Literal::Int(1))?);
        Ok((start, condition, step, self.call("_==_", vec![found, one])?))
    }

    /// `map`, `filter` and the transformations: a list or a map as the accumulator.
    fn collection(
        &mut self,
        function: &str,
        first: Expr,
        variable: &str,
        mut body: Vec<Expr>,
    ) -> Result<(Expr, Expr, Expr, Expr), Reported> {
        let is_map = function.starts_with("transformMap");
        let start = self.node(if is_map { Kind::Map(Vec::new()) } else { Kind::List(Vec::new()) })?;
        let condition = self.literal(Literal::Bool(true))?;
        let filter = if function == "filter" || body.len() == 2 { Some(body.remove(0)) } else { None };
        let value = if function == "filter" { first } else { body.remove(0) };
        let so_far = self.accumulator()?;
        let step = match function {
            "transformMap" => {
                let key = self.ident(variable)?;
                self.call("cel.@mapInsert", vec![so_far, key, value])?
            }
            "transformMapEntry" => self.call("cel.@mapInsert", vec![so_far, value])?,
            _ => {
                let item = self.node(Kind::List(vec![(value, false)]))?;
                self.call("_+_", vec![so_far, item])?
            }
        };
        let step = match filter {
            Some(filter) => {
                let so_far = self.accumulator()?;
                self.call("_?_:_", vec![filter, step, so_far])?
            }
            None => step,
        };
        Ok((start, condition, step, self.accumulator()?))
    }

    /// Binds a value to a name, as a comprehension over nothing.
    fn bind(&mut self, name: &str, value: Expr, result: Expr) -> Parsed {
        let range = self.node(Kind::List(Vec::new()))?;
        let condition = self.literal(Literal::Bool(false))?;
        let step = self.ident(name)?;
        let fold = Fold {
            range,
            variable: UNUSED.into(),
            second: None,
            accumulator: name.into(),
            start: value,
            condition,
            step,
            result,
        };
        self.node(Kind::Fold(Box::new(fold)))
    }

    /// `cel.bind(name, value, result)`. In Kubernetes: `ext.Bindings` of cel-go.
    fn named_value(&mut self, mut arguments: Vec<Expr>) -> Parsed {
        let Kind::Ident(name) = &arguments[0].kind else {
            let at = self.builder.place(&arguments[0]);
            return self.builder.wrong(at, "cel.bind() variable names must be simple identifiers");
        };
        let name = Arc::clone(name);
        let result = arguments.remove(2);
        let value = arguments.remove(1);
        self.bind(&name, value, result)
    }

    fn optional_map(&mut self, function: &str, target: Expr, mut arguments: Vec<Expr>) -> Parsed {
        let Kind::Ident(name) = &arguments[0].kind else {
            let at = self.builder.place(&arguments[0]);
            return self.builder.wrong(at, format!("{function}() variable name must be a simple identifier"));
        };
        let name = Arc::clone(name);
        let copy = self.builder.copy(&target)?;
        let has_value = self.method("hasValue", target, Vec::new())?;
        let value = self.method("value", copy, Vec::new())?;
        let mut mapped = self.bind(&name, value, arguments.remove(1))?;
        if function == "optMap" {
            mapped = self.call("optional.of", vec![mapped])?;
        }
        let none = self.call("optional.none", Vec::new())?;
        self.call("_?_:_", vec![has_value, mapped, none])
    }

    fn sort_by(&mut self, target: Expr, arguments: Vec<Expr>) -> Parsed {
        let is_list = matches!(
            target.kind,
            Kind::List(_) | Kind::Select { .. } | Kind::Ident(_) | Kind::Fold(_) | Kind::Call { .. }
        );
        if !is_list {
            let at = self.builder.place(&target);
            let what = "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
            return self.builder.wrong(at, what);
        }
        let input = self.ident(SORT_INPUT)?;
        let keys = self.fold("map", input, arguments)?;
        let input = self.ident(SORT_INPUT)?;
        let sorted = self.method("@sortByAssociatedKeys", input, vec![keys])?;
        self.bind(SORT_INPUT, target, sorted)
    }
}
