use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use coracle_handover::Offer;
use coracle_meta::{FieldRequirement, Status, reason};
use coracle_registry::ListOptions;
use http::{HeaderValue, Response};

use super::call::VerbCall;
use super::local_events::{LocalEvents, Unclaimed};
use super::watch_stream::WatchStream;
use super::web_socket;
use crate::answer::negotiate::Format;
use crate::answer::respond;
use crate::answer::unread::Streamed;
use crate::front::options::list_options;

/// Streams the events of a collection until the timeout, the shutdown of the server, or the end of the client.
pub(super) async fn serve(mut call: VerbCall) -> Result<Response<Body>, Status> {
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
            let stream = WatchStream::new(&call, watch, rendering, timeout);
            match upgrade {
                Some(upgrade) => return Ok(web_socket::events(upgrade, format, stream)),
                None => return Ok(stream_of(stream, call.how.format, media_type)),
            }
        }
        // A watch from a compacted revision starts, sends the error as an event, and ends: clients expect the error
        // there.
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
    Ok(answer(body, format, media_type))
}

/// The events as lines, and as objects for a client in the same process. The first reader decides which of the two is
/// used.
fn stream_of(stream: WatchStream, format: Format, media_type: &'static str) -> Response<Body> {
    let offer = stream.can_be_handed_over();
    let unclaimed = Unclaimed::new(stream);
    let mut response = answer(Body::from_stream(lines(unclaimed.clone())), format, media_type);
    if offer {
        coracle_handover::offer(&mut response, Offer::Events(Box::new(LocalEvents::new(unclaimed))));
    }
    response
}

fn answer(body: Body, format: Format, media_type: &'static str) -> Response<Body> {
    let mut response = respond::bytes(http::StatusCode::OK, format, body);
    response.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response.extensions_mut().insert(Streamed::Watch);
    response
}

fn not_a_stream(call: &VerbCall) -> Status {
    let streams = call.kind.offers().formats.iter().filter(|format| format.stream_media_type().is_some());
    let names: Vec<_> = streams.map(|format| format!("{};stream=watch", format.media_type())).collect();
    let message = format!("only the following media types are accepted: {}", names.join(", "));
    Status::failure(406, reason::NOT_ACCEPTABLE, message)
}

/// A watch of one object is a watch of its collection with a selector for its name.
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

/// The timeout of the watch: as requested, or a random time, so that not all watches reconnect at once.
fn timeout(call: &VerbCall, options: &ListOptions) -> Duration {
    match options.timeout_seconds {
        Some(seconds) => Duration::from_secs(seconds),
        None => {
            let least = call.server.limits.watch_seconds;
            let name = options.field_selector.exact("metadata.name").unwrap_or_default();
            let random = call.request.random(call.server.registry.ambient(), "watch timeout", name);
            let spread = least as f64 * random.fraction();
            Duration::from_secs(least) + Duration::from_secs_f64(spread)
        }
    }
}

fn lines(unclaimed: Unclaimed) -> impl futures_core::Stream<Item = Result<Bytes, Infallible>> + Send {
    futures_util::stream::unfold(None, move |stream: Option<Box<WatchStream>>| {
        let claimed = stream.or_else(|| unclaimed.claim());
        async move {
            let mut stream = claimed?;
            let frame = stream.next_frame().await?;
            Some((Ok(Bytes::from(frame)), Some(stream)))
        }
    })
}
