//! The errors of an object as a release reports them.

use std::collections::BTreeSet;

use coracle_meta::{FieldError, FieldErrorKind};

/// The errors of a kind whose rules a release declares on fields: each once, and those of declared rules last, which
/// explain neither a missing nor a forbidden value.
/// In Kubernetes: `ValidateDeclarativelyWithMigrationChecks`.
pub(crate) fn of_declared_rules(errors: Vec<FieldError>) -> Vec<FieldError> {
    let (declared, mut checked): (Vec<_>, Vec<_>) = errors.into_iter().partition(|error| error.is_declared);
    checked.extend(declared.into_iter().map(in_own_words));
    let mut seen = BTreeSet::new();
    checked.retain(|error| seen.insert(error.message()));
    checked
}

fn in_own_words(error: FieldError) -> FieldError {
    match error.kind {
        FieldErrorKind::Required | FieldErrorKind::Forbidden => error.saying(""),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_rules_come_last_without_explanation_and_nothing_comes_twice() {
        let missing = FieldError::required("spec.a", "must be there").declared();
        let wrong = FieldError::invalid("spec.b", 1, "must be 2");
        let other = FieldError::required("spec.c", "for a reason");
        let errors = of_declared_rules(vec![missing.clone(), wrong.clone(), missing, wrong, other]);
        let messages: Vec<_> = errors.iter().map(FieldError::message).collect();
        assert_eq!(
            messages,
            ["spec.b: Invalid value: 1: must be 2", "spec.c: Required value: for a reason", "spec.a: Required value"]
        );
    }
}
