use coracle_expression::Allowance;
use coracle_meta::{FieldError, FieldErrorKind, Object};
use serde_json::Value;

use crate::{Kind, Planned};

impl Kind {
    /// All errors of an object or its change: `errors`, and those of the CEL rules, unless `errors` block their
    /// evaluation.
    ///
    /// # Errors
    /// If the rules are costly and have to be asked elsewhere, before this is asked again.
    pub(crate) fn with_rules(
        &self,
        mut errors: Vec<FieldError>,
        new: &Object,
        old: Option<&Object>,
    ) -> Planned<Vec<FieldError>> {
        let strategy = self.ruling();
        if !strategy.has_rules() {
            return Ok(errors);
        }
        if errors.iter().any(is_blocking) {
            let what = "some validation rules were not checked because the object was invalid; correct the existing \
                errors to complete validation";
            errors.push(FieldError::invalid("<nil>", Value::Null, what));
            return Ok(errors);
        }
        errors.extend(match &self.verdicts {
            Some(verdicts) => verdicts.of(strategy, new, old)?,
            None => strategy.check_rules(new, old, &Allowance::unlimited()),
        });
        Ok(errors)
    }
}

/// Whether an error blocks the evaluation of rules.
fn is_blocking(error: &FieldError) -> bool {
    matches!(
        error.kind,
        FieldErrorKind::NotSupported
            | FieldErrorKind::Required
            | FieldErrorKind::TooLong
            | FieldErrorKind::TooMany
            | FieldErrorKind::TypeInvalid
    )
}
