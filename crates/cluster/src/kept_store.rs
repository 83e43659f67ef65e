use coracle_release::Release;
use coracle_storage::DecodedObjects;
use coracle_storage_backend::StoreContent;
use coracle_store::Revision;

use crate::Error;
use crate::bootstrap::Bootstrapped;

/// See [`KeptStore::parts`].
pub(crate) type KeptParts = (Option<Bootstrapped>, Option<Revision>, Option<DecodedObjects>);

/// The content of a cluster's store with its history, for the start of another cluster from it, or from an earlier
/// revision. The two share common data.
///
/// [`Cluster::keep_store`](crate::Cluster::keep_store) creates it,
/// [`Builder::kept_store`](crate::Builder::kept_store) uses it.
#[derive(Clone)]
pub struct KeptStore {
    pub(crate) content: StoreContent,
    /// The default objects that are in it; `None` if it may have to be asked for them.
    pub(crate) bootstrapped: Option<Bootstrapped>,
    /// The revision of which its content is, if that has another one.
    pub(crate) revision: Option<Revision>,
    /// The decoded objects of the cluster, and its release.
    pub(crate) decoded: (Release, DecodedObjects),
}

impl std::fmt::Debug for KeptStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptStore").finish_non_exhaustive()
    }
}

impl KeptStore {
    /// The default objects of a kept store, if there is one, the revision of which its content is, and what an API
    /// server of the same release has decoded of it.
    pub(crate) fn parts(kept: Option<Self>, release: &Release) -> KeptParts {
        let Some(Self { bootstrapped, revision, decoded: (of, decoded), .. }) = kept else {
            return KeptParts::default();
        };
        (bootstrapped, revision, (of == *release).then_some(decoded))
    }

    /// The content at a revision; leases have their full time again.
    ///
    /// # Errors
    /// If history at that revision is compacted, or there is no such revision yet.
    pub fn at(&self, revision: Revision) -> Result<Self, Error> {
        let has_them = |bootstrapped: &Bootstrapped| revision == 0 || bootstrapped.at <= revision;
        let bootstrapped = self.bootstrapped.clone().filter(has_them);
        Ok(Self { content: self.content.at(revision)?, bootstrapped, revision: None, decoded: self.decoded.clone() })
    }

    /// The newest content without its history, at a revision after `revision`: for a cluster that takes the place of
    /// another, whose clients must not continue their watches. They get `410 Gone`, and list again. With a seed, each
    /// cluster that continues from this content draws the same names, however late its revision is.
    #[must_use]
    pub fn after(&self, revision: Revision) -> Self {
        let bootstrapped = self.bootstrapped.clone();
        let of = self.revision.unwrap_or_else(|| self.content.revision());
        let decoded = self.decoded.clone();
        Self { content: self.content.after(revision), bootstrapped, revision: Some(of), decoded }
    }
}
