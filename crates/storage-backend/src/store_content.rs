use coracle_store::{Engine, Error, Options, Revision};

/// The content of a store in memory with its history, for the start of another one from it, or from an earlier revision.
/// The two share common data.
#[derive(Clone)]
pub struct StoreContent {
    pub(crate) engine: Engine,
    pub(crate) options: Options,
}

impl std::fmt::Debug for StoreContent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreContent").finish_non_exhaustive()
    }
}

impl StoreContent {
    /// The content at a revision, 0 for the newest; leases have their full time again.
    ///
    /// # Errors
    /// If history at that revision is compacted, or there is no such revision yet.
    pub fn at(&self, revision: Revision) -> Result<Self, Error> {
        let engine = self.engine.fork(revision, self.options.clone())?;
        Ok(Self { engine, options: self.options.clone() })
    }

    /// The newest revision.
    pub fn revision(&self) -> Revision {
        self.engine.revision()
    }

    /// The newest content without its history, at a revision after `revision`: a client that saw that revision in
    /// another store cannot continue its watches, and lists again.
    #[must_use]
    pub fn after(&self, revision: Revision) -> Self {
        Self { engine: self.engine.fork_after(revision, self.options.clone()), options: self.options.clone() }
    }
}
