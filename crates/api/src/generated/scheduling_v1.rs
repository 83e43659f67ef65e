// Written by `cargo xtask api`.

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `scheduling.v1.PriorityClass`.
    pub struct PriorityClass("scheduling.k8s.io/v1", "PriorityClass") {
        description: String = "description" if nonzero,
        global_default: bool = "globalDefault" if nonzero,
        metadata: coracle_meta::ObjectMeta = "metadata",
        preemption_policy: Option<String> = "preemptionPolicy",
        value: i32 = "value",
    }
}
resource!(PriorityClass, "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", Cluster);
