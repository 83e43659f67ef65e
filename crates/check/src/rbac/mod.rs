//! What a controller may do, and what it does.

mod observed_permissions;
mod permission;
mod rbac_report;
mod roles;
mod smallest_roles;

pub(crate) use observed_permissions::ObservedPermissions;
pub use rbac_report::RbacReport;
pub use roles::Roles;
