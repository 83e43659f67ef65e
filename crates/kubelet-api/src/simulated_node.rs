use coracle_api::core_v1::Node;

/// The annotation that marks a Node as registered by a simulated node, and not by another kubelet of the same name.
pub const SIMULATED: &str = "coracle.dev/simulated";

/// The annotation of KWOK, with its value, that asks for a Node to be simulated.
const FAKE: (&str, &str) = ("kwok.x-k8s.io/node", "fake");

/// Whether this Node belongs to a simulated node, or asks for one.
pub fn is_simulated(node: &Node) -> bool {
    let annotations = &node.metadata.annotations;
    annotations.contains_key(SIMULATED) || annotations.get(FAKE.0).is_some_and(|value| value == FAKE.1)
}
