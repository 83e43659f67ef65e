use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use crate::path::Position;

/// The location of a part of the object that begins at `start` in a YAML text. `None` if the text has no such part.
pub(crate) fn place_in(text: &str, start: Location, path: &[Position]) -> Option<Location> {
    let root: Spanned<Placed> = serde_saphyr::from_str(text).ok()?;
    let object = find(&root, start)?;
    let mut place = start;
    let mut here = object;
    for position in path {
        let (at, below) = match (&here.value, position) {
            (Placed::Map(fields), Position::Key(name)) => {
                let (key, value) = fields.iter().find(|(key, _)| key.value == *name)?;
                (key.referenced, value)
            }
            (Placed::List(items), Position::Item(at)) => items.get(*at).map(|item| (item.referenced, item))?,
            _ => return Some(place),
        };
        (place, here) = (at, below);
    }
    Some(place)
}

/// A YAML value that knows the locations of its parts.
enum Placed {
    Map(Vec<(Spanned<String>, Spanned<Placed>)>),
    List(Vec<Spanned<Placed>>),
    Other,
}

fn find(root: &Spanned<Placed>, start: Location) -> Option<&Spanned<Placed>> {
    let is_there = (root.referenced.line(), root.referenced.column()) == (start.line(), start.column());
    match &root.value {
        Placed::Map(_) if is_there => Some(root),
        Placed::Map(fields) => fields.iter().find_map(|(_, value)| find(value, start)),
        Placed::List(items) => items.iter().find_map(|item| find(item, start)),
        Placed::Other => None,
    }
}

impl<'de> Deserialize<'de> for Placed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;

        impl<'de> Visitor<'de> for Read {
            type Value = Placed;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Placed, A::Error> {
                let mut fields = Vec::new();
                while let Some(key) = map.next_key()? {
                    fields.push((key, map.next_value()?));
                }
                Ok(Placed::Map(fields))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Placed, A::Error> {
                let mut all = Vec::new();
                while let Some(item) = items.next_element()? {
                    all.push(item);
                }
                Ok(Placed::List(all))
            }

            fn visit_bool<E: de::Error>(self, _: bool) -> Result<Placed, E> {
                Ok(Placed::Other)
            }

            fn visit_i64<E: de::Error>(self, _: i64) -> Result<Placed, E> {
                Ok(Placed::Other)
            }

            fn visit_u64<E: de::Error>(self, _: u64) -> Result<Placed, E> {
                Ok(Placed::Other)
            }

            fn visit_f64<E: de::Error>(self, _: f64) -> Result<Placed, E> {
                Ok(Placed::Other)
            }

            fn visit_str<E: de::Error>(self, _: &str) -> Result<Placed, E> {
                Ok(Placed::Other)
            }

            fn visit_unit<E: de::Error>(self) -> Result<Placed, E> {
                Ok(Placed::Other)
            }

            fn visit_none<E: de::Error>(self) -> Result<Placed, E> {
                Ok(Placed::Other)
            }
        }

        deserializer.deserialize_any(Read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct File {
        list: Vec<Spanned<serde_json::Value>>,
    }

    #[test]
    fn a_part_of_an_object_is_found_where_it_stands() {
        let text = "list:\n- {a: 1, b: {c: [1, {d: 2}]}}\n- a:\n    b: x\n    c: ~\n";
        let file: File = serde_saphyr::from_str(text).unwrap();
        let key = |name: &str| Position::Key(name.to_owned());
        let place = |of: usize, path: &[Position]| {
            place_in(text, file.list[of].referenced, path).map(|place| (place.line(), place.column()))
        };
        assert_eq!(place(0, &[key("b"), key("c"), Position::Item(1), key("d")]), Some((2, 22)));
        assert_eq!(place(1, &[key("a"), key("b")]), Some((4, 5)));
        assert_eq!(place(1, &[key("a"), key("c")]), Some((5, 5)));
        assert_eq!(place(1, &[key("x")]), None);
    }
}
