use crate::Component;

/// What the name of a component stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComponentName<'n> {
    /// `controller-manager/NAME`: a controller of the controller-manager.
    Controller(&'n str),
    /// `kubelet/NAME`: the kubelet of a simulated node.
    Node(&'n str),
    /// A component, of the cluster or of the caller.
    Whole(&'n str),
}

impl<'n> ComponentName<'n> {
    pub(crate) fn of(name: &'n str) -> Self {
        match name.split_once('/') {
            Some((component, controller)) if component == Component::ControllerManager.word() => {
                Self::Controller(controller)
            }
            Some((component, node)) if component == Component::Kubelet.word() => Self::Node(node),
            _ => Self::Whole(name),
        }
    }

    /// Whether no component of the caller can have this name.
    pub(crate) fn is_taken(self) -> bool {
        match self {
            Self::Controller(_) | Self::Node(_) => true,
            Self::Whole(name) => Component::named(name).is_some(),
        }
    }
}
