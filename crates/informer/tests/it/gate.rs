use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use coracle_client::{Body, BoxError, ResponseBody};
use http::{Request, Response};
use http_body_util::{BodyExt, Channel};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tower::{Service, ServiceExt};

const EXPIRED: &str = concat!(
    r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","#,
    r#""reason":"Expired","message":"too old resource version","code":410}}"#,
    "\n"
);

/// What lies between an informer and the API server, and can fail.
#[derive(Clone, Default)]
pub(crate) struct Gate {
    closed: Arc<AtomicBool>,
    expired: Arc<AtomicBool>,
    repeating: Arc<AtomicBool>,
    cut: Arc<Notify>,
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
}

impl Gate {
    /// Breaks every open stream.
    pub(crate) fn cut(&self) {
        self.cut.notify_waiters();
    }

    /// Breaks every open stream, and lets nothing through until it is opened.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.cut();
    }

    pub(crate) fn open(&self) {
        self.closed.store(false, Ordering::Relaxed);
    }

    /// Answers the next watch that resumes with a 410.
    pub(crate) fn expire_next(&self) {
        self.expired.store(true, Ordering::Relaxed);
    }

    /// Whether each event comes twice.
    pub(crate) fn repeat(&self, repeat: bool) {
        self.repeating.store(repeat, Ordering::Relaxed);
    }

    /// How many requests had this text in their path.
    pub(crate) fn asked_for(&self, text: &str) -> usize {
        self.asked.lock().iter().filter(|path| path.contains(text)).count()
    }

    /// `service` behind this gate.
    pub(crate) fn before<S, B>(
        &self,
        service: S,
    ) -> impl Service<Request<Body>, Response = Response<ResponseBody>, Error = BoxError, Future: Send>
    + Clone
    + Send
    + 'static
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let gate = self.clone();
        tower::service_fn(move |request: Request<Body>| gate.clone().pass(service.clone(), request))
    }

    async fn pass<S, B>(self, service: S, request: Request<Body>) -> Result<Response<ResponseBody>, BoxError>
    where
        S: Service<Request<Body>, Response = Response<B>>,
        S::Error: Into<BoxError>,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let path = request.uri().to_string();
        self.asked.lock().push(path.clone());
        if self.closed.load(Ordering::Relaxed) {
            return Err("the gate is closed".into());
        }
        let resumes = path.contains("watch=true") && !path.contains("sendInitialEvents");
        if resumes && self.expired.swap(false, Ordering::Relaxed) {
            let body = http_body_util::Full::new(Bytes::from_static(EXPIRED.as_bytes()));
            return Ok(Response::new(ResponseBody::new(body)));
        }
        let response = service.oneshot(request).await.map_err(Into::into)?;
        Ok(response.map(|body| self.carry(body)))
    }

    /// Carries a body piece by piece until the gate is cut.
    fn carry<B>(self, body: B) -> ResponseBody
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let mut body = body.map_err(Into::into).boxed_unsync();
        let (mut sender, carried) = Channel::<Bytes, BoxError>::new(1);
        tokio::spawn(async move {
            loop {
                let cut = std::pin::pin!(self.cut.notified());
                let frame = std::pin::pin!(body.frame());
                let frame = match futures_util::future::select(cut, frame).await {
                    futures_util::future::Either::Left(_) => return sender.abort("the gate was cut".into()),
                    futures_util::future::Either::Right((frame, _)) => frame,
                };
                let data = match frame {
                    None => return,
                    Some(Err(error)) => return sender.abort(error),
                    Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
                };
                let times =
                    if self.repeating.load(Ordering::Relaxed) && data.starts_with(br#"{"type"#) { 2 } else { 1 };
                for _ in 0..times {
                    if sender.send_data(data.clone()).await.is_err() {
                        return;
                    }
                }
            }
        });
        ResponseBody::new(carried)
    }
}
