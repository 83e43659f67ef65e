use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_cluster::{Body, Instance, Requester, RequesterKind, Transport, TransportLayer};
use coracle_sim::Wire;
use coracle_sim::checks::SentObjects;
use http::{HeaderValue, Method, Request};
use parking_lot::Mutex;
use tower::service_fn;

/// The header by which the event log knows a request.
const AUDIT_ID: &str = "audit-id";

/// A wire that notes what the component was last sent of each object before it deletes one, and that stops the
/// connections of a program when the program is killed. Clones are the same.
#[derive(Clone)]
pub(crate) struct ObservedWire {
    wire: Wire,
    /// The component.
    name: Arc<str>,
    shown: Arc<Mutex<BTreeMap<String, SentObjects>>>,
    /// The instance of the component that runs now.
    running: Arc<Mutex<Instance>>,
    /// The number of the instance of each requester that runs now.
    instances: Arc<Mutex<BTreeMap<Arc<str>, u64>>>,
}

impl ObservedWire {
    pub(crate) fn new(wire: &Wire, name: &str) -> Self {
        let (shown, running, instances) = (Arc::default(), Arc::default(), Arc::default());
        Self { wire: wire.clone(), name: name.into(), shown, running, instances }
    }

    /// What the component was last sent before each of its deletions, by audit id.
    pub(crate) fn take_shown(&self) -> BTreeMap<String, SentObjects> {
        std::mem::take(&mut self.shown.lock())
    }

    pub(crate) fn layer(&self) -> TransportLayer {
        let observed = self.clone();
        Arc::new(move |requester, transport| observed.over(requester, transport))
    }

    fn over(&self, requester: &Requester, transport: Transport) -> Transport {
        if requester.name == self.name {
            *self.running.lock() = requester.instance.clone();
        }
        self.instances.lock().insert(Arc::clone(&requester.name), requester.instance.number());
        let (observed, requester) = (self.clone(), requester.clone());
        let inner = self.wire.over(&requester, transport);
        Transport::to(service_fn(move |mut request: Request<Body>| {
            observed.note(&requester, &mut request);
            let instance = match requester.kind {
                RequesterKind::Connections => observed.running.lock().clone(),
                RequesterKind::Component | RequesterKind::User => Instance::default(),
            };
            let answer = inner.send(request);
            async move {
                let answer = answer.await;
                if instance.has_ended() { Err("the program was killed".into()) } else { answer }
            }
        }))
    }

    /// What a requester was last sent of each object. A controller reads through the informers of its process, too.
    fn sent_to(&self, requester: &Requester) -> SentObjects {
        let mut sent = self.wire.all_sent(&requester.name, requester.instance.number());
        let Some((process, _)) = requester.name.split_once('/') else { return sent };
        let instance = self.instances.lock().get(process).copied().unwrap_or_default();
        for (object, last) in self.wire.all_sent(process, instance) {
            if sent.get(&object).is_none_or(|own| own.revision < last.revision) {
                sent.insert(object, last);
            }
        }
        sent
    }

    fn note(&self, requester: &Requester, request: &mut Request<Body>) {
        if request.method() != Method::DELETE {
            return;
        }
        let sent = self.sent_to(requester);
        let mut shown = self.shown.lock();
        let id = request.headers().get(AUDIT_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
        // Clients of other libraries send no id.
        let id = id.unwrap_or_else(|| format!("deletion-{}", shown.len() + 1));
        if let Ok(value) = HeaderValue::from_str(&id) {
            request.headers_mut().insert(AUDIT_ID, value);
            shown.insert(id, sent);
        }
    }
}
