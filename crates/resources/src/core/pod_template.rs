use coracle_ambient::Timestamp;
use coracle_meta::Object;
use coracle_registry::Generation;
use serde_json::Value;

use crate::cells::{containers, labels};
use crate::columns;
use crate::pod_spec;
use crate::rules::Rules;
use coracle_meta::fields::Fields;

/// `podtemplates`. In Kubernetes: `pkg/registry/core/podtemplate`.
pub(crate) const POD_TEMPLATE: Rules = Rules {
    generation: Generation::Fields(&["template"]),
    validate: |object| pod_spec::wrong_template(object.at("template"), "template"),
    warnings: |new, old| pod_spec::warnings_of_kind(new, old, "template"),
    columns: columns::POD_TEMPLATE,
    cells,
    ..Rules::of("", "v1", "podtemplates")
};

fn cells(object: &Object, _now: Timestamp) -> Vec<Value> {
    let [names, images] = containers(object.list("template.spec.containers"));
    vec![object.name().into(), names, images, labels(object.at("template.metadata.labels"))]
}
