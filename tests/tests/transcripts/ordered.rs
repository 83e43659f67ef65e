//! JSON with its members in the order in which they were sent, and how it is shown: as YAML, short things on one line.

use std::fmt::Write;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// How wide a line gets before what is on it is spread over several.
const WIDTH: usize = 120;

/// A JSON value that has kept the order of its members.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ordered {
    /// A text, a number, a flag or nothing.
    Leaf(Value),
    List(Vec<Ordered>),
    Map(Vec<(String, Ordered)>),
    /// What is shown in place of a value.
    Symbol(String),
}

impl<'de> Deserialize<'de> for Ordered {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Ordered;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("JSON")
            }

            fn visit_unit<E>(self) -> Result<Ordered, E> {
                Ok(Ordered::Leaf(Value::Null))
            }

            fn visit_bool<E>(self, flag: bool) -> Result<Ordered, E> {
                Ok(Ordered::Leaf(flag.into()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Ordered, E> {
                Ok(Ordered::Leaf(number.into()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Ordered, E> {
                Ok(Ordered::Leaf(number.into()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Ordered, E> {
                Ok(Ordered::Leaf(number.into()))
            }

            fn visit_str<E>(self, text: &str) -> Result<Ordered, E> {
                Ok(Ordered::Leaf(text.into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Ordered, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Ordered::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Ordered, A::Error> {
                let mut map = Vec::new();
                while let Some(member) = members.next_entry()? {
                    map.push(member);
                }
                Ok(Ordered::Map(map))
            }
        }

        deserializer.deserialize_any(Any)
    }
}

impl Ordered {
    /// As YAML, without a line break at the end. Nothing is lost: it reads as the same JSON.
    pub(crate) fn to_yaml(&self) -> String {
        let mut text = String::new();
        match self {
            Self::Map(members) if !members.is_empty() => block_map(members, 0, &mut text),
            other => text = other.flow(),
        }
        text.trim_end_matches('\n').to_owned()
    }

    /// On one line.
    fn flow(&self) -> String {
        match self {
            Self::Leaf(Value::String(text)) => quoted(text),
            Self::Leaf(value) => value.to_string(),
            Self::Symbol(symbol) => symbol.clone(),
            Self::List(items) => format!("[{}]", items.iter().map(Self::flow).collect::<Vec<_>>().join(", ")),
            Self::Map(members) => {
                let members = members.iter().map(|(name, value)| format!("{}: {}", quoted(name), value.flow()));
                format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn has_parts(&self) -> bool {
        match self {
            Self::List(items) => !items.is_empty(),
            Self::Map(members) => !members.is_empty(),
            Self::Leaf(_) | Self::Symbol(_) => false,
        }
    }
}

fn block_map(members: &[(String, Ordered)], indent: usize, text: &mut String) {
    for (at, (name, value)) in members.iter().enumerate() {
        let space = if at == 0 && text.ends_with("- ") { 0 } else { indent };
        let _ = write!(text, "{:space$}{}:", "", quoted(name));
        let flow = value.flow();
        if !value.has_parts() || indent + name.len() + 2 + flow.len() <= WIDTH {
            let _ = writeln!(text, " {flow}");
            continue;
        }
        text.push('\n');
        match value {
            Ordered::Map(members) => block_map(members, indent + 2, text),
            Ordered::List(items) => block_list(items, indent, text),
            Ordered::Leaf(_) | Ordered::Symbol(_) => {}
        }
    }
}

fn block_list(items: &[Ordered], indent: usize, text: &mut String) {
    for item in items {
        let _ = write!(text, "{:indent$}- ", "");
        let flow = item.flow();
        match item {
            Ordered::Map(members) if !members.is_empty() && indent + 2 + flow.len() > WIDTH => {
                block_map(members, indent + 2, text);
            }
            _ => {
                let _ = writeln!(text, "{flow}");
            }
        }
    }
}

/// A text as it can stand anywhere in YAML: bare if nothing could take it for something else, else in quotes.
fn quoted(text: &str) -> String {
    const WORDS: [&str; 12] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf", ".nan"];
    let is_bare_sign = |sign: char| sign.is_ascii_alphanumeric() || "_./:@+=%()<>$*!;~^|&?-".contains(sign);
    let is_bare = text.starts_with(|sign: char| sign.is_ascii_alphabetic() || "_/".contains(sign))
        && text.split(' ').all(|word| !word.is_empty() && word.chars().all(is_bare_sign) && !word.ends_with(':'))
        && !WORDS.contains(&text.to_lowercase().as_str());
    if is_bare {
        return text.to_owned();
    }
    if text.chars().any(|sign| sign.is_control() || !sign.is_ascii()) {
        return format!("\"{}\"", text.chars().map(escaped).collect::<String>());
    }
    format!("'{}'", text.replace('\'', "''"))
}

/// A sign between double quotes.
fn escaped(sign: char) -> String {
    match sign {
        '"' | '\\' => format!("\\{sign}"),
        '\n' => "\\n".to_owned(),
        ' '..='~' => sign.to_string(),
        _ => format!("\\U{:08x}", u32::from(sign)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(json: &str) -> String {
        serde_json::from_str::<Ordered>(json).unwrap().to_yaml()
    }

    #[test]
    fn members_keep_their_order_and_short_ones_stand_on_one_line() {
        assert_eq!(shown(r#"{"b":{"e":1,"d":[]},"a":"1","c":{}}"#), "b: {e: 1, d: []}\na: '1'\nc: {}");
        let long = "x".repeat(100);
        assert_eq!(
            shown(&format!(r#"{{"spec":{{"list":[{{"one":"{long}","two":"a: b"}}]}}}}"#)),
            format!("spec:\n  list:\n  - one: {long}\n    two: 'a: b'")
        );
    }

    fn json() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            "[ -~]{0,40}",
            ".{0,8}",
            prop::sample::select(vec![
                "true",
                "1e3",
                "a:",
                "a b",
                " a",
                "#a",
                "0x1",
                "-",
                "~",
                "2026-01-01",
                "'",
                "k:{\"a\":1}"
            ])
            .prop_map(str::to_owned),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            text.prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map("[ -~]{0,30}", inner, 0..5).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_is_lost(value in json()) {
            let yaml = serde_json::from_value::<Ordered>(value.clone()).unwrap().to_yaml();
            let read: Value = serde_saphyr::from_str(&yaml).unwrap_or_else(|error| panic!("{error}\n{yaml}"));
            prop_assert_eq!(read, value, "{}", yaml);
        }
    }
}
