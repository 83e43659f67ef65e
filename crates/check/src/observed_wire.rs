use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::{Body, Instance, Requester, RequesterKind, Transport, TransportLayer};
use coracle_sim::Wire;
use coracle_sim::checks::SentObjects;
use http::{HeaderValue, Method, Request};
use parking_lot::Mutex;
use tokio::time::sleep;
use tower::service_fn;

use crate::rbac::ObservedPermissions;
use crate::running_program::RunningProgram;

/// The header by which the event log knows a request.
const AUDIT_ID: &str = "audit-id";

/// How often it is looked whether the component is paused.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A wire that notes which instance of the component sends a write, and what the component was last sent of each object
/// before it deletes one. It stops a program and its connections with its component. Clones are the same.
#[derive(Clone)]
pub(crate) struct ObservedWire {
    wire: Wire,
    /// The component.
    name: Arc<str>,
    /// The other components of the author.
    parts: Arc<[String]>,
    noted: Arc<Mutex<Noted>>,
    /// The instance of the component that runs now.
    running: Arc<Mutex<Instance>>,
    /// The number of the instance of each requester that runs now.
    instances: Arc<Mutex<BTreeMap<Arc<str>, u64>>>,
    /// The program, if one is checked.
    program: Option<RunningProgram>,
    /// What its requests need.
    permissions: ObservedPermissions,
}

/// What was noted of the requests of the component, by audit id.
#[derive(Default)]
struct Noted {
    /// What the component was last sent before each of its deletions.
    shown: BTreeMap<String, SentObjects>,
    /// The instance that sent each write.
    senders: BTreeMap<String, u64>,
}

impl ObservedWire {
    pub(crate) fn new(wire: &Wire, name: &str) -> Self {
        Self {
            wire: wire.clone(),
            name: name.into(),
            parts: Arc::default(),
            noted: Arc::default(),
            running: Arc::default(),
            instances: Arc::default(),
            program: None,
            permissions: ObservedPermissions::default(),
        }
    }

    /// The same wire, which stops a program with its component, and notes what the component's requests need.
    pub(crate) fn observing(self, program: Option<RunningProgram>, permissions: &ObservedPermissions) -> Self {
        Self { program, permissions: permissions.clone(), ..self }
    }

    /// The same wire, which notes the same of other components.
    pub(crate) fn with_parts(self, parts: impl IntoIterator<Item = String>) -> Self {
        Self { parts: parts.into_iter().collect(), ..self }
    }

    /// Stops and continues the process of the program with its component, until the future is dropped.
    pub(crate) async fn follow_pauses(self) {
        let Some(program) = &self.program else { return };
        loop {
            sleep(LOOK_AGAIN).await;
            program.follow(&self.running.lock());
        }
    }

    /// What the component was last sent before each of its deletions, and which instance sent each of its writes, by audit
    /// id.
    pub(crate) fn take(&self) -> (BTreeMap<String, SentObjects>, BTreeMap<String, u64>) {
        let Noted { shown, senders } = std::mem::take(&mut *self.noted.lock());
        (shown, senders)
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
            let (instance, program) = match requester.kind {
                RequesterKind::Connections => (observed.running.lock().clone(), observed.program.clone()),
                RequesterKind::Component | RequesterKind::User => (Instance::default(), None),
            };
            if let Some(program) = &program {
                program.asks(&request);
            }
            let is_own = requester.kind == RequesterKind::Connections || requester.name == observed.name;
            let permissions = observed.permissions.clone();
            let needed = if is_own { permissions.asks(&request) } else { None };
            let answer = inner.send(request);
            async move {
                let answer = answer.await;
                if let (Some(needed), Ok(answer)) = (needed, &answer) {
                    permissions.is_answered(needed, answer.status());
                }
                // A program that is paused at its own request must not read the answer.
                if let Some(program) = &program {
                    program.follow(&instance);
                }
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

    /// Whether this is the component, or another one of the author.
    fn is_noted(&self, name: &str) -> bool {
        *name == *self.name || self.parts.iter().any(|part| *name == **part)
    }

    fn note(&self, requester: &Requester, request: &mut Request<Body>) {
        let instance = match requester.kind {
            RequesterKind::Connections => Some(self.running.lock().number()),
            RequesterKind::Component | RequesterKind::User => {
                self.is_noted(&requester.name).then(|| requester.instance.number())
            }
        };
        let is_read = [Method::GET, Method::HEAD].contains(request.method());
        // What another component deletes is not judged.
        let is_of_a_controller = || requester.name.strip_prefix(&*self.name).is_some_and(|rest| rest.starts_with('/'));
        let is_deletion = request.method() == Method::DELETE && (instance.is_some() || is_of_a_controller());
        if is_read || (instance.is_none() && !is_deletion) {
            return;
        }
        let sent = is_deletion.then(|| self.sent_to(requester));
        let mut noted = self.noted.lock();
        let id = request.headers().get(AUDIT_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
        // Clients of other libraries send no id.
        let id = id.unwrap_or_else(|| format!("write-{}", noted.senders.len() + noted.shown.len() + 1));
        let Ok(value) = HeaderValue::from_str(&id) else { return };
        request.headers_mut().insert(AUDIT_ID, value);
        noted.senders.extend(instance.map(|instance| (id.clone(), instance)));
        noted.shown.extend(sent.map(|sent| (id, sent)));
    }
}
