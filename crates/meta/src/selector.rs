use std::collections::BTreeMap;

use serde_json::Value;

use crate::go_quote;

/// Chooses objects by their labels; empty chooses all.
///
/// In Kubernetes: `labels.Selector`; the text form is that of `?labelSelector=` and `kubectl -l`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    /// All of these have to hold.
    pub requirements: Vec<LabelRequirement>,
    /// Chooses nothing at all, whatever the requirements say.
    pub nothing: bool,
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRequirement {
    /// The label's name.
    pub key: String,
    /// How it is compared.
    pub operator: LabelOperator,
    /// With what.
    pub values: Vec<String>,
}

/// How a label is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelOperator {
    /// `a=b`, `a==b`, `a in (b,c)`
    In,
    /// `a!=b`, `a notin (b,c)`; holds where the label is absent.
    NotIn,
    /// `a`
    Exists,
    /// `!a`
    DoesNotExist,
    /// `a>1`
    GreaterThan,
    /// `a<1`
    LessThan,
}

/// The text is not a selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(pub String);

impl LabelSelector {
    /// Chooses everything.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Chooses nothing.
    pub fn nothing() -> Self {
        Self { nothing: true, ..Self::default() }
    }

    /// Whether this selector lets everything through.
    pub fn is_everything(&self) -> bool {
        !self.nothing && self.requirements.is_empty()
    }

    /// Chooses objects that carry all of these labels.
    pub fn of_labels(labels: &BTreeMap<String, String>) -> Self {
        let requirement = |(key, value): (&String, &String)| LabelRequirement {
            key: key.clone(),
            operator: LabelOperator::In,
            values: vec![value.clone()],
        };
        Self { requirements: labels.iter().map(requirement).collect(), nothing: false }
    }

    /// Reads the JSON form with `matchLabels` and `matchExpressions`.
    /// Absent chooses nothing, empty chooses everything. In Kubernetes: `metav1.LabelSelectorAsSelector`.
    pub fn from_json(selector: Option<&Value>) -> Result<Self, SelectorError> {
        let Some(selector) = selector.filter(|value| !value.is_null()) else { return Ok(Self::nothing()) };
        let mut requirements = Vec::new();
        for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
            requirements.push(LabelRequirement {
                key: key.clone(),
                operator: LabelOperator::In,
                values: vec![value.as_str().unwrap_or("").to_owned()],
            });
        }
        for expression in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
            let operator = match expression.get("operator").and_then(Value::as_str).unwrap_or("") {
                "In" => LabelOperator::In,
                "NotIn" => LabelOperator::NotIn,
                "Exists" => LabelOperator::Exists,
                "DoesNotExist" => LabelOperator::DoesNotExist,
                other => {
                    return Err(SelectorError(format!("{} is not a valid label selector operator", go_quote(other))));
                }
            };
            let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
            let mut values: Vec<String> = values.filter_map(|value| value.as_str().map(str::to_owned)).collect();
            values.sort();
            requirements.push(LabelRequirement {
                key: expression.get("key").and_then(Value::as_str).unwrap_or("").to_owned(),
                operator,
                values,
            });
        }
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self { requirements, nothing: false })
    }

    /// Reads the text form, as in `?labelSelector=`.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut requirements = Parser { rest: text }.requirements()?;
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self { requirements, nothing: false })
    }

    /// Whether these labels are chosen.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.matches_by(|key| labels.get(key).map(String::as_str))
    }

    /// Whether the object whose label `key` is `label(key)` is chosen.
    pub fn matches_by<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        !self.nothing && self.requirements.iter().all(|requirement| requirement.matches(label(&requirement.key)))
    }
}

impl LabelRequirement {
    fn matches(&self, value: Option<&str>) -> bool {
        let among = |value: &str| self.values.iter().any(|candidate| candidate == value);
        let bound = || self.values.first().and_then(|bound| bound.parse::<i64>().ok());
        match self.operator {
            LabelOperator::In => value.is_some_and(among),
            LabelOperator::NotIn => !value.is_some_and(among),
            LabelOperator::Exists => value.is_some(),
            LabelOperator::DoesNotExist => value.is_none(),
            LabelOperator::GreaterThan => value
                .and_then(|value| value.parse().ok())
                .zip(bound())
                .is_some_and(|(value, bound): (i64, i64)| value > bound),
            LabelOperator::LessThan => value
                .and_then(|value| value.parse().ok())
                .zip(bound())
                .is_some_and(|(value, bound): (i64, i64)| value < bound),
        }
    }
}

impl std::fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            let LabelRequirement { key, operator, values } = requirement;
            match (operator, values.as_slice()) {
                (LabelOperator::In, [value]) => write!(f, "{key}={value}")?,
                (LabelOperator::NotIn, [value]) => write!(f, "{key}!={value}")?,
                (LabelOperator::In, values) => write!(f, "{key} in ({})", values.join(","))?,
                (LabelOperator::NotIn, values) => write!(f, "{key} notin ({})", values.join(","))?,
                (LabelOperator::Exists, _) => f.write_str(key)?,
                (LabelOperator::DoesNotExist, _) => write!(f, "!{key}")?,
                (LabelOperator::GreaterThan, values) => write!(f, "{key}>{}", values.join(","))?,
                (LabelOperator::LessThan, values) => write!(f, "{key}<{}", values.join(","))?,
            }
        }
        Ok(())
    }
}

/// A hand-written descent over the text form: `a=b,c!=d,e in (f,g),!h,i`.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn requirements(mut self) -> Result<Vec<LabelRequirement>, SelectorError> {
        let mut requirements = Vec::new();
        self.skip_space();
        if self.rest.is_empty() {
            return Ok(requirements);
        }
        loop {
            requirements.push(self.requirement()?);
            self.skip_space();
            if self.rest.is_empty() {
                return Ok(requirements);
            }
            if !self.take(",") {
                let found = self.word_or_sign();
                return Err(SelectorError(format!("found '{found}', expected: ',' or 'end of string'")));
            }
            self.skip_space();
            if self.rest.is_empty() {
                return Err(SelectorError("found '', expected: identifier after ','".to_owned()));
            }
        }
    }

    fn requirement(&mut self) -> Result<LabelRequirement, SelectorError> {
        self.skip_space();
        if self.take("!") {
            self.skip_space();
            let key = self.identifier()?;
            return Ok(LabelRequirement { key, operator: LabelOperator::DoesNotExist, values: Vec::new() });
        }
        let key = self.identifier()?;
        self.skip_space();
        if self.rest.is_empty() || self.rest.starts_with(',') {
            return Ok(LabelRequirement { key, operator: LabelOperator::Exists, values: Vec::new() });
        }
        let operator = self.operator()?;
        self.skip_space();
        let values = match operator {
            Word::In | Word::NotIn => self.set()?,
            Word::Equals | Word::NotEquals | Word::Greater | Word::Less => vec![self.exact_value()?],
        };
        let operator = match operator {
            Word::In | Word::Equals => LabelOperator::In,
            Word::NotIn | Word::NotEquals => LabelOperator::NotIn,
            Word::Greater => LabelOperator::GreaterThan,
            Word::Less => LabelOperator::LessThan,
        };
        Ok(LabelRequirement { key, operator, values })
    }

    fn operator(&mut self) -> Result<Word, SelectorError> {
        for (sign, word) in [
            ("==", Word::Equals),
            ("=", Word::Equals),
            ("!=", Word::NotEquals),
            (">", Word::Greater),
            ("<", Word::Less),
        ] {
            if self.take(sign) {
                return Ok(word);
            }
        }
        let found = self.word_or_sign();
        match found {
            "in" => Ok(Word::In),
            "notin" => Ok(Word::NotIn),
            found => Err(SelectorError(format!("found '{found}', expected: in, notin, =, ==, !=, gt, lt"))),
        }
    }

    fn set(&mut self) -> Result<Vec<String>, SelectorError> {
        if !self.take("(") {
            let found = self.word_or_sign();
            return Err(SelectorError(format!("found '{found}' expected: '('")));
        }
        let mut values = Vec::new();
        loop {
            self.skip_space();
            values.push(self.word().to_owned());
            self.skip_space();
            if self.take(")") {
                break;
            }
            if !self.take(",") {
                let found = self.word_or_sign();
                return Err(SelectorError(format!("found '{found}', expected: ',' or ')'")));
            }
        }
        values.sort();
        values.dedup();
        Ok(values)
    }

    fn exact_value(&mut self) -> Result<String, SelectorError> {
        if self.rest.is_empty() || self.rest.starts_with(',') {
            return Ok(String::new());
        }
        let word = self.word();
        if word.is_empty() {
            let found = self.word_or_sign();
            return Err(SelectorError(format!("found '{found}', expected: identifier")));
        }
        Ok(word.to_owned())
    }

    fn identifier(&mut self) -> Result<String, SelectorError> {
        let word = self.word();
        if word.is_empty() {
            let found = self.word_or_sign();
            return Err(SelectorError(format!("found '{found}', expected: !, identifier, or ','")));
        }
        Ok(word.to_owned())
    }

    fn word(&mut self) -> &'a str {
        let end =
            self.rest.find(|sign: char| sign.is_whitespace() || "=!,()><".contains(sign)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn word_or_sign(&mut self) -> &'a str {
        let word = self.word();
        if !word.is_empty() {
            return word;
        }
        let end = self.rest.chars().next().map_or(0, char::len_utf8);
        let (sign, rest) = self.rest.split_at(end);
        self.rest = rest;
        sign
    }

    fn take(&mut self, sign: &str) -> bool {
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }
}

enum Word {
    Equals,
    NotEquals,
    In,
    NotIn,
    Greater,
    Less,
}

/// Chooses objects by single fields, as in `?fieldSelector=`. In Kubernetes: `fields.Selector`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    /// All of these have to hold.
    pub requirements: Vec<FieldRequirement>,
}

/// One condition on one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRequirement {
    /// The field, as a dotted path.
    pub field: String,
    /// Whether the field has to equal the value; otherwise it must not.
    pub equal: bool,
    /// The value.
    pub value: String,
}

impl FieldSelector {
    /// Whether this selector lets everything through.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Reads `a=b,c!=d`; a backslash before a backslash, comma or equals sign takes its meaning away.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut requirements = Vec::new();
        for term in split_unescaped(text) {
            if term.is_empty() {
                continue;
            }
            let invalid = || SelectorError(format!("invalid selector: '{text}'; can't understand '{term}'"));
            let (field, equal, value) = split_operator(term).ok_or_else(invalid)?;
            let value = unescape(value).ok_or_else(invalid)?;
            requirements.push(FieldRequirement { field: field.to_owned(), equal, value });
        }
        Ok(Self { requirements })
    }

    /// The value that `field` has to equal, if the selector demands one.
    pub fn exact(&self, field: &str) -> Option<&str> {
        let found = self.requirements.iter().find(|requirement| requirement.equal && requirement.field == field)?;
        Some(&found.value)
    }

    /// Whether an object is chosen whose field `name` has the value `field(name)`.
    pub fn matches_by(&self, field: impl Fn(&str) -> String) -> bool {
        self.requirements
            .iter()
            .all(|requirement| (field(&requirement.field) == requirement.value) == requirement.equal)
    }
}

impl std::fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let operator = if requirement.equal { "=" } else { "!=" };
            let mut value = String::new();
            for sign in requirement.value.chars() {
                if matches!(sign, '\\' | ',' | '=') {
                    value.push('\\');
                }
                value.push(sign);
            }
            write!(f, "{comma}{}{operator}{value}", requirement.field)?;
        }
        Ok(())
    }
}

fn split_unescaped(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, sign) in text.char_indices() {
        match sign {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn split_operator(term: &str) -> Option<(&str, bool, &str)> {
    for (at, _) in term.char_indices() {
        let rest = &term[at..];
        for (sign, equal) in [("!=", false), ("==", true), ("=", true)] {
            if let Some(value) = rest.strip_prefix(sign) {
                return Some((&term[..at], equal, value));
            }
        }
    }
    None
}

fn unescape(value: &str) -> Option<String> {
    let mut out = String::with_capacity(value.len());
    let mut signs = value.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => match signs.next()? {
                escaped @ ('\\' | ',' | '=') => out.push(escaped),
                _ => return None,
            },
            ',' | '=' => return None,
            sign => out.push(sign),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn label_selectors_choose_as_kubernetes_does() {
        let web = labels(&[("app", "web"), ("tier", "front"), ("n", "5")]);
        for (text, chosen) in [
            ("", true),
            ("app=web", true),
            ("app==web,tier=front", true),
            ("app!=web", false),
            ("missing!=x", true),
            ("app in (web, db)", true),
            ("app notin (web)", false),
            ("missing notin (web)", true),
            ("app", true),
            ("!app", false),
            ("!missing", true),
            ("n>4", true),
            ("n<5", false),
            ("app=", false),
        ] {
            assert_eq!(LabelSelector::parse(text).unwrap().matches(&web), chosen, "{text}");
        }
        for text in ["=", "a in", "a in (", "a=b,", "a b", ",", "a in b"] {
            assert!(LabelSelector::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn field_selectors_escape_and_negate() {
        let selector = FieldSelector::parse(r"a=x\,y,b!=z").unwrap();
        assert_eq!(selector.exact("a"), Some("x,y"));
        assert!(selector.matches_by(|field| if field == "a" { "x,y".into() } else { "q".into() }));
        assert_eq!(selector.to_string(), r"a=x\,y,b!=z");
        assert!(FieldSelector::parse("a").is_err());
    }

    proptest! {
        #[test]
        fn parsers_never_panic(text in ".{0,40}") {
            let _ = LabelSelector::parse(&text);
            let _ = FieldSelector::parse(&text);
        }
    }
}
