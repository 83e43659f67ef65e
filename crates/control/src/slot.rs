use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use coracle_cluster::{Body, BoxError, PathService, Transport, boxed};
use coracle_meta::Status;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, select};
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::Full;
use parking_lot::RwLock;

use crate::ClusterTime;
use crate::end_signal::EndSignal;
use crate::generation::Generation;
use crate::relay;

/// The place of the generation that serves requests. It is empty while a reset runs.
#[derive(Default)]
pub(crate) struct Slot(RwLock<Option<Arc<Generation>>>);

impl Slot {
    pub(crate) fn current(&self) -> Option<Arc<Generation>> {
        self.0.read().clone()
    }

    pub(crate) fn set(&self, generation: Arc<Generation>) {
        *self.0.write() = Some(generation);
    }

    /// Empties the place, and ends the requests of the generation in it.
    pub(crate) fn take(&self) -> Option<Arc<Generation>> {
        let generation = self.0.write().take();
        if let Some(generation) = &generation {
            generation.end();
        }
        generation
    }
}

/// The API of whichever generation is in the slot. `control` serves the paths for which `is_control` holds.
pub(crate) fn transport(
    slot: Arc<Slot>,
    time: ClusterTime,
    is_control: fn(&str) -> bool,
    control: PathService,
) -> Transport {
    Transport::to(tower::service_fn(move |mut request: Request<Body>| {
        let (generation, time) = (slot.current(), time.clone());
        let is_control = is_control(request.uri().path());
        if is_control {
            request.extensions_mut().insert(control.clone());
        }
        async move {
            let Some(generation) = generation else { return Ok(unavailable()) };
            let (front, ended) = (generation.front.clone(), generation.ended());
            drop(generation);
            // A client of the control endpoint does not react to the cluster, and its request outlives the generation.
            serve(relay::send(&time, &front, request, !is_control), (!is_control).then_some(ended)).await
        }
    }))
}

/// The answer, unless the generation ends before.
async fn serve(
    answer: impl Future<Output = Result<Response<Body>, BoxError>>,
    ended: Option<EndSignal>,
) -> Result<Response<Body>, BoxError> {
    let Some(ended) = ended else { return answer.await };
    let mut ended = ended.ended().boxed();
    match select(std::pin::pin!(answer), &mut ended).await {
        Either::Left((Ok(response), _)) => Ok(response.map(|body| boxed(EndingBody { body, ended: Some(ended) }))),
        Either::Left((Err(error), _)) => Err(error),
        Either::Right(_) => Ok(unavailable()),
    }
}

/// The answer while no generation is in the slot.
fn unavailable() -> Response<Body> {
    let why = "the cluster is being reset: try again in a second";
    let status = Status::failure(503, "ServiceUnavailable", why).with_retry_after(1);
    let body = serde_json::to_vec(&coracle_cluster::status_value(&status)).unwrap_or_default();
    let mut response = Response::new(boxed(Full::new(Bytes::from(body))));
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// A body that ends with its generation when it has nothing to send: a watch. What was answered already is sent to its
/// end, because it is of one state.
struct EndingBody {
    body: Body,
    /// `None` for a generation that has ended.
    ended: Option<BoxFuture<'static, ()>>,
}

impl http_body::Body for EndingBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context).map_err(Into::into);
        if frame.is_ready() {
            return frame;
        }
        let has_ended = self.ended.as_mut().is_none_or(|ended| ended.poll_unpin(context).is_ready());
        if !has_ended {
            return Poll::Pending;
        }
        self.ended = None;
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}
