//! Volumes from claim to mount: the simulated CSI driver, the nodes that mount, and what is seen when either fails.

mod driver;
mod lost_nodes;
mod mounting;
mod pod_certificates;
mod property;
mod world;
