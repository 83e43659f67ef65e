//! CEL expressions that select devices.

use coracle_expression::{Error, Expression, Type, device_environment, device_schema};
use coracle_meta::FieldError;
use coracle_meta::fields::Fields;
use serde_json::Value;

use super::bounded::wrong_list;
use crate::field_checks::Wrong;

const MOST_SELECTORS: usize = 32;
const LONGEST_EXPRESSION: usize = 10 << 10;
const GREATEST_COST: u64 = 1_000_000;

/// The errors of a list of selectors. In Kubernetes: `validateSelectorSlice`.
pub(super) fn wrong_selectors(selectors: &[Value], path: &str) -> Wrong {
    wrong_list(selectors, MOST_SELECTORS, path, |selector, path| match selector.at("cel") {
        Value::Null => vec![FieldError::required(format!("{path}.cel"), "")],
        cel => wrong_expression(cel.text("expression"), format!("{path}.cel.expression")).into_iter().collect(),
    })
}

/// In Kubernetes: `validateCELSelector`, and `CompileCELExpression` of `dynamic-resource-allocation/cel`.
fn wrong_expression(text: &str, path: String) -> Option<FieldError> {
    if text.len() > LONGEST_EXPRESSION {
        return Some(FieldError::too_long(path, LONGEST_EXPRESSION));
    }
    match Expression::compile_in(text, &device_environment()) {
        Ok(expression) => match expression.output_type() {
            Type::Bool | Type::Dyn if expression.greatest_cost(device_schema()) > GREATEST_COST => {
                Some(FieldError::forbidden(path, "too complex, exceeds cost limit"))
            }
            Type::Bool | Type::Dyn => None,
            other => {
                let what = format!("must evaluate to bool or the unknown type, not {other}");
                Some(FieldError::invalid(path, text, what))
            }
        },
        Err(Error::Refused(report)) => Some(FieldError::invalid(path, text, format!("compilation failed: {report}"))),
        Err(error) => Some(FieldError::internal(path, format!("program instantiation failed: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures are those of Kubernetes' own `compile_test.go`.
    #[test]
    fn selectors_cost_what_they_cost_in_kubernetes() {
        let services = r#"device.attributes["dra.example.com"].services"#;
        for (text, expected) in [
            (r#"device.attributes["no-such-domain"].noSuchAttr.isGreaterThan(quantity("0"))"#.to_owned(), 6),
            (r#""no-such-domain" in device.attributes"#.to_owned(), 3),
            (r#"device.driver == """#.to_owned(), 2),
            (r#"device.driver == "dra.example.com""#.to_owned(), 4),
            (r#"device.attributes["dra.example.com"].name"#.to_owned(), 4),
            (r#"device.attributes["dra.example.com"]["name"]"#.to_owned(), 4),
            (r#"cel.bind(dra, device.attributes["dra.example.com"], dra.name)"#.to_owned(), 15),
            (r#"device.attributes["dra.example.com"].name > 0"#.to_owned(), 5),
            (r#"device.attributes["dra.example.com"].name == "fish""#.to_owned(), 5),
            (r#"device.attributes["dra.example.com"].name.isGreaterThan(semver("0.0.1"))"#.to_owned(), 6),
            (r#"device.capacity["dra.example.com"].name.isGreaterThan(quantity("1Ki"))"#.to_owned(), 6),
            (
                r#"!("name" in device.capacity["dra.example.com"]) || device.capacity["dra.example.com"].name.isGreaterThan(quantity("1Ki"))"#
                    .to_owned(),
                11,
            ),
            (r#"device.attributes.exists_one(x, x == "dra.example.com")"#.to_owned(), 164),
            (r#"device.attributes["dra.example.com"].exists_one(x, x == "services")"#.to_owned(), 133),
            (format!(r#"{services}.split("example").size() >= 2"#), 19),
            (format!(r#"{services}.matches("[^a]?sym")"#), 18),
            (r#"device.capacity.exists_one(x, x == "dra.example.com")"#.to_owned(), 164),
            (r#"device.capacity["dra.example.com"].exists_one(x, x == "memory")"#.to_owned(), 133),
        ] {
            let expression = Expression::compile_in(&text, &device_environment()).unwrap();
            assert_eq!(expression.greatest_cost(device_schema()), expected, "{text}");
        }
    }

    #[test]
    fn a_selector_is_refused_when_it_is_written() {
        let said = |text: &str| wrong_expression(text, "p".to_owned()).map(|error| error.message());
        assert_eq!(said("true"), None);
        assert_eq!(said("1").unwrap(), "p: Invalid value: \"1\": must evaluate to bool or the unknown type, not int");
        let undefined = said("device.allowMultipleAllocations == false").unwrap();
        assert!(
            undefined.contains("compilation failed: ERROR: <input>:1:7: undefined field 'allowMultipleAllocations'")
        );
        let ten = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
        let costly = (0..7).fold("true".to_owned(), |inner, at| format!("{ten}.all(x{at}, {inner})"));
        assert_eq!(said(&costly).unwrap(), "p: Forbidden: too complex, exceeds cost limit");
        assert_eq!(said(&" ".repeat(10_241)).unwrap(), "p: Too long: may not be more than 10240 bytes");
        assert_eq!(wrong_selectors(&[serde_json::json!({})], "s")[0].message(), "s[0].cel: Required value");
    }
}
