use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use coracle_journal::{Detail, Recorder, Stage};
use coracle_meta::{
    FieldRequirement, GroupVersionKind, INITIAL_EVENTS_END, Object, Status, WatchEvent, WatchEventType, reason,
};
use coracle_registry::{ListOptions, Stored, Watch};
use futures_util::future::{Either, select};
use http::{HeaderValue, Response};
use tokio::time::Sleep;

use super::{Call, web_socket};
use crate::answer::negotiate::Format;
use crate::answer::render::Rendering;
use crate::answer::respond;
use crate::documents::metrics::{Label, OpenStream};
use crate::front::options::list_options;
use crate::server::ACTOR;
use crate::shutdown::Shutdown;

/// How many bytes of events that are ready go out in one frame.
const FRAME: usize = 64 * 1024;

/// Answers with the events of a collection, until the time is over, the server goes or the client does.
pub(super) async fn serve(mut call: Call) -> Result<Response<Body>, Status> {
    let mut options = list_options(&call.query, true)?;
    let Some(media_type) = call.how.format.stream_media_type() else { return Err(not_a_stream(&call)) };
    if call.asked.is_item {
        narrow_to_name(&mut options, &call.asked.at.name)?;
    }
    let timeout = timeout(&call, &options);
    options.timeout_seconds = Some(timeout.as_secs());
    let rendering = call.rendering()?;
    let (upgrade, format) = (call.upgrade.take(), call.how.format);
    let body = match call.server.registry.watch(&call.request, &options).await {
        Ok(watch) => {
            let stream = Stream::new(&call, watch, rendering, timeout);
            match upgrade {
                Some(upgrade) => return Ok(web_socket::events(upgrade, format, stream)),
                None => Body::from_stream(events(stream)),
            }
        }
        // A watch whose start is gone begins, says so, and ends: clients look for the error among the events.
        Err(status) if status.is_expired() => {
            let mut frame = Vec::new();
            rendering.push_error(&status, &mut frame);
            match upgrade {
                Some(upgrade) => return Ok(web_socket::only(upgrade, format, frame)),
                None => Body::from(frame),
            }
        }
        Err(status) => return Err(status),
    };
    let mut response = respond::bytes(http::StatusCode::OK, format, body);
    response.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    Ok(response)
}

fn not_a_stream(call: &Call) -> Status {
    let formats = if call.kind.is_custom() { &Format::WITHOUT_PROTOBUF[..] } else { &Format::ALL[..] };
    let streams = formats.iter().filter(|format| format.stream_media_type().is_some());
    let names: Vec<_> = streams.map(|format| format!("{};stream=watch", format.media_type())).collect();
    let message = format!("only the following media types are accepted: {}", names.join(", "));
    Status::failure(406, reason::NOT_ACCEPTABLE, message)
}

/// A watch of one object is one of its collection with a selector of its name.
fn narrow_to_name(options: &mut ListOptions, name: &str) -> Result<(), Status> {
    match options.field_selector.exact("metadata.name") {
        Some(selected) if selected == name => Ok(()),
        None if options.field_selector.is_everything() => {
            let requirement = FieldRequirement { field: "metadata.name".into(), equal: true, value: name.into() };
            options.field_selector.requirements.push(requirement);
            Ok(())
        }
        _ => Err(Status::bad_request("fieldSelector metadata.name doesn't match requested name")),
    }
}

/// How long the watch may go on: as asked, or a random time, so that not all watches come back at once.
fn timeout(call: &Call, options: &ListOptions) -> Duration {
    match options.timeout_seconds {
        Some(seconds) => Duration::from_secs(seconds),
        None => {
            let least = call.server.limits.watch_seconds;
            let spread = least as f64 * call.server.registry.ambient().random.fraction();
            Duration::from_secs(least) + Duration::from_secs_f64(spread)
        }
    }
}

/// A watch on its way to a client.
pub(super) struct Stream {
    watch: Watch,
    rendering: Rendering,
    kind: GroupVersionKind,
    resource: String,
    watcher: String,
    recorder: Recorder,
    shutdown: Shutdown,
    over: Pin<Box<Sleep>>,
    has_ended: bool,
    _open: OpenStream,
}

fn events(stream: Stream) -> impl futures_core::Stream<Item = Result<Bytes, Infallible>> + Send {
    futures_util::stream::unfold(stream, |mut stream| async move {
        let frame = stream.next_frame().await?;
        Some((Ok(Bytes::from(frame)), stream))
    })
}

impl Stream {
    fn new(call: &Call, watch: Watch, rendering: Rendering, timeout: Duration) -> Self {
        let product = call.request.user_agent.split('/').next().unwrap_or("");
        Self {
            watch,
            rendering,
            kind: call.kind.gvk().clone(),
            resource: call.request.at.resource.resource.clone(),
            watcher: format!("{} {product}", call.request.user.name),
            recorder: call.server.registry.recorder().clone(),
            shutdown: call.server.shutdown.clone(),
            over: Box::pin(tokio::time::sleep(timeout)),
            has_ended: false,
            _open: call.server.metrics.open_stream(Label::of_resource("WATCH", &call.asked)),
        }
    }

    /// Waits for an event alone. `None` when the watch is over. Safe to cancel.
    pub(super) async fn next_one(&mut self) -> Option<Vec<u8>> {
        if self.has_ended {
            return None;
        }
        let event = self.next_event().await?;
        let mut frame = Vec::new();
        self.push(event, &mut frame);
        Some(frame)
    }

    /// Waits for an event, and takes those that are ready with it. `None` when the watch is over.
    async fn next_frame(&mut self) -> Option<Vec<u8>> {
        if self.has_ended {
            return None;
        }
        let first = self.next_event().await?;
        let mut frame = Vec::new();
        self.push(first, &mut frame);
        while frame.len() < FRAME && !self.has_ended {
            let Some(event) = self.watch.try_next() else { break };
            self.push(event, &mut frame);
        }
        Some(frame)
    }

    /// Waits for an event. `None` when the watch is over: it has ended, its time has come, or the server goes.
    async fn next_event(&mut self) -> Option<WatchEvent<Stored>> {
        let (news, going) = (pin!(self.watch.next()), pin!(self.shutdown.begun()));
        // News stand first: what is ready when the time is over still goes out.
        match select(news, select(self.over.as_mut(), going)).await {
            Either::Left((event, _)) => event,
            Either::Right(_) => None,
        }
    }

    fn push(&mut self, event: WatchEvent<Stored>, frame: &mut Vec<u8>) {
        let kind = event.event_type();
        match &event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) => {
                self.rendering.push_event(kind, object, frame);
                self.record(kind, object);
            }
            WatchEvent::Bookmark { resource_version, initial_events_end } => {
                let mut object = Object::of_kind(&self.kind);
                object.set_resource_version(resource_version.as_str());
                if *initial_events_end {
                    object.set(&["metadata", "annotations", INITIAL_EVENTS_END], "true");
                }
                self.rendering.push_object_event(kind, &object, frame);
            }
            WatchEvent::Error(status) => {
                self.rendering.push_error(status, frame);
                self.recorder.record(ACTOR, Stage::WatchExpired, || {
                    Detail::about(self.resource.as_str()).with("why", status.message.as_str())
                });
                self.has_ended = true;
            }
        }
    }

    fn record(&self, kind: WatchEventType, object: &Stored) {
        let revision = object.revision();
        self.recorder.record(ACTOR, Stage::WatchSend, || {
            let parsed = object.object();
            let about = [self.resource.as_str(), parsed.namespace(), parsed.name()];
            let about: Vec<_> = about.into_iter().filter(|part| !part.is_empty()).collect();
            Detail::about(about.join("/"))
                .at(revision)
                .caused_by(self.recorder.commit(revision))
                .with("type", kind.as_str())
                .with("watcher", self.watcher.as_str())
        });
    }
}
