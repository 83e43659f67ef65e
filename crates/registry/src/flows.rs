use crate::Attributes;

/// The flow of a request: the uids of the objects that classified it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The uid of the flow schema.
    pub schema: String,
    /// The uid of its priority level.
    pub level: String,
}

/// Classifies requests. In Kubernetes: `flowcontrol.Interface`, without queues.
pub trait Flows: Send + Sync + 'static {
    /// The flow of a request, if it is known.
    fn flow_of(&self, attributes: &Attributes) -> Option<Flow>;
}
