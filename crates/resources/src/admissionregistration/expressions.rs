use coracle_expression::{Environment, Error, Expression, Type};
use coracle_meta::FieldError;

/// The errors of an expression of a policy or a condition, which must return one of some types.
/// In Kubernetes: `validateCELCondition`.
pub(super) fn wrong_expression(
    text: &str,
    environment: &Environment,
    types: &[Type],
    path: String,
) -> Option<FieldError> {
    let what = match Expression::compile_in(text, environment) {
        Ok(expression) => {
            let of = expression.output_type();
            if types.is_empty() || types.contains(of) {
                return None;
            }
            let names: Vec<String> = types.iter().map(named).collect();
            match &names[..] {
                [only] => format!("must evaluate to {only} but got {}", named(of)),
                several => format!("must evaluate to one of [{}] but got {}", several.join(" "), named(of)),
            }
        }
        Err(Error::Refused(report)) => format!("compilation failed: {report}"),
        Err(error) => return Some(FieldError::internal(path, format!("program instantiation failed: {error}"))),
    };
    Some(FieldError::invalid(path, text, what))
}

fn named(of: &Type) -> String {
    match of {
        Type::Null => "null_type".to_owned(),
        other => other.to_string(),
    }
}
