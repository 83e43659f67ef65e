// Written by `cargo xtask api`.

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `apiregistration.v1.APIService`.
    pub struct APIService("apiregistration.k8s.io/v1", "APIService") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: APIServiceSpec = "spec",
        status: APIServiceStatus = "status",
    }
}
resource!(APIService, "apiregistration.k8s.io", "v1", "APIService", "apiservices", Cluster);

lean_struct! {
    /// In Kubernetes: `apiregistration.v1.APIServiceCondition`.
    pub struct APIServiceCondition {
        last_transition_time: Option<String> = "lastTransitionTime",
        message: String = "message" if nonzero,
        reason: String = "reason" if nonzero,
        status: String = "status",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `apiregistration.v1.APIServiceSpec`.
    pub struct APIServiceSpec {
        ca_bundle: String = "caBundle" if nonzero,
        group: String = "group" if nonzero,
        group_priority_minimum: i32 = "groupPriorityMinimum",
        insecure_skip_tls_verify: bool = "insecureSkipTLSVerify" if nonzero,
        service: Option<Box<ServiceReference>> = "service",
        version: String = "version" if nonzero,
        version_priority: i32 = "versionPriority",
    }
}

lean_struct! {
    /// In Kubernetes: `apiregistration.v1.APIServiceStatus`.
    pub struct APIServiceStatus {
        conditions: Vec<APIServiceCondition> = "conditions",
    }
}

lean_struct! {
    /// In Kubernetes: `apiregistration.v1.ServiceReference`.
    pub struct ServiceReference {
        name: String = "name" if nonzero,
        namespace: String = "namespace" if nonzero,
        port: Option<i32> = "port",
    }
}
