use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use coracle_cluster::Instance;
use http::{Method, Request};
use parking_lot::Mutex;

use crate::subject::ProgramProcess;

/// Where Leases are.
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/";

/// What is known of the program of a run: by its requests, and by its process. Clones are the same.
#[derive(Clone)]
pub(crate) struct RunningProgram {
    shared: Arc<Shared>,
}

struct Shared {
    process: Arc<dyn ProgramProcess>,
    /// Whether it has sent a request since its last start.
    has_asked: AtomicBool,
    /// Whether the process is stopped.
    is_paused: AtomicBool,
    /// The namespaces in which it has written Leases.
    lease_namespaces: Mutex<BTreeSet<String>>,
}

impl RunningProgram {
    pub(crate) fn new(process: Arc<dyn ProgramProcess>) -> Self {
        let (has_asked, is_paused) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { shared: Arc::new(Shared { process, has_asked, is_paused, lease_namespaces: Mutex::default() }) }
    }

    /// It starts.
    pub(crate) fn starts(&self) {
        self.shared.has_asked.store(false, Ordering::Relaxed);
        self.shared.is_paused.store(false, Ordering::Relaxed);
    }

    /// It sends a request.
    pub(crate) fn asks<B>(&self, request: &Request<B>) {
        self.shared.has_asked.store(true, Ordering::Relaxed);
        if let Some(namespace) = lease_namespace(request.method(), request.uri().path()) {
            self.shared.lease_namespaces.lock().insert(namespace.to_owned());
        }
    }

    /// Stops or continues the process, if its component is paused or continues.
    pub(crate) fn follow(&self, instance: &Instance) {
        let (is_paused, process) = (instance.is_paused(), &self.shared.process);
        if self.shared.is_paused.swap(is_paused, Ordering::Relaxed) != is_paused {
            if is_paused { process.pause() } else { process.resume() }
        }
    }

    /// Whether it starts, or computes.
    pub(crate) fn is_busy(&self) -> bool {
        !self.shared.has_asked.load(Ordering::Relaxed) || self.shared.process.computes()
    }

    /// The namespaces in which it has written Leases.
    pub(crate) fn lease_namespaces(&self) -> Vec<String> {
        self.shared.lease_namespaces.lock().iter().cloned().collect()
    }
}

/// The namespace of the Lease that a request writes.
fn lease_namespace<'p>(method: &Method, path: &'p str) -> Option<&'p str> {
    let (namespace, rest) = path.strip_prefix(LEASES)?.split_once('/')?;
    let is_of_leases = rest == "leases" || rest.starts_with("leases/");
    let writes = matches!(*method, Method::POST | Method::PUT | Method::PATCH);
    (is_of_leases && writes).then_some(namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_of_leases_show_their_namespace_and_reads_do_not() {
        let path = "/apis/coordination.k8s.io/v1/namespaces/system/leases/leader";
        assert_eq!(lease_namespace(&Method::PUT, path), Some("system"));
        assert_eq!(lease_namespace(&Method::POST, path.trim_end_matches("/leader")), Some("system"));
        assert_eq!(lease_namespace(&Method::GET, path), None);
        assert_eq!(lease_namespace(&Method::PUT, "/api/v1/namespaces/system/pods/leases"), None);
    }
}
