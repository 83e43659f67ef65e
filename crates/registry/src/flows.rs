use crate::Attributes;

/// Which flow a request belongs to: the uids of the objects that sorted it there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Of the flow schema.
    pub schema: String,
    /// Of its priority level.
    pub level: String,
}

/// Sorts requests into flows. In Kubernetes: `flowcontrol.Interface`, as far as it answers and does not queue.
pub trait Flows: Send + Sync + 'static {
    /// The flow of a request, if it is known yet.
    fn flow_of(&self, attributes: &Attributes) -> Option<Flow>;
}
