use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;

use super::GROUP;
use super::bounded::wrong_list;
use super::configuration::{MOST_CONFIGURATIONS, Standing, wrong_configuration};
use super::selector::wrong_selectors;
use crate::built_in::{built_in, drop_fields};
use crate::field_checks::{Wrong, same};

/// `deviceclasses`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        prepare_create: |object, _, release| drop_disabled(object, release),
        prepare_update: |new, _, _, release| drop_disabled(new, release),
        validate: |object, release| {
            let mut wrong = wrong_selectors(object.list("spec.selectors"), "spec.selectors");
            wrong.extend(wrong_extended_name(object, release));
            wrong
        },
        validate_create: |object, _| wrong_configurations(object, Standing::New),
        validate_change: |new, old, _| {
            let is_as_it_was = same(new.at("spec.config"), old.at("spec.config"));
            wrong_configurations(new, if is_as_it_was { Standing::Stored } else { Standing::New })
        },
        columns: columns(),
        ..built_in(release, GROUP, "v1", "deviceclasses")
    }
}

fn drop_disabled(class: &mut Object, release: &Release) {
    if !release.enabled("DRAExtendedResource") {
        drop_fields(class, &["spec.extendedResourceName"]);
    }
}

/// The errors of the name under which pods ask for devices of the class as for an extended resource.
fn wrong_extended_name(class: &Object, release: &Release) -> Wrong {
    const PATH: &str = "spec.extendedResourceName";
    let Some(name) = class.at(PATH).as_str() else { return Wrong::new() };
    if !release.has("DeclaredDeviceRules") {
        let what = "must be a valid extended resource name";
        let wrong = !names::is_extended_resource(name);
        return wrong.then(|| FieldError::invalid(PATH, name, what)).into_iter().collect();
    }
    let mut wrong = Wrong::new();
    let mut refuse = |what: &str| wrong.push(FieldError::invalid(PATH, name, what));
    if !name.contains('/') {
        refuse("a name must be a domain-prefixed path, such as 'example.com/my-prop'");
    } else if name.contains("kubernetes.io/") {
        refuse("must not have \"kubernetes.io/\" domain");
    }
    if name.starts_with("requests.") {
        refuse("must not have \"requests.\" prefix");
    }
    for what in names::qualified_name(&format!("requests.{name}")) {
        refuse(&what);
    }
    wrong
}

fn wrong_configurations(class: &Object, standing: Standing) -> Wrong {
    wrong_list(class.list("spec.config"), MOST_CONFIGURATIONS, "spec.config", |configuration, path| {
        wrong_configuration(configuration, path, standing)
    })
}

fn columns() -> Vec<TableColumn> {
    vec![TableColumn::name(), TableColumn::age()]
}
