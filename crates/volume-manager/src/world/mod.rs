//! What has to be mounted, what is mounted, and what survives a restart of the kubelet.

pub(crate) mod actual_state;
pub(crate) mod desired_state;
pub(crate) mod disk;
pub(crate) mod spec;
