use coracle_ambient::Gate;
use coracle_handover::{Body, Events, Handed, Offer};
use coracle_meta::WatchEvent;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::unfold;
use http::Response;
use http_body_util::{BodyExt, StreamBody};

/// An answer whose bytes, and whose events if it is a watch, are delivered while the gate is open only: also to a task
/// that is not behind the gate itself.
pub(crate) fn behind(gate: &Gate, answer: Response<Body>) -> Response<Body> {
    answer.map(|mut body| {
        let offer = body.take_offer();
        let frames = unfold((gate.clone(), body), async |(gate, mut body)| {
            let frame = body.frame().await;
            gate.opened().await;
            Some((frame?, (gate, body)))
        });
        let body = Body::new(StreamBody::new(frames));
        match offer {
            Some(Offer::Events(events)) => {
                let events = GatedEvents { gate: gate.clone(), events, arrived: Arrived::Nothing };
                body.offering(Offer::Events(Box::new(events)))
            }
            Some(offer) => body.offering(offer),
            None => body,
        }
    })
}

/// The events of a watch, which its reader gets while the gate is open only.
struct GatedEvents {
    gate: Gate,
    events: Box<dyn Events>,
    arrived: Arrived,
}

/// What has arrived, and was not delivered.
enum Arrived {
    Nothing,
    Event(WatchEvent<Box<dyn Handed>>),
    End,
}

impl Events for GatedEvents {
    fn next(&mut self) -> BoxFuture<'_, Option<WatchEvent<Box<dyn Handed>>>> {
        async {
            if matches!(self.arrived, Arrived::Nothing) {
                self.arrived = self.events.next().await.map_or(Arrived::End, Arrived::Event);
            }
            self.gate.opened().await;
            match std::mem::replace(&mut self.arrived, Arrived::Nothing) {
                Arrived::Event(event) => Some(event),
                Arrived::Nothing | Arrived::End => None,
            }
        }
        .boxed()
    }

    fn last(&mut self) {
        self.events.last();
    }

    fn progress(&mut self) -> BoxFuture<'_, Option<String>> {
        async {
            self.gate.opened().await;
            if !matches!(self.arrived, Arrived::Nothing) {
                return None;
            }
            let version = self.events.progress().await;
            self.gate.opened().await;
            version
        }
        .boxed()
    }
}
