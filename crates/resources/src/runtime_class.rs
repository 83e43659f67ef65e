use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;

use crate::built_in::built_in;
use crate::field_checks::{Wrong, each_invalid, immutable, labels};
use crate::pod_spec::{wrong_overhead, wrong_tolerations};

/// `runtimeclasses.node.k8s.io`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        validate: wrong,
        validate_change: |new, old, _| immutable(new, old, "handler"),
        columns: columns(),
        takes_any_finalizer: true,
        ..built_in(release, "node.k8s.io", "v1", "runtimeclasses")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text("Handler", "", |object| object.text("handler").into()),
        TableColumn::age(),
    ]
}

fn wrong_handler(handler: &str, release: &Release) -> Wrong {
    if handler.is_empty() && release.has("MissingValuesAreRequired") {
        return vec![FieldError::required("handler", "").declared()];
    }
    each_invalid("handler", handler, names::dns1123_label(handler)).into_iter().map(FieldError::declared).collect()
}

/// In Kubernetes: `ValidateRuntimeClass`.
fn wrong(object: &Object, release: &Release) -> Wrong {
    let mut wrong = wrong_handler(object.text("handler"), release);
    wrong.extend(wrong_overhead(object.at("overhead.podFixed"), "overhead"));
    let scheduling = object.at("scheduling");
    wrong.extend(labels(scheduling.at("nodeSelector"), "scheduling.nodeSelector"));
    wrong.extend(wrong_tolerations(scheduling.list("tolerations"), "scheduling.tolerations"));
    wrong
}
