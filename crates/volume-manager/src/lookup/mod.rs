//! Finds the specs of the volumes of a pod.

pub(crate) mod claimed;
pub(crate) mod plugins;
pub(crate) mod populator;
