//! What is around a pod on its node: what its containers do, see and lack.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_api::core_v1::{Container, EphemeralContainer, Pod};

use crate::behaviour::Behaviour;
use crate::container::{Part, Wanted};
use crate::place::{Place, part};
use crate::program::Transcript;
use crate::resize::HeldBack;
use crate::usage::limited;

/// What a node knows of a pod beyond its object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    /// The containers that are put into a pod while it runs, as the others are.
    ephemeral: Vec<Container>,
    /// What containers do, by their names; those whose programs are not known are absent.
    pub(crate) transcripts: BTreeMap<String, Arc<Transcript>>,
    /// The containers that are configured with what is not there, and what that is.
    pub(crate) lacks: BTreeMap<String, String>,
    /// Whether a volume cannot be made, without which no container is.
    pub(crate) waits_for_volumes: bool,
    /// The ranges that the node was given for its pods.
    pub(crate) ranges: Vec<String>,
    /// Why the pod does not get the resources that it is to have now, if it does not.
    pub(crate) held_back: Option<HeldBack>,
    /// Why the node lets it go, if it does.
    pub(crate) leaves: Option<Leaving>,
    /// Whether any annotation of the pod says how it behaves.
    has_behaviour: bool,
}

/// Why a node lets a pod go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaving {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// Whether it is for the node's sake, and no fault of the pod.
    pub(crate) is_disruption: bool,
    /// Whether it has its grace period.
    pub(crate) is_graceful: bool,
}

impl Surroundings {
    pub(crate) fn of(pod: &Pod) -> Self {
        Self {
            ephemeral: pod.spec.ephemeral_containers.iter().map(as_container).collect(),
            has_behaviour: pod.metadata.annotations.keys().any(|name| name.starts_with("coracle.dev/")),
            ..Self::default()
        }
    }

    /// Whether annotations may say of its containers that they use much.
    pub(crate) fn is_told(&self) -> bool {
        self.has_behaviour
    }

    pub(crate) fn container<'p>(&'p self, pod: &'p Pod, place: Place) -> Option<&'p Container> {
        match place {
            Place::Init(index) => pod.spec.init_containers.get(index),
            Place::Main(index) => pod.spec.containers.get(index),
            Place::Ephemeral(index) => self.ephemeral.get(index),
        }
    }

    pub(crate) fn behaviour(&self, pod: &Pod, container: &Container, is_init: bool) -> Behaviour {
        if !self.has_behaviour {
            return Behaviour::default();
        }
        limited(Behaviour::of(pod, &container.name, is_init), pod, container, is_init)
    }

    /// What a container is to be.
    pub(crate) fn wanted<'p>(&'p self, pod: &'p Pod, place: Place) -> Option<Wanted<'p>> {
        let container = self.container(pod, place)?;
        let part = part(container, place);
        Some(Wanted {
            container,
            part,
            behaviour: self.behaviour(pod, container, matches!(part, Part::Init | Part::Sidecar)),
            lacks_config: self.lacks.contains_key(&container.name),
            run: self.transcripts.get(&container.name).map(|transcript| transcript.end),
        })
    }
}

fn as_container(ephemeral: &EphemeralContainer) -> Container {
    Container {
        args: ephemeral.args.clone(),
        command: ephemeral.command.clone(),
        env: ephemeral.env.clone(),
        env_from: ephemeral.env_from.clone(),
        image: ephemeral.image.clone(),
        image_pull_policy: ephemeral.image_pull_policy.clone(),
        name: ephemeral.name.clone(),
        stdin: ephemeral.stdin,
        tty: ephemeral.tty,
        volume_mounts: ephemeral.volume_mounts.clone(),
        ..Container::default()
    }
}
