//! The original texts of foreign objects (`runtime.RawExtension`).

use std::borrow::Cow;
use std::collections::BTreeMap;

use coracle_meta::Verbatim;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::kind_schema::KindSchema;
use crate::table::{Special, TypeNode, TypeRef};

/// The texts of the foreign objects in a JSON body. Most kinds have none; then the body is not read.
pub(super) fn texts(body: &[u8], schema: &KindSchema) -> Verbatim {
    let mut found = Verbatim::default();
    if schema.root().holds_foreign()
        && let Ok(text) = coracle_meta::json::from_slice::<&RawValue>(body)
    {
        collect(text.get(), schema.root(), "", &mut found);
    }
    found
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Fields<'a>(#[serde(borrow)] BTreeMap<Cow<'a, str>, &'a RawValue>);

fn collect(text: &str, place: TypeRef<'_>, pointer: &str, found: &mut Verbatim) {
    match place.node() {
        _ if !place.holds_foreign() => {}
        TypeNode::Special(Special::RawExtension) => found.note(pointer, text),
        TypeNode::Struct(_) | TypeNode::Map => {
            let fields = coracle_meta::json::from_str::<Fields<'_>>(text).map(|fields| fields.0).unwrap_or_default();
            for (name, value) in fields {
                if let Some(place) = place.step(&name) {
                    let step = name.replace('~', "~0").replace('/', "~1");
                    collect(value.get(), place, &format!("{pointer}/{step}"), found);
                }
            }
        }
        TypeNode::List => {
            let Some(element) = place.element() else { return };
            let values = coracle_meta::json::from_str::<Vec<&RawValue>>(text).unwrap_or_default();
            for (index, value) in values.into_iter().enumerate() {
                collect(value.get(), element, &format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
}
