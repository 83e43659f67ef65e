use coracle_meta::fields::Fields;
use coracle_meta::{Object, names};
use coracle_registry::KindSpec;
use coracle_release::Release;

use crate::built_in::built_in;
use crate::field_checks::{Wrong, each_invalid, immutable, label_selector, quantity_not_negative};

/// `csistoragecapacities`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        validate: |object, _| wrong(object),
        validate_change: |new, old, _| wrong_change(new, old),
        ..built_in(release, "storage.k8s.io", "v1", "csistoragecapacities")
    }
}

fn wrong(object: &Object) -> Wrong {
    let mut wrong = label_selector(object.at("nodeTopology"), "nodeTopology");
    let class = object.text("storageClassName");
    wrong.extend(each_invalid("storageClassName", class, names::dns1123_subdomain(class)));
    wrong.extend(quantity_not_negative(object.at("capacity"), "capacity"));
    wrong
}

fn wrong_change(new: &Object, old: &Object) -> Wrong {
    let mut wrong = immutable(new, old, "nodeTopology");
    wrong.extend(immutable(new, old, "storageClassName"));
    wrong
}
