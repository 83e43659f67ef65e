use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use coracle_journal::Recorder;
use coracle_meta::Object;
use coracle_storage::Stored;
use coracle_store::{Error, Event, EventKind, RangeRequest, Revision, Store, WatchBatch, WatchRequest};

use crate::Change;
use crate::fresh::Fresh;
use crate::object_changes::ObjectChanges;

/// How long to wait before a store that is away is asked again.
const STORE_PAUSE: Duration = Duration::from_millis(100);

/// The plural of a kind, by `apiVersion` and `kind`; `None` for what is not shown to expressions.
pub type PluralOf = Arc<dyn Fn(&str, &str) -> Option<String> + Send + Sync>;

/// An object as it was last told.
enum Told {
    /// Whole, and not looked into.
    Fresh(Stored),
    Read(Arc<Object>),
}

/// Tells the event log what objects look like whenever they change, until the store fails for good; run this beside a cluster. What is
/// in Secrets is left out. A `World` that is recorded does that too, and answers questions.
///
/// # Errors
/// When history that was not seen yet is compacted, or the store is gone.
pub async fn record_objects(store: &dyn Store, plural_of: PluralOf, recorder: Recorder) -> Result<(), Error> {
    let (mut told, mut objects) = (BTreeMap::new(), ObjectChanges::new(recorder));
    follow_all(store, |batch| batch.events.iter().for_each(|event| tell(event, &mut told, &plural_of, &mut objects)))
        .await
}

fn tell(
    Event { kind, kv, .. }: &Event,
    told: &mut BTreeMap<Bytes, Told>,
    plural_of: &PluralOf,
    objects: &mut ObjectChanges,
) {
    let (key, revision) = (kv.key.clone(), kv.mod_revision);
    let before = told.remove(&key).map(Told::object);
    // The store holds a few values that are no objects.
    let stored = match kind {
        EventKind::Put => Stored::from_value(kv.value.clone(), revision).ok(),
        EventKind::Delete => None,
    };
    if let (None, Some(stored)) = (&before, &stored)
        && let json = stored.to_json()
        && let Some(fresh) = Fresh::of(&json)
    {
        if let Some(plural) = plural_of(&fresh.word("apiVersion"), &fresh.word("kind")) {
            objects.record_fresh(&plural, &key, revision, &fresh);
        }
        told.insert(key, Told::Fresh(stored.clone()));
        return;
    }
    let after = stored.map(|stored| stored.object());
    if let Some(after) = &after {
        told.insert(key.clone(), Told::Read(Arc::clone(after)));
    }
    let change = Change { key, revision, before, after };
    if let Some(plural) = change.plural(plural_of) {
        objects.record(&plural, &change);
    }
}

impl Told {
    fn object(self) -> Arc<Object> {
        match self {
            Self::Fresh(stored) => stored.object(),
            Self::Read(object) => object,
        }
    }
}

/// Shows `take` all that the store holds, and then each change.
pub(crate) async fn follow_all(store: &dyn Store, mut take: impl FnMut(&WatchBatch)) -> Result<(), Error> {
    let range = coracle_storage::all_objects();
    let found = store.range(RangeRequest { range: range.clone(), ..RangeRequest::default() }).await?;
    // A range comes in the order of its keys; a history comes in the order of its revisions.
    let mut events: Vec<Event> =
        found.kvs.into_iter().map(|kv| Event { kind: EventKind::Put, kv, prev_kv: None }).collect();
    events.sort_by_key(|event| event.kv.mod_revision);
    take(&WatchBatch { revision: found.revision, events });
    let mut next = found.revision + 1;
    loop {
        let request = WatchRequest { range: range.clone(), start_revision: next, prev_kv: false };
        match follow_from(store, request, &mut next, &mut take).await {
            // A store that was killed comes back with its history.
            Err(Error::Unavailable(_)) => tokio::time::sleep(STORE_PAUSE).await,
            ended => return ended,
        }
    }
}

async fn follow_from(
    store: &dyn Store,
    request: WatchRequest,
    next: &mut Revision,
    take: &mut impl FnMut(&WatchBatch),
) -> Result<(), Error> {
    let mut watch = store.watch(request).await?;
    loop {
        let batch = watch.next().await?;
        *next = (*next).max(batch.revision + 1);
        take(&batch);
    }
}
