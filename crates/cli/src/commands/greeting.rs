//! What `coracle up` says when its cluster is ready.

use std::time::Duration;

use coracle_release::Release;

use crate::output::{Unwritten, note, out};

/// What `coracle up` says when its cluster is ready.
pub(super) struct Greeting {
    /// The Kubernetes release of the cluster.
    pub(super) release: Release,
    /// What the cluster does not support, if no earlier start has said it.
    pub(super) notes: Vec<String>,
    /// The address of the API server.
    pub(super) url: String,
    /// How many simulated nodes there are.
    pub(super) nodes: usize,
    /// What else there is to know, one line each.
    pub(super) facts: Vec<String>,
    /// The flag that other commands need.
    pub(super) flag: String,
}

impl Greeting {
    pub(super) fn print(&self, took: Duration) -> Result<(), Unwritten> {
        let Self { release, notes, url, nodes, facts, flag } = self;
        for limit in notes {
            note!("note: {limit}");
        }
        out!(" ✓ Kubernetes {release} ready in {} ms at {url}, {nodes} simulated nodes", took.as_millis())?;
        for fact in facts {
            out!(" ✓ {fact}")?;
        }
        out!(" Use    coracle kubectl{flag} get nodes        or  eval \"$(coracle env{flag})\"")?;
        out!(" Try    coracle kubectl{flag} create deployment web --image=nginx --replicas=3")?;
        out!(
            "        coracle kubectl{flag} delete pod -l app=web --wait=false    and watch:  coracle kubectl{flag} get pods -w"
        )
    }
}
