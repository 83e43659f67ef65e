//! What a node knows about a pod in addition to its object: what its containers do, see and lack.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_api::core_v1::{Container, EphemeralContainer, Pod};
use coracle_container_programs::Transcript;

use crate::images::{Images, NodeImages};
use crate::pod::behaviour::Behaviour;
use crate::pod::container::{ContainerRole, DesiredContainer};
use crate::pod::container_place::{ContainerPlace, part};
use crate::pod::image::with_image;
use crate::pod::out_of_memory::limited;
use crate::pod::resize::PendingResize;

/// What a node knows about a pod in addition to its object.
#[derive(Clone, Debug, Default)]
pub(crate) struct PodContext {
    /// The ephemeral containers, as containers.
    ephemeral: Vec<Container>,
    /// The output of containers, by their names; containers with an unknown program are absent.
    pub(crate) transcripts: BTreeMap<String, Arc<Transcript>>,
    /// By container: the ConfigMap, Secret or key that is missing.
    pub(crate) lacks: BTreeMap<String, String>,
    /// Whether a volume is not mounted yet, so that no container can be created.
    pub(crate) waits_for_volumes: bool,
    /// The pod address ranges of the node.
    pub(crate) ranges: Vec<String>,
    /// Why the pod does not get the resources that it requests now, if so.
    pub(crate) pending_resize: Option<PendingResize>,
    /// Why the node terminates it, if so.
    pub(crate) leaves: Option<Leaving>,
    /// Whether any annotation of the pod sets its behaviour.
    has_behaviour: bool,
    pub(crate) images: Images,
    /// The images on the node.
    pub(crate) on_node: NodeImages,
}

/// Why a node terminates a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaving {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// Whether it is a disruption for the node's sake, and not the fault of the pod.
    pub(crate) is_disruption: bool,
    /// Whether the pod gets its grace period.
    pub(crate) is_graceful: bool,
}

impl PodContext {
    pub(crate) fn of(pod: &Pod) -> Self {
        Self {
            ephemeral: pod.spec.ephemeral_containers.iter().map(as_container).collect(),
            has_behaviour: pod.metadata.annotations.keys().any(|name| name.starts_with("coracle.dev/")),
            ..Self::default()
        }
    }

    /// Uses these images instead of those that exist by default.
    pub(crate) fn with_images(mut self, images: Images) -> Self {
        self.images = images;
        self
    }

    /// Whether annotations may set the usage of its containers.
    pub(crate) fn has_annotations(&self) -> bool {
        self.has_behaviour
    }

    pub(crate) fn container<'p>(&'p self, pod: &'p Pod, place: ContainerPlace) -> Option<&'p Container> {
        match place {
            ContainerPlace::Init(index) => pod.spec.init_containers.get(index),
            ContainerPlace::Main(index) => pod.spec.containers.get(index),
            ContainerPlace::Ephemeral(index) => self.ephemeral.get(index),
        }
    }

    pub(crate) fn behaviour(&self, pod: &Pod, container: &Container, is_init: bool) -> Behaviour {
        if !self.has_behaviour {
            return with_image(Behaviour::default(), container, &self.images);
        }
        let behaviour = with_image(Behaviour::of(pod, &container.name, is_init), container, &self.images);
        limited(behaviour, pod, container, is_init)
    }

    /// The spec and the behaviour of a container.
    pub(crate) fn wanted<'p>(&'p self, pod: &'p Pod, place: ContainerPlace) -> Option<DesiredContainer<'p>> {
        let container = self.container(pod, place)?;
        let part = part(container, place);
        Some(DesiredContainer {
            container,
            part,
            behaviour: self.behaviour(pod, container, matches!(part, ContainerRole::Init | ContainerRole::Sidecar)),
            lacks_config: self.lacks.contains_key(&container.name),
            images: &self.images,
            on_node: &self.on_node,
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
