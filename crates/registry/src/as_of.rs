use coracle_meta::Status;
use coracle_storage::Freshness;

/// In the extensions of a request: it is answered as by a server whose watch caches have reached only this revision.
///
/// - A read that accepts any state, or a state not older than this revision, gets the state at this revision.
/// - A read of a newer revision is refused after three seconds with 504.
/// - A read of the newest state gets it: such a server waits for its caches.
///
/// Authentication, authorization, admission and writes ignore it. The revision must be at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsOf(pub i64);

impl AsOf {
    /// The state that a read gets instead of `wanted`.
    ///
    /// # Errors
    /// 504 if the wanted revision is newer.
    pub(crate) async fn freshness(self, wanted: Freshness) -> Result<Freshness, Status> {
        let Self(revision) = self;
        match wanted {
            Freshness::NotOlderThan(newer) | Freshness::Exact(newer) if newer > revision => {
                Err(coracle_storage::unreached(newer, revision).await)
            }
            Freshness::Any | Freshness::NotOlderThan(_) => Ok(Freshness::AsOf(revision)),
            Freshness::Newest | Freshness::Exact(_) | Freshness::AsOf(_) => Ok(wanted),
        }
    }
}
