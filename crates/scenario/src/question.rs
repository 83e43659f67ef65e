use coracle_expression::Expression;
use coracle_sim::{Invariant, InvariantAnswer, InvariantQuestion, Polarity};
use coracle_yaml::Spanned;
use serde_json::Value;

use crate::file::{self, Scenario};
use crate::parse::Vocabulary;
use crate::vocabulary::BuiltIn;

/// The question of a check, which was validated when the file was read.
pub(crate) fn question(resource: Option<&Spanned<Value>>, cel: Option<&Spanned<String>>) -> InvariantQuestion {
    match (resource, cel) {
        (Some(object), _) => InvariantQuestion::Partial(object.value.clone()),
        (None, Some(cel)) => InvariantQuestion::Expression(
            Expression::compile(&cel.value).expect("the reader compiled the expression").into(),
        ),
        (None, None) => unreachable!("the reader demands a resource or an expression"),
    }
}

/// The question of an expression over all objects. `served` are the plurals of all kinds of the cluster.
///
/// # Errors
/// Why the expression is not valid.
pub fn question_of(expression: &str, served: &[String]) -> Result<InvariantQuestion, String> {
    let built_in = BuiltIn::default();
    let typed = built_in.plurals();
    let custom = served.iter().filter(|plural| !typed.contains(plural));
    let names = custom.map(|plural| (plural.clone(), None)).collect();
    match built_in.expression_problem(expression, &names) {
        Some(why) => Err(format!("bad expression: {why}")),
        None => {
            let compiled = Expression::compile(expression).map_err(|error| error.to_string())?;
            Ok(InvariantQuestion::Expression(compiled.into()))
        }
    }
}

/// What was expected and what was found when an answer was not the one that was waited for.
pub fn expected_and_found(answer: InvariantAnswer) -> (String, String) {
    match answer {
        InvariantAnswer::Fails { expected, found, .. } => (expected, found),
        InvariantAnswer::Unanswerable(why) => ("an answer".to_owned(), why),
        InvariantAnswer::Holds => ("not to hold any more".to_owned(), "it still holds".to_owned()),
    }
}

/// The conditions that have to hold after the last step, with their names.
pub(crate) fn at_rest(scenario: &Scenario) -> Vec<(String, InvariantQuestion)> {
    let make = |invariant: &Spanned<file::Invariant>| {
        let file::Invariant { name, cel, resource, .. } = &invariant.value;
        (name.clone(), question(resource.as_ref(), cel.as_ref()))
    };
    scenario.spec.eventually.iter().map(make).collect()
}

/// The conditions that have to hold throughout a scenario, or from one of its steps on.
pub(crate) fn invariants(scenario: &Scenario) -> Vec<Invariant> {
    let make = |polarity: Polarity| {
        move |invariant: &Spanned<file::Invariant>| Invariant {
            name: invariant.value.name.clone(),
            polarity,
            question: question(invariant.value.resource.as_ref(), invariant.value.cel.as_ref()),
            since: invariant.value.since.as_ref().map(|step| step.value.clone()),
            line: Some(invariant.location.line()),
        }
    };
    let spec = &scenario.spec;
    spec.always.iter().map(make(Polarity::Always)).chain(spec.never.iter().map(make(Polarity::Never))).collect()
}
