use std::sync::Arc;
use std::time::Duration;

use coracle_journal::Recorder;
use coracle_store::{Error, Event, EventKind, Position, RangeRequest, Revision, Store, WatchBatch, WatchRequest};

use crate::PluralOf;
use crate::object_changes::ObjectChanges;

/// How long to wait before a store that is away is asked again.
const STORE_PAUSE: Duration = Duration::from_millis(100);
/// For how long changes gather before they are told to the event log: a follower that is woken by each takes a part of the
/// machine from those who write.
const GATHERED: Duration = Duration::from_millis(5);

/// Tells the event log what objects look like whenever they change, until the store fails for good; run this beside a cluster. What is
/// in Secrets is left out. A `World` that is recorded does that too, and answers questions.
///
/// # Errors
/// When history that was not seen yet is compacted, or the store is gone.
pub async fn record_objects(store: &dyn Store, plural_of: PluralOf, recorder: Recorder) -> Result<(), Error> {
    let objects = ObjectChanges::new(recorder);
    let tell = |batch: &WatchBatch| batch.events.iter().for_each(|event| objects.record(event, &plural_of));
    let take = |followed: Followed<'_>| match followed {
        Followed::All(batch) | Followed::Changes(batch) => tell(batch),
        Followed::Opened(_) => {}
    };
    follow_all(store, GATHERED, take).await
}

/// What a follower of the store is shown.
pub(crate) enum Followed<'b> {
    /// All that the store holds, once, at the beginning.
    All(&'b WatchBatch),
    /// A watch was opened after the revision that was shown last; where it stands, if the store says that.
    Opened(Option<Arc<dyn Position>>),
    /// What has changed since.
    Changes(&'b WatchBatch),
}

/// Shows `take` all that the store holds, and then each change with what was before it; those of a while together, unless it is
/// zero.
pub(crate) async fn follow_all(
    store: &dyn Store,
    gathered: Duration,
    mut take: impl FnMut(Followed<'_>),
) -> Result<(), Error> {
    let range = coracle_storage::all_objects();
    let found = store.range(RangeRequest { range: range.clone(), ..RangeRequest::default() }).await?;
    // A range comes in the order of its keys; a history comes in the order of its revisions.
    let mut events: Vec<Event> =
        found.kvs.into_iter().map(|kv| Event { kind: EventKind::Put, kv, prev_kv: None }).collect();
    events.sort_by_key(|event| event.kv.mod_revision);
    take(Followed::All(&WatchBatch { revision: found.revision, events }));
    let mut next = found.revision + 1;
    loop {
        let request = WatchRequest { range: range.clone(), start_revision: next, prev_kv: true };
        match follow_from(store, request, gathered, &mut next, &mut take).await {
            // A store that was killed comes back with its history.
            Err(Error::Unavailable(_)) => tokio::time::sleep(STORE_PAUSE).await,
            ended => return ended,
        }
    }
}

async fn follow_from(
    store: &dyn Store,
    request: WatchRequest,
    gathered: Duration,
    next: &mut Revision,
    take: &mut impl FnMut(Followed<'_>),
) -> Result<(), Error> {
    let mut watch = store.watch(request).await?;
    take(Followed::Opened(watch.position()));
    loop {
        let batch = watch.next().await?;
        *next = (*next).max(batch.revision + 1);
        take(Followed::Changes(&batch));
        if !gathered.is_zero() {
            tokio::time::sleep(gathered).await;
        }
    }
}
