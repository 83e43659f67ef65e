/// A component of a control plane that can be stopped and started separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// All controllers.
    ControllerManager,
    /// The scheduler.
    Scheduler,
    /// All simulated nodes.
    Kubelet,
    /// The controllers of the simulated CSI driver.
    CsiDriver,
}

impl Component {
    /// Its name in the event log.
    pub fn word(self) -> &'static str {
        match self {
            Self::ControllerManager => "controller-manager",
            Self::Scheduler => "scheduler",
            Self::Kubelet => "kubelet",
            Self::CsiDriver => "csi-driver",
        }
    }

    /// The component with a name, if it is one of these.
    pub fn named(word: &str) -> Option<Self> {
        [Self::ControllerManager, Self::Scheduler, Self::Kubelet, Self::CsiDriver]
            .into_iter()
            .find(|component| component.word() == word)
    }
}

/// Its name in the event log.
impl AsRef<str> for Component {
    fn as_ref(&self) -> &str {
        self.word()
    }
}
