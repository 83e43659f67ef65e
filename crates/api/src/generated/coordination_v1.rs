// Written by `cargo xtask api`.

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `coordination.v1.Lease`.
    pub struct Lease("coordination.k8s.io/v1", "Lease") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: LeaseSpec = "spec",
    }
}
resource!(Lease, "coordination.k8s.io", "v1", "Lease", "leases", Namespaced);

lean_struct! {
    /// In Kubernetes: `coordination.v1.LeaseSpec`.
    pub struct LeaseSpec {
        acquire_time: Option<String> = "acquireTime",
        holder_identity: Option<String> = "holderIdentity",
        lease_duration_seconds: Option<i32> = "leaseDurationSeconds",
        lease_transitions: Option<i32> = "leaseTransitions",
        preferred_holder: Option<String> = "preferredHolder",
        renew_time: Option<String> = "renewTime",
        strategy: Option<String> = "strategy",
    }
}
