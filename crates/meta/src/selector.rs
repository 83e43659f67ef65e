use std::collections::BTreeMap;

use serde_json::Value;

use crate::{go_quote, names};

/// Chooses objects by their labels; empty chooses all.
///
/// In Kubernetes: `labels.Selector`; the text form is that of `?labelSelector=` and `kubectl -l`.
///
/// ```
/// use coracle_meta::LabelSelector;
/// use std::collections::BTreeMap;
///
/// let labels = BTreeMap::from([("app".to_owned(), "web".to_owned()), ("tier".to_owned(), "front".to_owned())]);
/// for (text, matches) in [("app=web", true), ("app in (web,db),!gone", true), ("tier!=front", false), ("", true)] {
///     assert_eq!(LabelSelector::parse(text).unwrap().matches(&labels), matches, "{text}");
/// }
/// ```
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
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("").to_owned();
        let labels = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
        let labels = labels.map(|(key, value)| (key.clone(), text(Some(value))));
        let expressions = selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
        let expressions = expressions.map(|expression| {
            let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
            let values = values.filter_map(|value| value.as_str().map(str::to_owned)).collect();
            (text(expression.get("key")), text(expression.get("operator")), values)
        });
        Self::of_parts(labels, expressions)
    }

    /// A selector of labels and of expressions: key, operator as in `matchExpressions`, values.
    ///
    /// # Errors
    /// If an operator is unknown.
    pub fn of_parts(
        labels: impl Iterator<Item = (String, String)>,
        expressions: impl Iterator<Item = (String, String, Vec<String>)>,
    ) -> Result<Self, SelectorError> {
        let equal = |(key, value)| LabelRequirement { key, operator: LabelOperator::In, values: vec![value] };
        let mut requirements: Vec<_> = labels.map(equal).collect();
        for (key, operator, mut values) in expressions {
            let operator = match operator.as_str() {
                "In" => LabelOperator::In,
                "NotIn" => LabelOperator::NotIn,
                "Exists" => LabelOperator::Exists,
                "DoesNotExist" => LabelOperator::DoesNotExist,
                other => {
                    return Err(SelectorError(format!("{} is not a valid label selector operator", go_quote(other))));
                }
            };
            values.sort();
            requirements.push(LabelRequirement { key, operator, values });
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

/// A piece of the text form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    /// A name, a value or the name of an operator.
    Word(&'a str),
    /// One of the signs of the syntax.
    Sign(&'a str),
    End,
}

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
        match self {
            Token::Word(text) | Token::Sign(text) => text,
            Token::End => "",
        }
    }
}

/// A hand-written descent over the text form: `a=b,c!=d,e in (f,g),!h,i`. In Kubernetes: `labels.Parser`.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn requirements(mut self) -> Result<Vec<LabelRequirement>, SelectorError> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::Word(_) | Token::Sign("!") => {}
                Token::End => return Ok(requirements),
                found => return Err(unexpected(found, "!, identifier, or 'end of string'")),
            }
            let requirement = self.requirement();
            requirements
                .push(requirement.map_err(|error| SelectorError(format!("unable to parse requirement: {error}")))?);
            match self.next() {
                Token::End => return Ok(requirements),
                Token::Sign(",") => match self.peek() {
                    Token::Word(_) | Token::Sign("!") => {}
                    found => return Err(unexpected(found, "identifier after ','")),
                },
                found => return Err(unexpected(found, "',' or 'end of string'")),
            }
        }
    }

    fn requirement(&mut self) -> Result<LabelRequirement, SelectorError> {
        let negated = self.peek() == Token::Sign("!");
        if negated {
            self.next();
        }
        let key = match self.next() {
            Token::Word(key) => key,
            found => return Err(unexpected(found, "identifier")),
        };
        valid("<nil>", key, names::qualified_name(key))?;
        if negated {
            return Ok(LabelRequirement {
                key: key.to_owned(),
                operator: LabelOperator::DoesNotExist,
                values: Vec::new(),
            });
        }
        if matches!(self.peek(), Token::End | Token::Sign(",")) {
            return Ok(LabelRequirement { key: key.to_owned(), operator: LabelOperator::Exists, values: Vec::new() });
        }
        let (operator, values) = match self.next() {
            Token::Word("in") => (LabelOperator::In, self.set()?),
            Token::Word("notin") => (LabelOperator::NotIn, self.set()?),
            Token::Sign("=" | "==") => (LabelOperator::In, self.exact_value()?),
            Token::Sign("!=") => (LabelOperator::NotIn, self.exact_value()?),
            Token::Sign(">") => (LabelOperator::GreaterThan, self.exact_value()?),
            Token::Sign("<") => (LabelOperator::LessThan, self.exact_value()?),
            found => return Err(unexpected(found, "in, notin, =, ==, !=, gt, lt")),
        };
        check_values(key, operator, &values)?;
        Ok(LabelRequirement { key: key.to_owned(), operator, values })
    }

    fn set(&mut self) -> Result<Vec<String>, SelectorError> {
        match self.next() {
            Token::Sign("(") => {}
            found => return Err(SelectorError(format!("found '{}' expected: '('", found.text()))),
        }
        let mut values = std::collections::BTreeSet::new();
        match self.peek() {
            Token::Word(_) | Token::Sign(",") => self.items(&mut values)?,
            Token::Sign(")") => drop(values.insert(String::new())),
            found => return Err(unexpected(found, "',', ')' or identifier")),
        }
        self.next();
        Ok(values.into_iter().collect())
    }

    /// The items of a set, up to its closing parenthesis; nothing between two commas is an empty value.
    fn items(&mut self, values: &mut std::collections::BTreeSet<String>) -> Result<(), SelectorError> {
        loop {
            match self.next() {
                Token::Word(value) => {
                    values.insert(value.to_owned());
                    match self.peek() {
                        Token::Sign(",") => {}
                        Token::Sign(")") => return Ok(()),
                        found => return Err(unexpected(found, "',' or ')'")),
                    }
                }
                Token::Sign(",") => {
                    if values.is_empty() {
                        values.insert(String::new());
                    }
                    match self.peek() {
                        Token::Sign(")") => {
                            values.insert(String::new());
                            return Ok(());
                        }
                        Token::Sign(",") => {
                            self.next();
                            values.insert(String::new());
                        }
                        _ => {}
                    }
                }
                found => return Err(unexpected(found, "',', or identifier")),
            }
        }
    }

    fn exact_value(&mut self) -> Result<Vec<String>, SelectorError> {
        if matches!(self.peek(), Token::End | Token::Sign(",")) {
            return Ok(vec![String::new()]);
        }
        match self.next() {
            Token::Word(value) => Ok(vec![value.to_owned()]),
            found => Err(unexpected(found, "identifier")),
        }
    }

    fn peek(&self) -> Token<'a> {
        Parser { rest: self.rest }.next()
    }

    fn next(&mut self) -> Token<'a> {
        const SIGNS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];
        let rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign)).map_or(0, str::len);
        let is_end = |sign: char| " \t\r\n=!(),><".contains(sign);
        let length = if sign > 0 { sign } else { rest.find(is_end).unwrap_or(rest.len()) };
        let (token, rest) = rest.split_at(length);
        self.rest = rest;
        match (token, sign) {
            ("", _) => Token::End,
            (token, 0) => Token::Word(token),
            (token, _) => Token::Sign(token),
        }
    }
}

fn unexpected(found: Token<'_>, expected: &str) -> SelectorError {
    SelectorError(format!("found '{}', expected: {expected}", found.text()))
}

fn valid(path: &str, value: &str, wrong: Vec<String>) -> Result<(), SelectorError> {
    if wrong.is_empty() {
        return Ok(());
    }
    Err(SelectorError(format!("{path}: Invalid value: {}: {}", go_quote(value), wrong.join("; "))))
}

/// In Kubernetes: `labels.NewRequirement`.
fn check_values(key: &str, operator: LabelOperator, values: &[String]) -> Result<(), SelectorError> {
    let compares_numbers = matches!(operator, LabelOperator::GreaterThan | LabelOperator::LessThan);
    for (at, value) in values.iter().enumerate() {
        if compares_numbers && value.parse::<i64>().is_err() {
            let wrong = vec!["for 'Gt', 'Lt' operators, the value must be an integer".to_owned()];
            valid(&format!("values[{at}]"), value, wrong)?;
        }
        valid(&format!("values[{at}][{key}]"), value, names::label_value(value))?;
    }
    Ok(())
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
        let mut terms = split_unescaped(text);
        terms.sort_unstable();
        for term in terms {
            if term.is_empty() {
                continue;
            }
            let invalid = || SelectorError(format!("invalid selector: '{text}'; can't understand '{term}'"));
            let (field, equal, value) = split_operator(term).ok_or_else(invalid)?;
            let value = unescape(value)?;
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

/// In Kubernetes: `fields.UnescapeValue`.
fn unescape(value: &str) -> Result<String, SelectorError> {
    let mut out = String::with_capacity(value.len());
    let mut signs = value.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => match signs.next() {
                Some(escaped @ ('\\' | ',' | '=')) => out.push(escaped),
                other => {
                    let sequence = other.map(String::from).unwrap_or_default();
                    return Err(SelectorError(format!(
                        "invalid field selector: invalid escape sequence: \\{sequence}"
                    )));
                }
            },
            ',' | '=' => {
                let sign = u32::from(sign);
                return Err(SelectorError(format!("invalid field selector: unescaped character in value: {sign}")));
            }
            sign => out.push(sign),
        }
    }
    Ok(out)
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
    }

    #[test]
    fn invalid_label_selectors_are_refused_in_kubernetes_words() {
        for (text, why) in [
            ("=", "found '=', expected: !, identifier, or 'end of string'"),
            ("a,,b", "found ',', expected: identifier after ','"),
            ("a=b,", "found '', expected: identifier after ','"),
            ("a=b c", "found 'c', expected: ',' or 'end of string'"),
            ("!!a", "unable to parse requirement: found '!', expected: identifier"),
            ("a in b", "unable to parse requirement: found 'b' expected: '('"),
            ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
            ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
            (
                "a>x",
                "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
            ),
            ("/a=1", "unable to parse requirement: <nil>: Invalid value: \"/a\": prefix part must be non-empty"),
        ] {
            assert_eq!(LabelSelector::parse(text).unwrap_err().to_string(), why);
        }
        let long = format!("a={}", "x".repeat(64));
        assert!(LabelSelector::parse(&long).unwrap_err().to_string().ends_with("must be no more than 63 bytes"));
        assert_eq!(LabelSelector::parse("a in (,x,)").unwrap().requirements[0].values, ["", "x"]);
    }

    #[test]
    fn field_selectors_escape_and_negate() {
        let selector = FieldSelector::parse(r"a=x\,y,b!=z").unwrap();
        assert_eq!(selector.exact("a"), Some("x,y"));
        assert!(selector.matches_by(|field| if field == "a" { "x,y".into() } else { "q".into() }));
        assert_eq!(selector.to_string(), r"a=x\,y,b!=z");
        assert!(FieldSelector::parse("a").is_err());
        let why = FieldSelector::parse("a=b=c").unwrap_err().to_string();
        assert_eq!(why, "invalid field selector: unescaped character in value: 61");
        let why = FieldSelector::parse(r"a=\x").unwrap_err().to_string();
        assert_eq!(why, r"invalid field selector: invalid escape sequence: \x");
    }

    proptest! {
        #[test]
        fn parsers_never_panic(text in ".{0,40}") {
            let _ = LabelSelector::parse(&text);
            let _ = FieldSelector::parse(&text);
        }
    }
}
