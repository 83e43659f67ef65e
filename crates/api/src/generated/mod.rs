// Written by `cargo xtask api`.

/// The kinds of `admissionregistration/v1`.
pub mod admissionregistration_v1;
/// The kinds of `apiextensions/v1`.
pub mod apiextensions_v1;
/// The kinds of `apiregistration/v1`.
pub mod apiregistration_v1;
/// The kinds of `apps/v1`.
pub mod apps_v1;
/// The kinds of `authentication/v1`.
pub mod authentication_v1;
/// The kinds of `authorization/v1`.
pub mod authorization_v1;
/// The kinds of `autoscaling/v1`.
pub mod autoscaling_v1;
/// The kinds of `autoscaling/v2`.
pub mod autoscaling_v2;
/// The kinds of `batch/v1`.
pub mod batch_v1;
/// The kinds of `certificates/v1`.
pub mod certificates_v1;
/// The kinds of `coordination/v1`.
pub mod coordination_v1;
/// The kinds of `core/v1`.
pub mod core_v1;
/// The kinds of `discovery/v1`.
pub mod discovery_v1;
/// The kinds of `events/v1`.
pub mod events_v1;
/// The kinds of `flowcontrol/v1`.
pub mod flowcontrol_v1;
/// The kinds of `meta/v1`.
pub mod meta_v1;
/// The kinds of `networking/v1`.
pub mod networking_v1;
/// The kinds of `node/v1`.
pub mod node_v1;
/// The kinds of `policy/v1`.
pub mod policy_v1;
/// The kinds of `rbac/v1`.
pub mod rbac_v1;
/// The kinds of `resource/v1`.
pub mod resource_v1;
/// The kinds of `scheduling/v1`.
pub mod scheduling_v1;
/// The kinds of `scheduling/v1alpha3`.
pub mod scheduling_v1alpha3;
/// The kinds of `storage/v1`.
pub mod storage_v1;
/// The kinds of `storagemigration/v1`.
pub mod storagemigration_v1;
