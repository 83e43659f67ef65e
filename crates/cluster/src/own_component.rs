use std::pin::pin;
use std::sync::Arc;

use coracle_registry::User;
use coracle_supervisor::ComponentWork;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, select};
use http::Request;
use tower::service_fn;

use crate::builder::TransportLayer;
use crate::component_clients::layered;
use crate::{Body, BoxError, Instance, Requester, Transport, gated_answer};

/// A component of the caller: its user, and what each of its starts runs.
#[derive(Clone)]
pub(crate) struct OwnComponent {
    user: Arc<User>,
    run: Arc<dyn Fn(Transport) -> BoxFuture<'static, ()> + Send + Sync>,
}

impl OwnComponent {
    pub(crate) fn new<F>(user: User, run: impl Fn(Transport) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self { user: Arc::new(user), run: Arc::new(move |transport| run(transport).boxed()) }
    }

    /// What an instance of it runs. A stop drops it.
    pub(crate) fn work(
        &self,
        name: &str,
        instance: &Instance,
        front: &Transport,
        layer: Option<&TransportLayer>,
    ) -> ComponentWork {
        let requester = Requester::component(name, instance.clone());
        let transport = gated(layered(front.clone(), &requester, layer), instance).asking_as(Arc::clone(&self.user));
        let run = Arc::clone(&self.run);
        Box::new(move |stop| {
            let work = run(transport.clone());
            async move {
                select(pin!(stop.asked()), work).await;
            }
            .boxed()
        })
    }
}

/// The transport whose answers are read while the instance is not paused only. A component of a caller may read them in
/// tasks that it has spawned itself, which are not stopped.
fn gated(transport: Transport, instance: &Instance) -> Transport {
    let gate = instance.gate().clone();
    Transport::to(service_fn(move |request: Request<Body>| {
        let (gate, answer) = (gate.clone(), transport.send(request));
        async move { Ok::<_, BoxError>(gated_answer::behind(&gate, answer.await?)) }
    }))
}
