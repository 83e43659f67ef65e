use std::pin::pin;
use std::sync::Arc;

use coracle_registry::User;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, select};

use crate::builder::TransportLayer;
use crate::component_clients::layered;
use crate::{Instance, Requester, Transport};
use coracle_supervisor::ComponentWork;

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
        let transport = layered(front.clone(), &requester, layer).asking_as(Arc::clone(&self.user));
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
