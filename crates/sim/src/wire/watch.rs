use bytes::Bytes;
use coracle_cluster::Body;
use coracle_handover::{Events, Handed, Offer};
use coracle_meta::WatchEvent;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::Response;
use http::header::CONTENT_TYPE;
use http_body::Frame;
use http_body_util::StreamBody;

use super::held::Held;
use super::line::Line;
use super::noted;
use super::upstream::{BodyEvents, Framing, ObjectEvents};

/// The answer of a watch behind the wire: its bytes, and its events if they are offered.
pub(super) fn over(line: &Line, answer: Response<Body>) -> Response<Body> {
    let framing = Framing::of(answer.headers().get(CONTENT_TYPE));
    answer.map(|mut body| {
        let offer = body.take_offer();
        let body = events(line.clone(), Held::new(line.clone(), BodyEvents::of(body, framing)));
        match offer {
            Some(Offer::Events(events)) => {
                let held = HeldEvents { held: Held::new(line.clone(), ObjectEvents(events)), line: line.clone() };
                body.offering(Offer::Events(Box::new(held)))
            }
            Some(offer) => body.offering(offer),
            None => body,
        }
    })
}

fn events(line: Line, held: Held<BodyEvents>) -> Body {
    let frames = futures_util::stream::unfold((line, held), async |(line, mut held)| {
        let event: Result<Bytes, _> = held.next().await?;
        if let (Some(sent), Ok(event)) = (&line.state.sent, &event) {
            sent.note_line(&line.watch, event);
        }
        Some((event.map(Frame::data), (line, held)))
    });
    Body::new(StreamBody::new(frames))
}

/// The events of a watch for a reader in this process.
struct HeldEvents {
    held: Held<ObjectEvents>,
    line: Line,
}

impl Events for HeldEvents {
    fn next(&mut self) -> BoxFuture<'_, Option<WatchEvent<Box<dyn Handed>>>> {
        async {
            let event = self.held.next().await?;
            Some(noted::event(&self.line.state, &self.line.watch, event))
        }
        .boxed()
    }

    fn last(&mut self) {
        self.held.last();
    }

    fn progress(&mut self) -> BoxFuture<'_, Option<String>> {
        self.held.progress().boxed()
    }
}
