//! Generates objects of any kind from a stream of choices, for property tests of code that handles all kinds.

use serde_json::{Map, Value, json};

use crate::table::{Field, Special, TypeNode, TypeRef};

/// An endless stream of choices: the same seed gives the same object.
#[derive(Clone, Debug)]
pub struct Choices(u64);

impl Choices {
    /// A stream.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound`, from SplitMix64.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// The index of one of `count` things; 0 if `count` is 0.
    fn index(&mut self, count: usize) -> usize {
        usize::try_from(self.below(count.max(1) as u64)).unwrap_or(0)
    }

    fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.index(among.len())]
    }
}

/// The depth from which lists and structs stay empty.
const MAX_DEPTH: usize = 12;

/// A valid value for a place, in the form in which people write it, including zeros and empty lists.
pub fn value(ty: TypeRef<'_>, choices: &mut Choices) -> Value {
    place(ty, choices, 0)
}

/// Puts a generated value at one place of a value; the rest stays plausible.
pub fn graft(ty: TypeRef<'_>, value: &mut Value, choices: &mut Choices) {
    match (ty.node(), value) {
        (TypeNode::Struct(_), Value::Object(tree)) => {
            let fields: Vec<_> = ty.fields().filter(|field| !is_type_meta(field.field())).collect();
            let Some(field) = fields.get(choices.index(fields.len())) else { return };
            match tree.get_mut(field.name()) {
                Some(below) if choices.below(4) > 0 => graft(field.ty(), below, choices),
                _ => {
                    tree.insert(field.name().to_owned(), place(field.ty(), choices, MAX_DEPTH - 2));
                }
            }
        }
        (TypeNode::List, Value::Array(items)) if !items.is_empty() => {
            let at = choices.index(items.len());
            if let Some(element) = ty.element() {
                graft(element, &mut items[at], choices);
            }
        }
        (TypeNode::Map, Value::Object(entries)) if !entries.is_empty() => {
            let at = choices.index(entries.len());
            if let (Some(element), Some(below)) = (ty.element(), entries.values_mut().nth(at)) {
                graft(element, below, choices);
            }
        }
        (_, value) => *value = place(ty, choices, MAX_DEPTH - 2),
    }
}

fn place(ty: TypeRef<'_>, choices: &mut Choices, depth: usize) -> Value {
    let few = if depth < MAX_DEPTH { choices.below(3) } else { 0 };
    match ty.node() {
        TypeNode::String => choices.pick(&["", "a", "web-1", "é中 \"<&>\u{2028}"]).into(),
        TypeNode::Bool => choices.pick(&[true, false]).into(),
        TypeNode::Int32 => choices.pick(&[0, 1, -1, 80, i32::MAX, i32::MIN]).into(),
        TypeNode::Int64 => choices.pick(&[0, 1, -1, 1 << 40, i64::MAX, i64::MIN]).into(),
        TypeNode::Double => choices.pick(&[0.0, 1.5, -2.25, 1e300]).into(),
        TypeNode::Bytes => choices.pick(&["", "aGVsbG8=", "AA=="]).into(),
        TypeNode::Special(special) => special_value(ty, special, choices, depth),
        TypeNode::List => {
            let element = ty.element();
            (0..few).filter_map(|_| Some(place(element?, choices, depth + 1))).collect()
        }
        TypeNode::Map => {
            let element = ty.element();
            let entry = |at| Some((format!("key-{at}"), place(element?, choices, depth + 1)));
            Value::Object((0..few).filter_map(entry).collect())
        }
        TypeNode::Struct(_) => {
            let mut out = Map::new();
            for field in ty.fields() {
                // Deep objects have only a few fields, so that the generation ends.
                let rarity = 2 + depth as u64;
                if depth < MAX_DEPTH && !is_type_meta(field.field()) && choices.below(rarity) == 0 {
                    out.insert(field.name().to_owned(), place(field.ty(), choices, depth + 1));
                }
            }
            Value::Object(out)
        }
        TypeNode::Any => json!({"any": [1, null, "x"]}),
    }
}

fn is_type_meta(field: &Field) -> bool {
    field.tags.is_empty() && (field.name == "apiVersion" || field.name == "kind")
}

fn special_value(ty: TypeRef<'_>, special: Special, choices: &mut Choices, depth: usize) -> Value {
    match special {
        Special::Quantity => choices.pick(&["0", "100m", "1.5Gi", "1e3", "-2", "1500"]).into(),
        Special::IntOrString if choices.below(2) == 0 => choices.pick(&[0, 8080, -1]).into(),
        Special::IntOrString => choices.pick(&["25%", "http", ""]).into(),
        Special::Time => choices
            .pick(&[
                "2026-01-02T03:04:05Z",
                "2026-01-02T03:04:05.123456789+01:00",
                "9999-12-31T23:59:59Z",
                "0000-01-01T00:00:00-01:00",
            ])
            .into(),
        Special::MicroTime => choices
            .pick(&["2026-01-02T03:04:05.678901Z", "1969-12-31T23:59:59.500000Z", "9999-12-31T23:59:59.999999+01:00"])
            .into(),
        Special::RawExtension | Special::FieldsV1 => json!({"f:a": {".": {}}}),
        Special::Json => choices.pick(&["text", "[1]"]).into(),
        Special::Patch => json!({}),
        Special::SchemaOrArray | Special::SchemaOrBool | Special::SchemaOrStrings => {
            match (ty.json_schema(), special) {
                (_, Special::SchemaOrBool) if choices.below(2) == 0 => choices.pick(&[true, false]).into(),
                (Some(schema), _) => place(schema, choices, depth + 1),
                (None, _) => json!({}),
            }
        }
    }
}
