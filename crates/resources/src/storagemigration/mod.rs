//! The group `storagemigration.k8s.io`: rewriting the objects of a resource in its present storage version.

pub(crate) mod storage_version_migration;
