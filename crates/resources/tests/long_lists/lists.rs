//! Objects with long lists: where a kind has lists and maps, and elements to make them long.

use std::net::Ipv4Addr;

use coracle_meta::{Quantity, parse_time};
use coracle_schema::{ListKind, Special, TypeId, TypeNode, TypeRef};
use serde_json::{Map, Value, json};

/// How deep an element that is made up nests.
const MAX_DEPTH: usize = 4;

/// Fields of which only a few values are right, and one of these.
const WORDS: [(&str, &str); 12] = [
    ("operator", "Exists"),
    ("effect", "NoSchedule"),
    ("protocol", "TCP"),
    ("ip", "10.1.2.3"),
    ("cidr", "10.0.0.0/8"),
    ("address", "10.1.2.3"),
    ("addresses", "10.1.2.3"),
    ("mountPath", "/mnt"),
    ("devicePath", "/dev"),
    ("path", "/a"),
    ("expression", "true"),
    ("jsonPath", ".spec.a"),
];

/// How alike the elements of a list are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Likeness {
    /// They are equal. The entries of a map cannot be; they have equal values.
    Equal,
    /// They differ in all that may differ.
    Different,
    /// They differ, but in their keys. Those of a map look like names of extended resources.
    OfOneKey,
}

/// A step on the way to a list.
#[derive(Clone, Debug)]
enum Step {
    /// To a field of a struct.
    Field(String),
    /// To the first element of a list, which is this if it has none.
    Element(Value),
    /// To the first value of a map, which is this if it has none.
    Entry(Value),
}

/// A list or a map of a kind.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The type and the field that have it.
    pub(crate) field: String,
    steps: Vec<Step>,
    element: Value,
    is_map: bool,
    /// The field of the elements that tells them apart.
    key: String,
}

/// All lists and maps of a kind, each after those that it stands in.
pub(crate) struct Places(Vec<Place>);

impl Places {
    /// Those of a kind, with elements as `object` has them.
    pub(crate) fn of(root: TypeRef<'_>, object: &Value) -> Self {
        let mut places = Self(Vec::new());
        places.walk(root, object, &mut Vec::new(), &mut Vec::new());
        places
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Place> {
        self.0.iter()
    }

    /// Keeps the places that `is_wanted`.
    pub(crate) fn keep(&mut self, is_wanted: impl FnMut(&Place) -> bool) {
        self.0.retain(is_wanted);
    }

    fn walk(&mut self, ty: TypeRef<'_>, value: &Value, steps: &mut Vec<Step>, inside: &mut Vec<TypeId>) {
        let Some(id) = ty.id().filter(|id| ty.as_struct().is_some() && !inside.contains(id)) else { return };
        inside.push(id);
        let owner = ty.named().map_or("", |named| named.name.rsplit('.').next().unwrap_or_default());
        for field in ty.fields() {
            // The metadata of an object are no business of its kind.
            if steps.is_empty() && field.name() == "metadata" {
                continue;
            }
            steps.push(Step::Field(field.name().to_owned()));
            let name = format!("{owner}.{}", field.name());
            self.enter(&name, field.ty(), &field.field().values, value.get(field.name()), steps, inside);
            steps.pop();
        }
        inside.pop();
    }

    /// Goes on at a value of whatever type.
    fn enter(
        &mut self,
        name: &str,
        ty: TypeRef<'_>,
        values: &[String],
        value: Option<&Value>,
        steps: &mut Vec<Step>,
        inside: &mut Vec<TypeId>,
    ) {
        let (Some(element_type), is_map) = (ty.element(), matches!(ty.node(), TypeNode::Map)) else {
            return self.walk(ty, value.unwrap_or(&Value::Null), steps, inside);
        };
        let recorded = match value {
            Some(Value::Array(items)) => items.first(),
            Some(Value::Object(entries)) => entries.values().next(),
            _ => None,
        };
        let field = name.rsplit('.').next().unwrap_or_default();
        let made_up = || made_up(field, element_type, values, 0);
        let element = recorded.cloned().unwrap_or_else(made_up);
        let key = match ty.list_kind() {
            Some(ListKind::Map { keys }) => keys[0].clone(),
            _ => key_of(&element),
        };
        self.0.push(Place { field: name.to_owned(), steps: steps.clone(), element: element.clone(), is_map, key });
        steps.push(if is_map { Step::Entry(element.clone()) } else { Step::Element(element.clone()) });
        self.enter(&format!("{name}[]"), element_type, values, Some(&element), steps, inside);
        steps.pop();
    }
}

/// The field that tells elements apart, where the schema does not say it.
fn key_of(element: &Value) -> String {
    let named = ["name", "key", "type", "uid"].into_iter().find(|name| element.get(name).is_some());
    let first = || element.as_object().and_then(|fields| fields.keys().next().cloned());
    named.map(str::to_owned).or_else(first).unwrap_or_default()
}

/// A value of a type with its plain fields, and those others that it has to have.
fn made_up(name: &str, ty: TypeRef<'_>, values: &[String], depth: usize) -> Value {
    match ty.node() {
        TypeNode::String => {
            let word = WORDS.iter().find(|(field, _)| *field == name).map_or("a", |(_, word)| *word);
            values.first().map_or(word, String::as_str).into()
        }
        TypeNode::Bool => false.into(),
        TypeNode::Int32 | TypeNode::Int64 => 1.into(),
        TypeNode::Double => 1.0.into(),
        TypeNode::Bytes => "YQ==".into(),
        TypeNode::Special(special) => match special {
            Special::Quantity => "1".into(),
            Special::IntOrString => 1.into(),
            Special::Time => "2026-01-02T03:04:05Z".into(),
            Special::MicroTime => "2026-01-02T03:04:05.000000Z".into(),
            _ => json!({}),
        },
        TypeNode::List | TypeNode::Map if depth >= MAX_DEPTH => Value::Null,
        TypeNode::List => ty.element().map(|element| made_up(name, element, values, depth + 1)).into_iter().collect(),
        TypeNode::Map => {
            let entry = |element| ("key-0".to_owned(), made_up(name, element, values, depth + 1));
            Value::Object(ty.element().map(entry).into_iter().collect())
        }
        TypeNode::Struct(_) => made_up_struct(ty, depth),
        TypeNode::Any => json!({}),
    }
}

fn made_up_struct(ty: TypeRef<'_>, depth: usize) -> Value {
    let mut out = Map::new();
    let make = |field: coracle_schema::FieldRef<'_>| {
        (field.name().to_owned(), made_up(field.name(), field.ty(), &field.field().values, depth + 1))
    };
    let is_plain =
        |ty: TypeRef<'_>| !matches!(ty.node(), TypeNode::List | TypeNode::Map | TypeNode::Struct(_) | TypeNode::Any);
    if depth < MAX_DEPTH {
        out.extend(ty.fields().filter(|field| is_plain(field.ty()) || field.field().required).map(make));
        if out.is_empty() {
            out.extend(ty.fields().next().map(make));
        }
    }
    Value::Object(out)
}

/// An object of which one list or map has `count` elements.
pub(crate) fn long(object: &Value, place: &Place, likeness: Likeness, count: usize) -> Value {
    let mut object = object.clone();
    put(&mut object, &place.steps, place.elements(likeness, count));
    object
}

/// An object of which all lists and maps have `count` elements that differ; those in lists stand in the first.
pub(crate) fn long_together(object: &Value, places: &Places, count: usize) -> Value {
    let mut object = object.clone();
    for place in places.iter() {
        put(&mut object, &place.steps, place.elements(Likeness::Different, count));
    }
    object
}

fn put(into: &mut Value, steps: &[Step], what: Value) {
    let Some((step, rest)) = steps.split_first() else {
        *into = what;
        return;
    };
    match step {
        Step::Field(name) => {
            if !into.is_object() {
                *into = json!({});
            }
            put(&mut into[name.as_str()], rest, what);
        }
        Step::Element(element) => {
            if into.get(0).is_none() {
                *into = json!([element]);
            }
            put(&mut into[0], rest, what);
        }
        Step::Entry(element) => {
            if into.as_object().is_none_or(Map::is_empty) {
                *into = json!({"key-0": element});
            }
            if let Some(first) = into.as_object_mut().and_then(|entries| entries.values_mut().next()) {
                put(first, rest, what);
            }
        }
    }
}

impl Place {
    /// In which ways its elements are alike, or, of two that do much the same, in one.
    pub(crate) fn likenesses(&self, all: bool) -> Vec<Likeness> {
        match self.element.is_object() || self.is_map {
            _ if all => vec![Likeness::Equal, Likeness::Different, Likeness::OfOneKey],
            true => vec![Likeness::Different, Likeness::OfOneKey],
            false => vec![Likeness::Equal, Likeness::Different],
        }
    }

    fn elements(&self, likeness: Likeness, count: usize) -> Value {
        let field = self.field.rsplit('.').next().unwrap_or_default();
        let element = |at: usize| match likeness {
            Likeness::Equal => self.element.clone(),
            Likeness::Different => varied(field, &self.element, at),
            // Of plain elements two are equal.
            Likeness::OfOneKey if !self.element.is_object() => varied(field, &self.element, at / 2),
            Likeness::OfOneKey => {
                let mut element = varied(field, &self.element, at);
                element[self.key.as_str()] = self.element[self.key.as_str()].clone();
                element
            }
        };
        let key = |at| match likeness {
            Likeness::OfOneKey => format!("example.com/key-{at}"),
            _ => format!("key-{at}"),
        };
        match self.is_map {
            true => Value::Object((0..count).map(|at| (key(at), element(at))).collect()),
            false => (0..count).map(element).collect(),
        }
    }
}

/// A value like another, which differs from it wherever most values are right.
fn varied(name: &str, value: &Value, at: usize) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| varied(name, item, at)).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), varied(name, value, at))).collect(),
        Value::String(text) => varied_text(text, at).into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) if name.to_ascii_lowercase().contains("port") => {
                let at = i64::try_from(at).unwrap_or_default();
                ((number - 1 + at).rem_euclid(65_535) + 1).into()
            }
            Some(number) => (number.saturating_add(i64::try_from(at).unwrap_or_default())).into(),
            None => value.clone(),
        },
        other => other.clone(),
    }
}

fn varied_text(text: &str, at: usize) -> String {
    let address = || Ipv4Addr::from(0x0a00_0001 + u32::try_from(at).unwrap_or_default());
    // Words that begin with a capital are mostly those of which only a few are right.
    let is_word = text.starts_with(|first: char| first.is_uppercase());
    if text.parse::<Ipv4Addr>().is_ok() {
        address().to_string()
    } else if let Some((_, length)) = text.split_once('/').filter(|(before, _)| before.parse::<Ipv4Addr>().is_ok()) {
        format!("{}/{length}", address())
    } else if is_word || Quantity::parse(text).is_ok() || parse_time(text).is_some() {
        text.to_owned()
    } else {
        format!("{text}-{at}")
    }
}
