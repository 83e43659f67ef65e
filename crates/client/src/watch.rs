use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use bytes::{Buf, BytesMut};
use coracle_handover::{Events, Offer};
use coracle_meta::any_object::unwrap;
use coracle_meta::{AnyObject, ApiObject, INITIAL_EVENTS_END, ObjectMeta, ObjectType, Status, WatchEvent};
use http::Response;
use http_body_util::BodyExt;
use serde::Deserialize;

use crate::{Error, ResponseBody, Result};

/// A stream of events, read on demand: a slow reader slows down the server, and only the chunk of the body with the
/// next line is buffered.
///
/// ```
/// # coracle::run_virtual(1, async |cluster| {
/// use coracle::api::core_v1::Namespace;
/// use coracle::meta::WatchEvent;
/// use coracle::runtime::{Api, WatchParams};
///
/// let namespaces = Api::<Namespace>::of(&cluster.api_client());
/// let mut watch = namespaces.watch(&WatchParams::default()).await.unwrap();
/// let mut shop = Namespace::default();
/// shop.metadata.name = Some("shop".to_owned());
/// namespaces.create(&shop).await.unwrap();
/// let is_shop = |object: &Namespace| object.metadata.name.as_deref() == Some("shop");
/// loop {
///     let event = watch.next().await.unwrap().expect("the server ends a watch after minutes");
///     if matches!(event, WatchEvent::Added(object) if is_shop(&object)) {
///         break;
///     }
/// }
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct Watch<T> {
    any: AnyWatch,
    _object: PhantomData<fn() -> T>,
}

impl<T: ApiObject> Watch<T> {
    pub(crate) fn over(any: AnyWatch) -> Self {
        Self { any, _object: PhantomData }
    }

    /// The next event; `None` when the server has ended the stream.
    ///
    /// Cancel-safe: a cancelled call loses no event.
    pub async fn next(&mut self) -> Result<Option<WatchEvent<T>>> {
        Ok(self.any.next().await?.map(|event| event.map(unwrap)))
    }

    /// The audit id that the server assigned to the request; empty without one.
    pub fn audit_id(&self) -> &str {
        self.any.audit_id()
    }
}

/// A [`Watch`] of objects without their Rust type.
#[derive(Debug)]
pub struct AnyWatch {
    path: String,
    form: ObjectType,
    audit_id: String,
    source: Source,
}

/// The source of events.
enum Source {
    /// The lines of a body.
    Lines { body: ResponseBody, lines: Lines },
    /// A server in the same process.
    Server(Box<dyn Events>),
}

impl AnyWatch {
    pub(crate) fn new(path: String, answer: Response<ResponseBody>, form: ObjectType) -> Self {
        let audit_id = answer.headers().get("audit-id").and_then(|id| id.to_str().ok()).unwrap_or("").to_owned();
        let mut body = answer.into_body();
        let source = match body.take_offer() {
            Some(Offer::Events(events)) => Source::Server(events),
            _ => Source::Lines { body, lines: Lines::default() },
        };
        Self { path, form, audit_id, source }
    }

    /// The next event; `None` when the server has ended the stream. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<WatchEvent<Arc<dyn AnyObject>>>> {
        let Self { path, form, source, .. } = self;
        let malformed = |source| Error::Malformed { verb: "GET".to_owned(), path: path.clone(), source };
        let broken = |source| Error::Transport { verb: "GET".to_owned(), path: path.clone(), source };
        match source {
            Source::Server(events) => {
                let Some(event) = events.next().await else { return Ok(None) };
                event.try_map(|object| object.decode(*form)).map(Some).map_err(malformed)
            }
            Source::Lines { body, lines } => loop {
                if let Some(line) = lines.next() {
                    return decode(&line, *form).map(Some).map_err(malformed);
                }
                match body.frame().await {
                    None if lines.finish() => return Ok(None),
                    None => return Err(broken("the stream ended within an event".into())),
                    Some(Err(source)) => return Err(broken(source)),
                    Some(Ok(frame)) => {
                        if let Ok(data) = frame.into_data() {
                            lines.push(&data);
                        }
                    }
                }
            },
        }
    }

    /// The audit id that the server assigned to the request; empty without one.
    pub fn audit_id(&self) -> &str {
        &self.audit_id
    }

    /// Whether the events come from a server in this process, so that the stream can [`last`](Self::last).
    pub fn is_local(&self) -> bool {
        matches!(self.source, Source::Server(_))
    }

    /// Keeps a stream from a server in this process open without a time limit and without bookmarks;
    /// [`progress`](Self::progress) replaces them.
    pub fn last(&mut self) {
        if let Source::Server(events) = &mut self.source {
            events.last();
        }
    }

    /// The version up to which all events have been returned, as far as it is known without a bookmark; `None` while
    /// more events are pending. Cancel-safe.
    pub async fn progress(&mut self) -> Option<String> {
        match &mut self.source {
            Source::Server(events) => events.progress().await,
            Source::Lines { .. } => None,
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lines { .. } => "Lines",
            Self::Server(_) => "Server",
        })
    }
}

/// Decodes one line of a watch stream.
fn decode(line: &[u8], form: ObjectType) -> Result<WatchEvent<Arc<dyn AnyObject>>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Line<'a> {
        #[serde(rename = "type")]
        event_type: &'a str,
        #[serde(borrow)]
        object: &'a serde_json::value::RawValue,
    }
    let Line { event_type, object } = coracle_meta::json::from_slice(line)?;
    let object = object.get();
    let read = || form.read(object.as_bytes(), None);
    Ok(match event_type {
        "ADDED" => WatchEvent::Added(read()?),
        "MODIFIED" => WatchEvent::Modified(read()?),
        "DELETED" => WatchEvent::Deleted(read()?),
        "BOOKMARK" => bookmark(object)?,
        "ERROR" => WatchEvent::Error(serde_json::from_str::<Status>(object)?),
        other => return Err(serde::de::Error::custom(format!("unknown event type {other:?}"))),
    })
}

fn bookmark<T>(object: &str) -> Result<WatchEvent<T>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Bookmark {
        metadata: ObjectMeta,
    }
    let Bookmark { metadata } = serde_json::from_str(object)?;
    Ok(WatchEvent::Bookmark {
        initial_events_end: metadata.annotations.get(INITIAL_EVENTS_END).is_some_and(|value| value == "true"),
        resource_version: metadata.resource_version.unwrap_or_default(),
    })
}

/// Splits a stream of bytes into lines.
#[derive(Debug, Default)]
struct Lines {
    buffer: BytesMut,
    /// The length of the prefix of the buffer that contains no line end.
    searched: usize,
}

impl Lines {
    fn push(&mut self, data: &[u8]) {
        self.buffer.extend_from_slice(data);
    }

    /// The next complete line that is not blank.
    fn next(&mut self) -> Option<BytesMut> {
        loop {
            let Some(end) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') else {
                self.searched = self.buffer.len();
                return None;
            };
            let line = self.buffer.split_to(self.searched + end);
            self.buffer.advance(1);
            self.searched = 0;
            if !line.trim_ascii().is_empty() {
                return Some(line);
            }
        }
    }

    /// Whether the rest is only white space.
    fn finish(&self) -> bool {
        self.buffer.trim_ascii().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::Object;
    use proptest::prelude::*;

    fn read(line: &[u8]) -> Result<WatchEvent<Object>, serde_json::Error> {
        decode(line, ObjectType::of::<Object>()).map(|event| event.map(unwrap))
    }

    #[test]
    fn every_event_type_is_read() {
        let added = read(br#"{"type":"ADDED","object":{"metadata":{"name":"web"}}}"#).unwrap();
        assert_eq!(added.object().unwrap().name(), "web");
        let bookmark = read(
            br#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}"#,
        )
        .unwrap();
        assert_eq!(bookmark, WatchEvent::Bookmark { resource_version: "9".into(), initial_events_end: true });
        let error = read(br#"{"type":"ERROR","object":{"status":"Failure","reason":"Expired","code":410}}"#).unwrap();
        assert!(matches!(error, WatchEvent::Error(status) if status.is_expired()));
        assert!(read(br#"{"type":"NEWS","object":{}}"#).is_err());
        assert!(read(b"{").is_err());
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_the_stream_is_cut(
            lines in proptest::collection::vec("[a-z]{1,12}", 0..12),
            cuts in proptest::collection::vec(1..9_usize, 1..40),
        ) {
            let stream: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let mut rest = stream.as_bytes();
            let mut found = Vec::new();
            let mut reader = Lines::default();
            for cut in cuts.iter().cycle() {
                while let Some(line) = reader.next() {
                    found.push(String::from_utf8(line.to_vec()).unwrap());
                }
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                reader.push(piece);
                rest = after;
            }
            prop_assert_eq!(found, lines);
            prop_assert!(reader.finish());
        }
    }
}
