use std::collections::{BTreeMap, VecDeque};

use bytes::{Bytes, BytesMut};
use coracle_cluster::{Body, BoxError, status_value};
use coracle_handover::{Events, Handed};
use coracle_meta::{INITIAL_EVENTS_END, Status, WatchEvent, parse_resource_version};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::HeaderValue;
use http_body_util::BodyExt;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::protobuf;
use super::watermark::Mark;

/// The events of a watch as they come from the API server.
pub(super) trait Upstream: Send + 'static {
    type Item: Send + 'static;

    /// Waits for the next event; `None` at the end. Cancel-safe.
    fn next(&mut self) -> BoxFuture<'_, Option<Self::Item>>;

    /// See `Events::last`.
    fn last(&mut self);

    /// See `Events::progress`.
    fn progress(&mut self) -> BoxFuture<'_, Option<String>>;

    /// What an event is, and the revision of its object or of a bookmark.
    fn mark(item: &Self::Item) -> (Mark, Option<i64>);

    /// A bookmark with another revision.
    fn bookmark_at(item: Self::Item, revision: i64) -> Self::Item;

    /// What makes the event that reports an error, in the format of this watch.
    fn errors(&self) -> fn(Status) -> Self::Item;
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

    fn mark(item: &Self::Item) -> (Mark, Option<i64>) {
        match item {
            WatchEvent::Added(object) => (Mark::Added, Some(object.revision())),
            WatchEvent::Modified(object) | WatchEvent::Deleted(object) => (Mark::Changed, Some(object.revision())),
            WatchEvent::Bookmark { resource_version, initial_events_end } => {
                let mark = if *initial_events_end { Mark::InitialEventsEnd } else { Mark::Bookmark };
                (mark, parse_resource_version(resource_version))
            }
            WatchEvent::Error(_) => (Mark::Unknown, None),
        }
    }

    fn bookmark_at(item: Self::Item, revision: i64) -> Self::Item {
        match item {
            WatchEvent::Bookmark { initial_events_end, .. } => {
                WatchEvent::Bookmark { resource_version: revision.to_string(), initial_events_end }
            }
            other => other,
        }
    }

    fn errors(&self) -> fn(Status) -> Self::Item {
        WatchEvent::Error
    }
}

/// The format of a watch's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// JSON: each event is a line.
    Lines,
    /// Protobuf: each event has its length in front of it.
    Lengths,
}

impl Framing {
    /// The framing of a media type.
    pub(super) fn of(media_type: Option<&HeaderValue>) -> Self {
        let is_protobuf =
            |media_type: &HeaderValue| media_type.as_bytes().starts_with(b"application/vnd.kubernetes.protobuf");
        if media_type.is_some_and(is_protobuf) { Self::Lengths } else { Self::Lines }
    }
}

/// The events of a body.
pub(super) struct BodyEvents {
    body: Body,
    framing: Framing,
    /// The bytes of an event that has not arrived completely.
    begun: BytesMut,
    ready: VecDeque<Result<Bytes, BoxError>>,
    has_ended: bool,
}

impl BodyEvents {
    pub(super) fn of(body: Body, framing: Framing) -> Self {
        Self { body, framing, begun: BytesMut::new(), ready: VecDeque::new(), has_ended: false }
    }

    fn take(&mut self, data: Bytes) {
        self.begun.extend_from_slice(&data);
        while let Some(event) = self.begun_event() {
            self.ready.push_back(Ok(event));
        }
    }

    fn begun_event(&mut self) -> Option<Bytes> {
        match self.framing {
            Framing::Lengths => protobuf::take_event(&mut self.begun),
            Framing::Lines => {
                let end = self.begun.iter().position(|byte| *byte == b'\n')?;
                Some(self.begun.split_to(end + 1).freeze())
            }
        }
    }

    async fn event(&mut self) -> Option<Result<Bytes, BoxError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
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

impl Upstream for BodyEvents {
    type Item = Result<Bytes, BoxError>;

    fn next(&mut self) -> BoxFuture<'_, Option<Self::Item>> {
        self.event().boxed()
    }

    fn last(&mut self) {}

    fn progress(&mut self) -> BoxFuture<'_, Option<String>> {
        std::future::ready(None).boxed()
    }

    fn mark(item: &Self::Item) -> (Mark, Option<i64>) {
        let Ok(item) = item else { return (Mark::Unknown, None) };
        if !is_line(item) {
            return protobuf::mark(item);
        }
        let Ok(Line { event_type, object: Versioned { metadata } }) = serde_json::from_slice(item) else {
            return (Mark::Unknown, None);
        };
        let mark = Mark::of(&event_type, || metadata.annotations.contains_key(INITIAL_EVENTS_END));
        (mark, parse_resource_version(&metadata.version))
    }

    fn bookmark_at(item: Self::Item, revision: i64) -> Self::Item {
        let item = item?;
        if !is_line(&item) {
            return Ok(protobuf::bookmark_at(&item, revision).unwrap_or(item));
        }
        let mut line: Value = serde_json::from_slice(&item)?;
        line["object"]["metadata"]["resourceVersion"] = Value::from(revision.to_string());
        line_of(&line)
    }

    fn errors(&self) -> fn(Status) -> Self::Item {
        match self.framing {
            Framing::Lengths => |status| Ok(protobuf::error(&status)),
            Framing::Lines => |status| line_of(&serde_json::json!({"type": "ERROR", "object": status_value(&status)})),
        }
    }
}

/// Whether an event is in JSON. The first byte of a length is that of a `{` only in an event of 2 GB.
fn is_line(event: &[u8]) -> bool {
    event.first() == Some(&b'{')
}

fn line_of(event: &Value) -> Result<Bytes, BoxError> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    Ok(line.into())
}

/// A line of JSON, as far as the wire reads it.
#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    event_type: String,
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
    #[serde(default)]
    annotations: BTreeMap<String, IgnoredAny>,
}
