use coracle_store::{Engine, Options, Revision};

use crate::Error;

/// What the store of a cluster held, with its history, kept when the cluster is gone: another cluster can begin with it, or with
/// what it held at an earlier revision. The two share what they have in common.
///
/// [`Cluster::keep_store`](crate::Cluster::keep_store) makes one, [`Builder::kept_store`](crate::Builder::kept_store) takes it.
#[derive(Clone)]
pub struct KeptStore {
    pub(crate) engine: Engine,
    pub(crate) options: Options,
}

impl std::fmt::Debug for KeptStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptStore").finish_non_exhaustive()
    }
}

impl KeptStore {
    /// What it held at a revision; leases have their full time again.
    ///
    /// # Errors
    /// If history at that revision is compacted, or there is no such revision yet.
    pub fn at(&self, revision: Revision) -> Result<Self, Error> {
        Ok(Self { engine: self.engine.fork(revision, self.options.clone())?, options: self.options.clone() })
    }
}
