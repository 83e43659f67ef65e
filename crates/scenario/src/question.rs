use coracle_expression::Expression;
use coracle_sim::{Invariant, InvariantQuestion, Polarity};
use serde_json::Value;
use serde_saphyr::Spanned;

use crate::file::{self, Scenario};

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

/// The conditions that have to hold throughout a scenario, or from one of its steps on.
pub(crate) fn invariants(scenario: &Scenario) -> Vec<Invariant> {
    let make = |polarity: Polarity| {
        move |invariant: &Spanned<file::Invariant>| Invariant {
            name: invariant.value.name.clone(),
            polarity,
            question: question(invariant.value.resource.as_ref(), invariant.value.cel.as_ref()),
            since: invariant.value.since.as_ref().map(|step| step.value.clone()),
        }
    };
    let spec = &scenario.spec;
    spec.always.iter().map(make(Polarity::Always)).chain(spec.never.iter().map(make(Polarity::Never))).collect()
}
