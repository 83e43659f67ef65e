use super::argument_form::ArgumentForm;
use super::fault_kind::{FaultEffect, FaultKind, FaultTarget, component};
use super::operation::ClusterOperation;

pub(super) const KILL: FaultKind = FaultKind {
    word: "kill",
    argument: "a component",
    forms: &[ArgumentForm::Component],
    about: "The process of the component is killed, as by `kill -9`, and started again when the fault ends. Requests \
            that it has sent are carried out, and it gets no answer. What it keeps only in memory is lost.",
    contract: "Any process may end at any time, also between two writes that belong together. After a restart it has \
               only what the API shows.",
    target: FaultTarget::Cluster,
    effect: FaultEffect::Cluster(|argument, _| component(argument).map(ClusterOperation::Kill)),
};
