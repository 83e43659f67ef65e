use super::argument_form::ArgumentForm;
use super::fault_kind::{FaultEffect, FaultKind, FaultTarget, component};
use super::operation::ClusterOperation;

pub(super) const PAUSE: FaultKind = FaultKind {
    word: "pause",
    argument: "a component",
    forms: &[ArgumentForm::Component],
    about: "The process of the component is stopped, as by SIGSTOP: it sends nothing, receives nothing, and its timers do \
            not fire. Requests that it has sent are carried out. When the fault ends, it continues with what it knew: \
            it reads the answers and the events that have come, and timers that are due fire at once.",
    contract: "A process may be stopped for any time, for example by its host or by a garbage collection, and does not \
               notice it. A Lease may expire in the meantime, and does not stop the next write of its old holder.",
    target: FaultTarget::Cluster,
    effect: FaultEffect::Cluster(|argument, _| component(argument).map(ClusterOperation::Pause)),
};
