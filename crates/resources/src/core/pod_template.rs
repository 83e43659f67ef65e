use coracle_meta::fields::Fields;
use coracle_registry::{Generation, KindSpec, TableColumn};
use coracle_release::Release;

use crate::built_in::built_in;
use crate::cells::{containers, images, labels};
use crate::pod_spec;

/// `podtemplates`. In Kubernetes: `pkg/registry/core/podtemplate`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        generation: Generation::Fields(&["template"]),
        prepare_create: |object, _, release| pod_spec::drop_disabled(object, None, "template.spec", release),
        prepare_update: |new, old, _, release| pod_spec::drop_disabled(new, Some(old), "template.spec", release),
        validate: |object, release| pod_spec::wrong_template(object.at("template"), "template", release),
        warnings: |new, old, release| pod_spec::warnings_of_kind(new, old, "template", release),
        columns: columns(),
        ..built_in(release, "", "v1", "podtemplates")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        containers("template.spec.containers"),
        images("template.spec.containers"),
        TableColumn::text("Pod Labels", "The labels for the pod template.", |object| {
            labels(object.at("template.metadata.labels"))
        }),
    ]
}
