use coracle_meta::Object;
use coracle_meta::fields::Fields;
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
        prepare_create: |object, _, _| drop_fields(object, DISABLED),
        prepare_update: |new, _, _, _| drop_fields(new, DISABLED),
        validate: |object, _| wrong_selectors(object.list("spec.selectors"), "spec.selectors"),
        validate_create: |object, _| wrong_configurations(object, Standing::New),
        validate_change: |new, old, _| {
            let is_as_it_was = same(new.at("spec.config"), old.at("spec.config"));
            wrong_configurations(new, if is_as_it_was { Standing::Stored } else { Standing::New })
        },
        columns: columns(),
        ..built_in(release, GROUP, "v1", "deviceclasses")
    }
}

/// In Kubernetes: the feature `DRAExtendedResource`.
const DISABLED: &[&str] = &["spec.extendedResourceName"];

fn wrong_configurations(class: &Object, standing: Standing) -> Wrong {
    wrong_list(class.list("spec.config"), MOST_CONFIGURATIONS, "spec.config", |configuration, path| {
        wrong_configuration(configuration, path, standing)
    })
}

fn columns() -> Vec<TableColumn> {
    vec![TableColumn::name(), TableColumn::age()]
}
