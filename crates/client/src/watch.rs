use std::marker::PhantomData;

use bytes::{Buf, BytesMut};
use coracle_meta::{ApiObject, INITIAL_EVENTS_END, ObjectMeta, Status, WatchEvent};
use http_body_util::BodyExt;
use serde::Deserialize;

use crate::{BoxError, Error, ResponseBody, Result};

/// A stream of events, read on demand: a reader that is slow holds the server back, and nothing is buffered but the
/// piece of the body that holds the next line.
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
    path: String,
    body: ResponseBody,
    lines: Lines,
    _object: PhantomData<fn() -> T>,
}

impl<T: ApiObject> Watch<T> {
    pub(crate) fn new(path: String, body: ResponseBody) -> Self {
        Self { path, body, lines: Lines::default(), _object: PhantomData }
    }

    /// The next event; `None` when the server has ended the stream.
    ///
    /// Cancel-safe: a caller that stops waiting loses nothing.
    pub async fn next(&mut self) -> Result<Option<WatchEvent<T>>> {
        loop {
            if let Some(line) = self.lines.next() {
                return decode(&line).map(Some).map_err(|source| Error::Malformed {
                    verb: "GET".to_owned(),
                    path: self.path.clone(),
                    source,
                });
            }
            match self.body.frame().await {
                None => return self.at_end(),
                Some(Err(source)) => return Err(self.broken(source)),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.lines.push(&data);
                    }
                }
            }
        }
    }

    fn at_end(&mut self) -> Result<Option<WatchEvent<T>>> {
        match self.lines.finish() {
            true => Ok(None),
            false => Err(self.broken("the stream ended within an event".into())),
        }
    }

    fn broken(&self, source: BoxError) -> Error {
        Error::Transport { verb: "GET".to_owned(), path: self.path.clone(), source }
    }
}

/// Reads one line of a watch stream.
fn decode<T: ApiObject>(line: &[u8]) -> Result<WatchEvent<T>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Line<'a> {
        #[serde(rename = "type")]
        event_type: &'a str,
        #[serde(borrow)]
        object: &'a serde_json::value::RawValue,
    }
    let Line { event_type, object } = serde_json::from_slice(line)?;
    let object = object.get();
    Ok(match event_type {
        "ADDED" => WatchEvent::Added(T::read_json(object.as_bytes())?),
        "MODIFIED" => WatchEvent::Modified(T::read_json(object.as_bytes())?),
        "DELETED" => WatchEvent::Deleted(T::read_json(object.as_bytes())?),
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

/// Cuts a stream of bytes into lines.
#[derive(Debug, Default)]
struct Lines {
    buffer: BytesMut,
    /// How much of the buffer is known to hold no line end.
    searched: usize,
}

impl Lines {
    fn push(&mut self, data: &[u8]) {
        self.buffer.extend_from_slice(data);
    }

    /// The next whole line that is not blank.
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

    /// Whether nothing but white space is left over.
    fn finish(&self) -> bool {
        self.buffer.trim_ascii().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::Object;
    use proptest::prelude::*;

    #[test]
    fn every_event_type_is_read() {
        let added: WatchEvent<Object> = decode(br#"{"type":"ADDED","object":{"metadata":{"name":"web"}}}"#).unwrap();
        assert_eq!(added.object().unwrap().name(), "web");
        let bookmark: WatchEvent<Object> = decode(
            br#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}"#,
        )
        .unwrap();
        assert_eq!(bookmark, WatchEvent::Bookmark { resource_version: "9".into(), initial_events_end: true });
        let error: WatchEvent<Object> =
            decode(br#"{"type":"ERROR","object":{"status":"Failure","reason":"Expired","code":410}}"#).unwrap();
        assert!(matches!(error, WatchEvent::Error(status) if status.is_expired()));
        assert!(decode::<Object>(br#"{"type":"NEWS","object":{}}"#).is_err());
        assert!(decode::<Object>(b"{").is_err());
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
