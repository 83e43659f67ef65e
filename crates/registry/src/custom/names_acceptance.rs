use std::collections::BTreeSet;

use coracle_meta::Object;
use serde_json::{Map, Value};

use super::definition::list;

/// The names of the other definitions of a group.
#[derive(Debug, Default)]
pub(super) struct NamesInUse {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

/// The accepted names of a definition.
#[derive(Debug, PartialEq)]
pub(super) struct AcceptedNames {
    /// `status.acceptedNames`
    pub(super) names: Value,
    /// Why not all names are accepted: a reason and a message.
    pub(super) conflict: Option<(&'static str, String)>,
}

fn text<'v>(names: &'v Value, field: &str) -> &'v str {
    names.get(field).and_then(Value::as_str).unwrap_or("")
}

fn short_names(names: &Value) -> impl Iterator<Item = &str> {
    list(names, "/shortNames").iter().filter_map(Value::as_str)
}

impl NamesInUse {
    /// Adds the accepted names of a definition. In Kubernetes: `getAcceptedNamesForGroup`.
    pub(super) fn add(&mut self, definition: &Object) {
        let Some(names) = definition.field("status.acceptedNames") else { return };
        let resources = [text(names, "plural"), text(names, "singular")].into_iter().chain(short_names(names));
        self.resources.extend(resources.filter(|name| !name.is_empty()).map(str::to_owned));
        let kinds = [text(names, "kind"), text(names, "listKind")].into_iter();
        self.kinds.extend(kinds.filter(|name| !name.is_empty()).map(str::to_owned));
    }

    /// Accepts the unused names of a definition, and those that it already has.
    /// In Kubernetes: `calculateNamesAndConditions`.
    pub(super) fn accept(&self, definition: &Object) -> AcceptedNames {
        let nothing = Value::Null;
        let requested = definition.field("spec.names").unwrap_or(&nothing);
        let before = definition.field("status.acceptedNames").unwrap_or(&nothing);
        let mut names: Map<String, Value> = before.as_object().cloned().unwrap_or_default();
        let mut conflict = None;
        let in_use = |name: &str| format!("{name:?} is already in use");
        for (field, reason, used) in [
            ("plural", "PluralConflict", &self.resources),
            ("singular", "SingularConflict", &self.resources),
            ("shortNames", "ShortNamesConflict", &self.resources),
            ("kind", "KindConflict", &self.kinds),
            ("listKind", "ListKindConflict", &self.kinds),
        ] {
            let taken: Vec<String> = if field == "shortNames" {
                let known: BTreeSet<&str> = short_names(before).collect();
                short_names(requested)
                    .filter(|name| !known.contains(name) && used.contains(*name))
                    .map(in_use)
                    .collect()
            } else {
                let name = text(requested, field);
                let is_taken = name != text(before, field) && used.contains(name);
                is_taken.then(|| in_use(name)).into_iter().collect()
            };
            match taken.as_slice() {
                [] => take_over(requested, field, &mut names),
                [one] => conflict = Some((reason, one.clone())),
                several => conflict = Some((reason, format!("[{}]", several.join(", ")))),
            }
        }
        take_over(requested, "categories", &mut names);
        AcceptedNames { names: Value::Object(names), conflict }
    }
}

fn take_over(requested: &Value, field: &str, names: &mut Map<String, Value>) {
    match requested.get(field) {
        Some(value) => drop(names.insert(field.to_owned(), value.clone())),
        None => drop(names.remove(field)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn definition(spec: Value, accepted: Value) -> Object {
        Object::from_value(json!({"spec": {"names": spec}, "status": {"acceptedNames": accepted}})).unwrap()
    }

    #[test]
    fn a_name_that_another_has_is_not_accepted_and_the_others_are() {
        let mut used = NamesInUse::default();
        used.add(&definition(
            json!({}),
            json!({"plural": "boats", "singular": "boat", "shortNames": ["b", "bo"], "kind": "Boat", "listKind": "BoatList"}),
        ));
        let names = json!({"plural": "ships", "singular": "boat", "shortNames": ["b", "bo", "s"], "kind": "Ship", "listKind": "ShipList"});
        let accepted = used.accept(&definition(names.clone(), json!({"plural": "", "kind": ""})));
        let expected = json!({"plural": "ships", "kind": "Ship", "listKind": "ShipList"});
        let why = "[\"b\" is already in use, \"bo\" is already in use]";
        assert_eq!(accepted, AcceptedNames { names: expected, conflict: Some(("ShortNamesConflict", why.to_owned())) });
        let kept = used.accept(&definition(names.clone(), names.clone()));
        assert_eq!(kept, AcceptedNames { names, conflict: None });
    }
}
