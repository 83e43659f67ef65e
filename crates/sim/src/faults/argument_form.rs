use serde_json::Value;

/// A form that the argument of a fault may have: for editors, and for the test that compares it with the function that
/// reads the argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentForm {
    /// This word.
    Word(&'static str),
    /// This number.
    Number(u64),
    /// A duration.
    Duration,
    /// A duration that may begin with `-`, and is not zero.
    SignedDuration,
    /// `{}`.
    Empty,
    /// The name of a component or a user.
    Requester,
    /// The name of a component.
    Component,
    /// The name of a simulated node.
    Node,
    /// An object with this field only.
    Field(&'static str, &'static ArgumentForm),
    /// An object whose only field has the name of a component.
    OfComponent(&'static ArgumentForm),
}

impl ArgumentForm {
    /// Whether an argument has this form. A name may be any text.
    pub fn permits(&self, argument: &Value) -> bool {
        let only_field = || argument.as_object().filter(|fields| fields.len() == 1)?.iter().next();
        match *self {
            Self::Word(word) => argument.as_str() == Some(word),
            Self::Number(number) => argument.as_u64() == Some(number),
            Self::Duration => argument.as_str().is_some_and(|text| coracle_meta::parse_duration(text).is_some()),
            Self::SignedDuration => argument.as_str().is_some_and(|text| {
                let length = coracle_meta::parse_duration(text.strip_prefix('-').unwrap_or(text));
                length.is_some_and(|length| !length.is_zero())
            }),
            Self::Empty => argument.as_object().is_some_and(serde_json::Map::is_empty),
            Self::Requester | Self::Component | Self::Node => argument.as_str().is_some_and(|name| !name.is_empty()),
            Self::Field(name, form) => only_field().is_some_and(|(field, value)| field == name && form.permits(value)),
            Self::OfComponent(form) => only_field().is_some_and(|(_, value)| form.permits(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::faults::FAULTS;

    /// Arguments of all forms.
    fn samples() -> Vec<Value> {
        let words = ["request", "answer", "kill", "full", "compact", "scheduler", "30s", "-5m", "0s", "", "node-1"];
        let objects = [
            json!({}),
            json!({"answer": "30s"}),
            json!({"slow": "30s"}),
            json!({"stop": "node-1"}),
            json!({"forget": ""}),
            json!({"scheduler": "-5m"}),
            json!({"scheduler": "0s"}),
            json!({"slow": "30s", "answer": "30s"}),
        ];
        let numbers = [0, 1, 409, 429, 500, 503, 504, 600].map(Value::from);
        let others = [json!(null), json!(true), json!([]), json!(1.5)];
        words.map(Value::from).into_iter().chain(objects).chain(numbers).chain(others).collect()
    }

    #[test]
    fn the_forms_of_each_fault_are_those_that_its_function_accepts() {
        for kind in FAULTS {
            for argument in samples() {
                let is_permitted = kind.forms.iter().any(|form| form.permits(&argument));
                let read = kind.check(&argument);
                assert_eq!(read.is_ok(), is_permitted, "{}: {argument}: {read:?}", kind.word);
            }
        }
    }
}
