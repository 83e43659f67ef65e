use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Notify;

use crate::hub::{Hub, Pull};
use crate::interest::CursorId;
use crate::{Error, Revision, WatchBatch, WatchRequest, Watcher};

/// A position in the log. It holds no events: a slow reader costs nothing, until compaction passes it.
pub(crate) struct Cursor {
    hub: Arc<Hub>,
    id: CursorId,
    wake: Arc<Notify>,
    request: WatchRequest,
    /// The first revision that has not been delivered.
    next: Revision,
    /// The last pull reached the end: there is nothing before the next wake.
    idle: bool,
}

impl Cursor {
    pub(crate) fn open(hub: Arc<Hub>, request: WatchRequest) -> Self {
        let wake = Arc::new(Notify::new());
        let (id, next) = hub.open_cursor(request.range.clone(), request.start_revision, wake.clone());
        Self { hub, id, wake, request, next, idle: false }
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
            match self.hub.pull(self.id, &mut self.next)? {
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
        // It may take note of a wake.
        self.idle = false;
        Ok(self.hub.progress(self.id, &mut self.next))
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        self.hub.close_cursor(self.id);
    }
}
