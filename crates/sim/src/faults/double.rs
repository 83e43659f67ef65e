use super::argument_form::ArgumentForm;
use super::fault_kind::{FaultEffect, FaultKind, FaultTarget, component};
use super::operation::ClusterOperation;

pub(super) const DOUBLE: FaultKind = FaultKind {
    word: "double",
    argument: "a component, except `kubelet`",
    forms: &[ArgumentForm::Component],
    about: "A second instance of the component runs at the same time, and both act.",
    contract: "A Lease does not stop a process that is late or cannot reach the API server, so for some time two \
               instances may act as leader. Each write must be safe if another instance writes, too.",
    target: FaultTarget::Cluster,
    effect: FaultEffect::Cluster(|argument, _| match component(argument)? {
        kubelet if kubelet.split('/').next() == Some("kubelet") => {
            Err("two kubelets would manage the containers of one machine; `pause` or `kill` acts on one".to_owned())
        }
        other => Ok(ClusterOperation::Double(other)),
    }),
};
