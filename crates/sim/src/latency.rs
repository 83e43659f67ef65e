use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use coracle_cluster::{Body, BoxError, Transport};
use http::{Request, Response};
use http_body::Frame;
use tokio::time::{Sleep, sleep};
use tower::service_fn;

/// The latency of requests and watch events. With a latency, events in virtual time happen one after another and not
/// all at once.
///
/// ```
/// use coracle::runtime::Client;
/// use coracle::simulation::Latency;
/// use std::time::Duration;
/// use tokio::time::Instant;
///
/// coracle::run_virtual(1, async |cluster| {
///     let slow = Latency { request: Duration::from_millis(200), watch: Duration::ZERO };
///     let client = Client::new(slow.over(cluster.service()), cluster.ambient());
///     let start = Instant::now();
///     client.get_path::<serde_json::Value>("/version").await.unwrap();
///     assert_eq!(start.elapsed(), Duration::from_millis(200));
/// })
/// .unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// The round trip of a request and its response.
    pub request: Duration,
    /// The delivery of a watch event; events keep their order.
    pub watch: Duration,
}

impl Latency {
    /// A transport with this latency.
    pub fn over(self, transport: Transport) -> Transport {
        let slow = service_fn(move |request: Request<Body>| {
            let transport = transport.clone();
            async move {
                sleep(self.request / 2).await;
                let is_watch = request
                    .uri()
                    .query()
                    .is_some_and(|query| query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1")));
                let answer = transport.send(request).await?;
                sleep(self.request - self.request / 2).await;
                let delay = if is_watch { self.watch } else { Duration::ZERO };
                Ok::<Response<Body>, BoxError>(answer.map(|body| coracle_cluster::boxed(Delayed::new(body, delay))))
            }
        });
        Transport::to(slow)
    }
}

/// A body whose frames are each delayed.
struct Delayed {
    body: Body,
    delay: Duration,
    held: Option<(Pin<Box<Sleep>>, Frame<Bytes>)>,
}

impl Delayed {
    fn new(body: Body, delay: Duration) -> Self {
        Self { body, delay, held: None }
    }
}

impl http_body::Body for Delayed {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        loop {
            if let Some((sleep, _)) = &mut self.held {
                std::task::ready!(sleep.as_mut().poll(context));
                return Poll::Ready(self.held.take().map(|(_, frame)| Ok(frame)));
            }
            match std::task::ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) if !self.delay.is_zero() => {
                    let arrives = Box::pin(sleep(self.delay));
                    self.held = Some((arrives, frame));
                }
                other => return Poll::Ready(other),
            }
        }
    }
}
