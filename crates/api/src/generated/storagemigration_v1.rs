// Written by `cargo xtask api`.

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `storagemigration.v1.StorageVersionMigration`.
    pub struct StorageVersionMigration("storagemigration.k8s.io/v1", "StorageVersionMigration") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: StorageVersionMigrationSpec = "spec",
        status: StorageVersionMigrationStatus = "status",
    }
}
resource!(
    StorageVersionMigration,
    "storagemigration.k8s.io",
    "v1",
    "StorageVersionMigration",
    "storageversionmigrations",
    Cluster
);

lean_struct! {
    /// In Kubernetes: `storagemigration.v1.StorageVersionMigrationSpec`.
    pub struct StorageVersionMigrationSpec {
        resource: super::meta_v1::GroupResource = "resource",
    }
}

lean_struct! {
    /// In Kubernetes: `storagemigration.v1.StorageVersionMigrationStatus`.
    pub struct StorageVersionMigrationStatus {
        conditions: Vec<super::meta_v1::Condition> = "conditions",
        resource_version: String = "resourceVersion" if nonzero,
    }
}
