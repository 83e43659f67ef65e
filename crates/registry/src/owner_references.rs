//! The rules of `metadata.ownerReferences`. In Kubernetes: `ValidateOwnerReferences`.

use std::sync::Arc;

use coracle_meta::{FieldError, GroupVersion, OwnerReference};
use coracle_release::Release;
use serde_json::Value;

const PATH: &str = "metadata.ownerReferences";

/// The errors of the owners of an object.
pub(crate) fn owner_errors(owners: &[OwnerReference], release: &Release) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut first: Option<String> = None;
    // Each error about a second controller repeats all owners.
    let mut all: Option<Arc<str>> = None;
    for (at, owner) in owners.iter().enumerate() {
        if release.has("MetadataErrorsByField") {
            errors.extend(wrong_item(owner, &format!("{PATH}[{at}]")));
        } else {
            errors.extend(wrong_fields(owner));
        }
        if owner.controller == Some(true) {
            let name = format!("{}/{}", owner.kind, owner.name);
            match &first {
                None => first = Some(name),
                Some(first) => {
                    let what = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {name}"
                    );
                    let print = || format!("[{}]", owners.iter().map(go_owner).collect::<Vec<_>>().join(",")).into();
                    let printed = Arc::clone(all.get_or_insert_with(print));
                    errors.push(FieldError::invalid(PATH, Value::Null, what).printed_as(printed));
                }
            }
        }
    }
    errors
}

/// The errors of an owner at its place in the list.
fn wrong_item(owner: &OwnerReference, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let version = GroupVersion::parse(&owner.api_version).map(|parsed| parsed.version);
    if owner.api_version.is_empty() {
        errors.push(FieldError::required(format!("{path}.apiVersion"), "must not be empty"));
    } else if version.is_none_or(|version| version.is_empty()) {
        let what = "must be <group>/<version> or <version>";
        errors.push(FieldError::invalid(format!("{path}.apiVersion"), owner.api_version.as_str(), what));
    }
    let missing = texts(owner).into_iter().filter(|(_, value)| value.is_empty());
    errors.extend(missing.map(|(name, _)| FieldError::required(format!("{path}.{name}"), "must not be empty")));
    errors.extend(wrong_kind(owner, path));
    errors
}

/// The errors of an owner without its place in the list, as older releases report them.
fn wrong_fields(owner: &OwnerReference) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let version = GroupVersion::parse(&owner.api_version).map(|parsed| parsed.version);
    if version.is_none_or(|version| version.is_empty()) {
        let field = format!("{PATH}.apiVersion");
        errors.push(FieldError::invalid(field, owner.api_version.as_str(), "version must not be empty"));
    }
    let missing = texts(owner).into_iter().filter(|(_, value)| value.is_empty());
    errors.extend(missing.map(|(name, _)| FieldError::invalid(format!("{PATH}.{name}"), "", "must not be empty")));
    errors.extend(wrong_kind(owner, PATH));
    errors
}

fn texts(owner: &OwnerReference) -> [(&'static str, &str); 3] {
    [("kind", &owner.kind), ("name", &owner.name), ("uid", &owner.uid)]
}

/// Some kinds own nothing.
fn wrong_kind(owner: &OwnerReference, path: &str) -> Option<FieldError> {
    let what = "/v1, Kind=Event is disallowed from being an owner";
    let is_banned = owner.api_version == "v1" && owner.kind == "Event";
    is_banned.then(|| FieldError::invalid(path, Value::Null, what).printed_as(go_owner(owner)))
}

/// An owner reference as Go prints it: the fields in the order of the struct.
fn go_owner(owner: &OwnerReference) -> String {
    let text = |value: &str| Value::from(value).to_string();
    let mut printed = format!(
        "{{\"apiVersion\":{},\"kind\":{},\"name\":{},\"uid\":{}",
        text(&owner.api_version),
        text(&owner.kind),
        text(&owner.name),
        text(&owner.uid)
    );
    for (name, value) in [("controller", owner.controller), ("blockOwnerDeletion", owner.block_owner_deletion)] {
        if let Some(value) = value {
            printed.push_str(&format!(",\"{name}\":{value}"));
        }
    }
    printed.push('}');
    printed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(FieldError::message).collect()
    }

    #[test]
    fn an_item_says_its_place_and_what_it_lacks() {
        let bare = OwnerReference { api_version: "a/b/c".to_owned(), ..OwnerReference::default() };
        assert_eq!(
            messages(&wrong_item(&bare, "o[1]")),
            [
                "o[1].apiVersion: Invalid value: \"a/b/c\": must be <group>/<version> or <version>",
                "o[1].kind: Required value: must not be empty",
                "o[1].name: Required value: must not be empty",
                "o[1].uid: Required value: must not be empty",
            ]
        );
        assert_eq!(
            messages(&wrong_item(&OwnerReference::default(), "o[0]"))[0],
            "o[0].apiVersion: Required value: must not be empty"
        );
    }

    #[test]
    fn errors_about_many_controllers_share_what_they_print() {
        let owner = OwnerReference { controller: Some(true), uid: "u".to_owned(), ..OwnerReference::default() };
        let errors = owner_errors(&vec![owner; 3_000], &Release::default());
        let printed: Vec<_> = errors.iter().filter_map(|error| error.printed.as_ref()).collect();
        assert_eq!(printed.len(), 2_999);
        assert!(printed.iter().all(|text| Arc::ptr_eq(text, printed[0])));
    }
}
