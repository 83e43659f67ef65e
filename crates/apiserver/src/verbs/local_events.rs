use std::sync::Arc;

use coracle_handover::{Events, Handed};
use coracle_meta::WatchEvent;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use super::watch_stream::WatchStream;

/// A watch without a reader: the first reader gets it, either as lines or as events. Boxed, because each frame moves it.
#[derive(Clone)]
pub(super) struct Unclaimed(Arc<Mutex<Option<Box<WatchStream>>>>);

impl Unclaimed {
    pub(super) fn new(stream: WatchStream) -> Self {
        Self(Arc::new(Mutex::new(Some(Box::new(stream)))))
    }

    pub(super) fn claim(&self) -> Option<Box<WatchStream>> {
        self.0.lock().take()
    }
}

/// The events of a watch for a client in the same process.
pub(super) struct LocalEvents {
    unclaimed: Unclaimed,
    stream: Option<Box<WatchStream>>,
}

impl LocalEvents {
    pub(super) fn new(unclaimed: Unclaimed) -> Self {
        Self { unclaimed, stream: None }
    }
}

impl LocalEvents {
    fn claimed(&mut self) -> Option<&mut WatchStream> {
        if self.stream.is_none() {
            self.stream = self.unclaimed.claim();
        }
        self.stream.as_deref_mut()
    }
}

impl Events for LocalEvents {
    fn next(&mut self) -> BoxFuture<'_, Option<WatchEvent<Box<dyn Handed>>>> {
        Box::pin(async move { self.claimed()?.next_handed().await })
    }

    fn last(&mut self) {
        self.claimed().into_iter().for_each(WatchStream::last);
    }

    fn progress(&mut self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move { self.claimed()?.progress().await })
    }
}
