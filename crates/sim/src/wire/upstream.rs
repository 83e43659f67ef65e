use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use coracle_cluster::{Body, BoxError};
use coracle_handover::{Events, Handed};
use coracle_meta::{Status, WatchEvent, parse_resource_version};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http_body_util::BodyExt;
use serde::Deserialize;

/// The events of a watch as they come from the API server.
pub(super) trait Upstream: Send + 'static {
    type Item: Send + 'static;

    /// Waits for the next event; `None` at the end. Cancel-safe.
    fn next(&mut self) -> BoxFuture<'_, Option<Self::Item>>;

    /// See `Events::last`.
    fn last(&mut self);

    /// See `Events::progress`.
    fn progress(&mut self) -> BoxFuture<'_, Option<String>>;

    /// The revision of the event's object, or of a bookmark.
    fn revision(item: &Self::Item) -> Option<i64>;

    /// The event that reports an error.
    fn error(status: Status) -> Self::Item;
}

/// Decoded objects.
pub(super) struct ObjectEvents(pub(super) Box<dyn Events>);

impl Upstream for ObjectEvents {
    type Item = WatchEvent<Box<dyn Handed>>;

    fn next(&mut self) -> BoxFuture<'_, Option<Self::Item>> {
        self.0.next()
    }

    fn last(&mut self) {
        self.0.last();
    }

    fn progress(&mut self) -> BoxFuture<'_, Option<String>> {
        self.0.progress()
    }

    fn revision(item: &Self::Item) -> Option<i64> {
        match item {
            WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) => {
                Some(object.revision())
            }
            WatchEvent::Bookmark { resource_version, .. } => parse_resource_version(resource_version),
            WatchEvent::Error(_) => None,
        }
    }

    fn error(status: Status) -> Self::Item {
        WatchEvent::Error(status)
    }
}

/// The lines of a body of JSON, one event each. A body in another format is passed on in the pieces in which it comes.
pub(super) struct LineEvents {
    body: Body,
    is_json: bool,
    /// Bytes without a line end.
    begun: BytesMut,
    ready: VecDeque<Result<Bytes, BoxError>>,
    has_ended: bool,
}

impl LineEvents {
    pub(super) fn of(body: Body, is_json: bool) -> Self {
        Self { body, is_json, begun: BytesMut::new(), ready: VecDeque::new(), has_ended: false }
    }

    fn take(&mut self, data: Bytes) {
        if !self.is_json {
            self.ready.push_back(Ok(data));
            return;
        }
        self.begun.extend_from_slice(&data);
        while let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
            self.ready.push_back(Ok(self.begun.split_to(end + 1).freeze()));
        }
    }

    async fn line(&mut self) -> Option<Result<Bytes, BoxError>> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some(line);
            }
            if self.has_ended {
                return None;
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.take(data);
                    }
                }
                end => {
                    self.has_ended = true;
                    let rest = self.begun.split().freeze();
                    self.ready.extend((!rest.is_empty()).then_some(Ok(rest)));
                    self.ready.extend(end.and_then(Result::err).map(Err));
                }
            }
        }
    }
}

impl Upstream for LineEvents {
    type Item = Result<Bytes, BoxError>;

    fn next(&mut self) -> BoxFuture<'_, Option<Self::Item>> {
        self.line().boxed()
    }

    fn last(&mut self) {}

    fn progress(&mut self) -> BoxFuture<'_, Option<String>> {
        std::future::ready(None).boxed()
    }

    fn revision(item: &Self::Item) -> Option<i64> {
        #[derive(Deserialize)]
        struct Line {
            object: Versioned,
        }
        #[derive(Deserialize)]
        struct Versioned {
            metadata: Metadata,
        }
        #[derive(Deserialize)]
        struct Metadata {
            #[serde(rename = "resourceVersion")]
            version: String,
        }
        let line: Line = serde_json::from_slice(item.as_ref().ok()?).ok()?;
        parse_resource_version(&line.object.metadata.version)
    }

    fn error(status: Status) -> Self::Item {
        let mut line = serde_json::to_vec(&serde_json::json!({"type": "ERROR", "object": status}))?;
        line.push(b'\n');
        Ok(line.into())
    }
}
