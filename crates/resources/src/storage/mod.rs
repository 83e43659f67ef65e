//! `storage.k8s.io/v1`. In Kubernetes: `pkg/apis/storage`.

mod classes;
pub(crate) mod csi_driver;
pub(crate) mod csi_node;
pub(crate) mod csi_storage_capacity;
pub(crate) mod storage_class;
pub(crate) mod volume_attachment;
pub(crate) mod volume_attributes_class;
