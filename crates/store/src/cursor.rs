use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Notify;

use crate::hub::{Hub, Pull};
use crate::interest::CursorId;
use crate::{Error, Position, Revision, WatchBatch, WatchRequest, Watcher};

/// A position in the log. It holds no events: a slow reader costs nothing, until compaction passes its position.
pub(crate) struct Cursor {
    hub: Arc<Hub>,
    place: Arc<Place>,
    wake: Arc<Notify>,
    request: WatchRequest,
    /// The first revision that has not been delivered.
    next: Revision,
    /// Whether the last pull reached the end: there is nothing before the next wake-up.
    idle: bool,
}

/// The place of a cursor in the hub's index. Its number is not reused while a `Position` refers to it.
struct Place {
    hub: Arc<Hub>,
    id: CursorId,
}

impl Position for Place {
    fn unchanged_since(&self, seen: Revision) -> Option<Revision> {
        self.hub.unchanged_since(self.id, seen)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.hub.close_cursor(self.id);
    }
}

impl Cursor {
    pub(crate) fn open(hub: Arc<Hub>, request: WatchRequest) -> Self {
        let wake = Arc::new(Notify::new());
        let (id, next) = hub.open_cursor(request.range.clone(), request.start_revision, wake.clone());
        let place = Arc::new(Place { hub: Arc::clone(&hub), id });
        Self { hub, place, wake, request, next, idle: false }
    }
}

#[async_trait]
impl Watcher for Cursor {
    async fn next(&mut self) -> Result<WatchBatch, Error> {
        loop {
            if self.idle {
                self.wake.notified().await;
                self.idle = false;
            }
            match self.hub.pull(self.place.id, &mut self.next)? {
                Pull::Idle => self.idle = true,
                Pull::Slice { slice, idle } => {
                    self.idle = idle;
                    let wanted = slice.changes().filter(|change| self.request.range.contains(&change.version.kv.key));
                    let events = wanted.map(|change| change.event(self.request.prev_kv)).collect();
                    self.next = slice.to() + 1;
                    return Ok(WatchBatch { revision: slice.to(), events });
                }
            }
        }
    }

    async fn progress(&mut self) -> Result<Revision, Error> {
        // It may be woken again.
        self.idle = false;
        Ok(self.hub.progress(self.place.id, &mut self.next))
    }

    fn position(&self) -> Option<Arc<dyn Position>> {
        Some(Arc::clone(&self.place) as Arc<dyn Position>)
    }
}
