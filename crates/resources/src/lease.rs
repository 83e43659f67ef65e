use coracle_meta::fields::Fields;
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;

use crate::built_in::{built_in, drop_fields};
use crate::field_checks::{Wrong, not_negative, positive};

/// `leases.coordination.k8s.io`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        // The feature gate of coordinated leader election is off by default.
        prepare_create: |object, _, _| drop_fields(object, &["spec.preferredHolder", "spec.strategy"]),
        prepare_update: |object, _, _, _| drop_fields(object, &["spec.preferredHolder", "spec.strategy"]),
        validate: |object, _| {
            let spec = object.at("spec");
            let mut wrong = Wrong::new();
            if spec.has("leaseDurationSeconds") {
                wrong.extend(positive(spec, "leaseDurationSeconds", "spec"));
            }
            wrong.extend(not_negative(spec, "leaseTransitions", "spec"));
            wrong
        },
        columns: columns(),
        takes_any_finalizer: true,
        ..built_in(release, "coordination.k8s.io", "v1", "leases")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Holder",
            "holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is used, the holder identity must be equal to the elected LeaseCandidate.metadata.name field.",
            |object| object.text("spec.holderIdentity").into(),
        ),
        TableColumn::age(),
    ]
}
