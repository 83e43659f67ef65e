//! A controller asks its cache whether it has created something. The answer to the creation is lost, the cache does
//! not show the object yet, and the controller creates it again under another generated name.
//!
//! Found in: cert-manager#6837 (two requests for one revision of a certificate, and neither is approved).
//! The fault: `lose: answer` of the creation, with the ordinary `lag` of a watch.
//! The fix: a name that follows from the certificate. The second creation is refused, because the object exists.

use coracle::meta::{Object, ObjectKey};
use coracle::runtime::Client;
use coracle::runtime::controller::{
    Action, Controller, Pass, Process, ReconcileError, Reconciler, controllers_of, key_of,
};
use coracle::runtime::informer::Lister;
use coracle::simulation::faults::Fault;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{
    Bug, OPERATOR, Program, SECOND, Searched, Trial, Twin, first, is_owned_by, object, objects, owned_by, resource,
    running, strike, watches,
};

struct Issuer {
    certificates: Lister<Object>,
    requests: Lister<Object>,
    client: Client,
    twin: Twin,
}

impl Reconciler for Issuer {
    async fn reconcile(&self, _: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(certificate) = self.certificates.get(key) else { return Ok(Action::Done) };
        if self.requests.list().iter().any(|request| is_owned_by(request, &certificate)) {
            return Ok(Action::Done);
        }
        let name = match self.twin {
            Twin::Buggy => format!("{}-", key.name),
            Twin::Fixed => format!("{}-1", key.name),
        };
        let request = owned_by(object("Request", &name, json!({})), &certificate);
        match objects(&self.client, "Request").create(&request).await {
            Err(error) if !error.is_already_exists() => Err(error.into()),
            _ => Ok(Action::Done),
        }
    }
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &["Certificate", "Request"];
    const WRONG: &'static str = "2 requests for one certificate";

    fn faults() -> Vec<Fault> {
        let lost = strike(first(OPERATOR, "create", "Request"), "lose", "answer");
        vec![watches("Request", "lag", json!("20ms")), lost]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        let _running = Program::start(Self::controller(trial.process(), twin));

        trial.create(object("Certificate", "web", json!({}))).await;
        sleep(60 * SECOND).await;
        match trial.all("Request").await.len() {
            1 => Ok(()),
            count => Err(format!("{count} requests for one certificate")),
        }
    }
}

impl Searched for Example {
    const SAMPLES: &'static [&'static str] =
        &["{apiVersion: example.com/v1, kind: Certificate, metadata: {name: web}}"];

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        let certificates = process.informers.dynamic(&resource("Certificate"));
        let requests = process.informers.dynamic(&resource("Request"));
        let client = process.client.clone();
        let issuer = Issuer { certificates: certificates.lister(), requests: requests.lister(), client, twin };
        let controller = Controller::new(&process, "issuer", issuer)
            .watches(&certificates, key_of)
            .watches(&requests, |change| controllers_of(change, "Certificate"));
        running(process, controller)
    }
}
