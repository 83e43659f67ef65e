use std::collections::BTreeSet;

use coracle_controllers::{component_called, component_names};

use crate::Error;
use crate::component_name::ComponentName;

/// The parts of components that share no informers with others.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnInformers {
    pub(crate) controllers: BTreeSet<String>,
    pub(crate) nodes: BTreeSet<String>,
}

impl OwnInformers {
    /// Whether a part is one of them.
    pub(crate) fn includes(&self, name: &str) -> bool {
        match ComponentName::of(name) {
            ComponentName::Controller(controller) => self.controllers.contains(controller),
            ComponentName::Node(node) => self.nodes.contains(node),
            ComponentName::Whole(_) => false,
        }
    }

    /// The parts with these names.
    ///
    /// # Errors
    /// If one of them is not a part that can have informers of its own.
    pub(crate) fn of(names: &BTreeSet<String>) -> Result<Self, Error> {
        let mut own = Self::default();
        for name in names {
            match ComponentName::of(name) {
                ComponentName::Controller(controller) if component_names().any(|known| known == controller) => {
                    own.controllers.insert(controller.to_owned());
                }
                ComponentName::Controller(controller) => {
                    let called = component_called(controller)
                        .map_or_else(String::new, |known| format!("; did you mean `controller-manager/{known}`?"));
                    return Err(Error::Options(format!("there is no controller `{name}`{called}")));
                }
                // A node may join later.
                ComponentName::Node(node) => drop(own.nodes.insert(node.to_owned())),
                ComponentName::Whole(_) => {
                    let message = format!("`{name}` has informers of its own: name a controller or a node");
                    return Err(Error::Options(message));
                }
            }
        }
        Ok(own)
    }
}
