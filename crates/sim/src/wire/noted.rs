use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use coracle_cluster::Body;
use coracle_handover::{Handed, Offer};
use coracle_meta::{AnyObject, ObjectType, WatchEvent};
use http::Response;
use http::header::CONTENT_TYPE;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use super::asked::Asked;
use super::sent::LastSent;
use super::state::WireState;

/// An object that is noted as sent when its reader takes it.
struct Noted {
    object: Box<dyn Handed>,
    state: Arc<WireState>,
    asked: Arc<Asked>,
    is_deleted: bool,
}

impl Handed for Noted {
    fn revision(&self) -> i64 {
        self.object.revision()
    }

    fn decode(&self, form: ObjectType) -> Result<Arc<dyn AnyObject>, serde_json::Error> {
        let object = self.object.decode(form)?;
        if let Some(sent) = &self.state.sent {
            let uid = object.object_meta().uid.clone().unwrap_or_default();
            let last = LastSent { uid, revision: self.revision(), is_deleted: self.is_deleted };
            sent.note(&self.asked, object.object_key(), last);
        }
        Ok(object)
    }
}

/// The event with an object that notes itself.
pub(super) fn event(
    state: &Arc<WireState>,
    asked: &Arc<Asked>,
    event: WatchEvent<Box<dyn Handed>>,
) -> WatchEvent<Box<dyn Handed>> {
    if state.sent.is_none() {
        return event;
    }
    let is_deleted = matches!(event, WatchEvent::Deleted(_));
    event.map(|object| noted(state, asked, object, is_deleted))
}

fn noted(state: &Arc<WireState>, asked: &Arc<Asked>, object: Box<dyn Handed>, is_deleted: bool) -> Box<dyn Handed> {
    Box::new(Noted { object, state: Arc::clone(state), asked: Arc::clone(asked), is_deleted })
}

/// An answer whose objects are noted when it is read; only of the object itself and its status.
pub(super) fn answer(state: &Arc<WireState>, asked: &Arc<Asked>, answer: Response<Body>) -> Response<Body> {
    let is_object = asked.at.as_ref().is_some_and(|at| matches!(at.subresource.as_str(), "" | "status"));
    let is_json = answer.headers().get(CONTENT_TYPE).is_some_and(|media_type| media_type.as_bytes().ends_with(b"json"));
    if state.sent.is_none() || !is_object || !answer.status().is_success() {
        return answer;
    }
    answer.map(|mut body| {
        let offer = body.take_offer();
        let body = if is_json { read_along(Arc::clone(state), Arc::clone(asked), body) } else { body };
        match offer {
            Some(Offer::Object(object)) => body.offering(Offer::Object(noted(state, asked, object, false))),
            Some(offer) => body.offering(offer),
            None => body,
        }
    })
}

/// The same body, noted when its end is read.
fn read_along(state: Arc<WireState>, asked: Arc<Asked>, body: Body) -> Body {
    let frames = futures_util::stream::unfold((body, BytesMut::new()), move |(mut body, mut read)| {
        let (state, asked) = (Arc::clone(&state), Arc::clone(&asked));
        async move {
            let frame = body.frame().await.map(|frame| frame.map(|frame| frame.into_data().unwrap_or_default()));
            match &frame {
                Some(Ok(data)) => read.extend_from_slice(data),
                Some(Err(_)) => {}
                None => state.sent.iter().for_each(|sent| sent.note_answer(&asked, &read)),
            }
            Some((frame?.map(Frame::<Bytes>::data), (body, read)))
        }
    });
    Body::new(StreamBody::new(frames))
}
