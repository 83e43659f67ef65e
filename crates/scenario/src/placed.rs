use coracle_yaml::{Location, YamlNode, YamlValue};

use crate::path::Position;

/// The location of a part of the object that begins at `start` in a YAML text. `None` if the text has no such part.
pub(crate) fn place_in(text: &str, start: Location, path: &[Position]) -> Option<Location> {
    let root = YamlNode::parse(text).ok()?;
    let mut place = start;
    let mut here = find(&root, start)?;
    for position in path {
        (place, here) = match (&here.value, position) {
            (YamlValue::Object(fields), Position::Key(name)) => {
                let field = fields.iter().find(|field| field.name == *name)?;
                (field.location, &field.node)
            }
            (YamlValue::List(items), Position::Item(at)) => items.get(*at).map(|item| (item.location, item))?,
            _ => return Some(place),
        };
    }
    Some(place)
}

/// The object that begins at `start`.
fn find(node: &YamlNode, start: Location) -> Option<&YamlNode> {
    let is_there = (node.location.line(), node.location.column()) == (start.line(), start.column());
    match &node.value {
        YamlValue::Object(_) if is_there => Some(node),
        YamlValue::Object(fields) => fields.iter().find_map(|field| find(&field.node, start)),
        YamlValue::List(items) => items.iter().find_map(|item| find(item, start)),
        YamlValue::Scalar(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use coracle_yaml::Spanned;

    use super::*;

    #[derive(serde::Deserialize)]
    struct File {
        list: Vec<Spanned<serde_json::Value>>,
    }

    #[test]
    fn a_part_of_an_object_is_found_where_it_stands() {
        let text = "list:\n- {a: 1, b: {c: [1, {d: 2}]}}\n- a:\n    b: x\n    c: ~\n";
        let file: File = coracle_yaml::YamlNode::parse_core_schema(text).unwrap().read().unwrap();
        let key = |name: &str| Position::Key(name.to_owned());
        let place = |of: usize, path: &[Position]| {
            place_in(text, file.list[of].location, path).map(|place| (place.line(), place.column()))
        };
        assert_eq!(place(0, &[key("b"), key("c"), Position::Item(1), key("d")]), Some((2, 22)));
        assert_eq!(place(1, &[key("a"), key("b")]), Some((4, 5)));
        assert_eq!(place(1, &[key("a"), key("c")]), Some((5, 5)));
        assert_eq!(place(1, &[key("x")]), None);
    }
}
