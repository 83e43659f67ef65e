// Written by `cargo xtask api`.

use std::collections::BTreeMap;

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `node.v1.Overhead`.
    pub struct Overhead {
        pod_fixed: BTreeMap<String, coracle_meta::Quantity> = "podFixed",
    }
}

lean_struct! {
    /// In Kubernetes: `node.v1.RuntimeClass`.
    pub struct RuntimeClass("node.k8s.io/v1", "RuntimeClass") {
        handler: String = "handler",
        metadata: coracle_meta::ObjectMeta = "metadata",
        overhead: Option<Box<Overhead>> = "overhead",
        scheduling: Option<Box<Scheduling>> = "scheduling",
    }
}
resource!(RuntimeClass, "node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", Cluster);

lean_struct! {
    /// In Kubernetes: `node.v1.Scheduling`.
    pub struct Scheduling {
        node_selector: BTreeMap<String, String> = "nodeSelector",
        tolerations: Vec<super::core_v1::Toleration> = "tolerations",
    }
}
