//! Controllers in a whole control plane: the state of the world is looked at, never the calls.

mod addresses;
mod autoscaling;
mod budgets;
mod certificates;
mod claims_and_nodes;
mod cluster_roles;
mod collection;
mod crons;
mod daemons;
mod device_taints;
mod elections;
mod jobs;
mod legacy_tokens;
mod migrations;
mod namespaces;
mod quotas;
mod resource_claims;
mod service_endpoints;
mod shipped_bugs;
mod stale_caches;
mod tokens;
mod trust_bundles;
mod volumes;
mod world;
