use std::collections::BTreeSet;

use coracle_api::core_v1::{Pod, Toleration};
use coracle_api::pod_references::referenced;
use coracle_meta::fields::Fields;
use coracle_meta::names;
use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;

use super::defaults::complete;
use super::folder::Manifest;

/// The annotation with the source of a pod.
pub(super) const SOURCE: &str = "kubernetes.io/config.source";
/// The annotation with the hash of a manifest.
pub(super) const HASH: &str = "kubernetes.io/config.hash";

/// The size of a manifest at most. In Kubernetes: `maxConfigLength`.
const LONGEST: usize = 10 << 20;

const OFFSET_128: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME_128: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// Converts a manifest to the pod that a node runs.
///
/// In Kubernetes: `tryDecodeSinglePod` and `applyDefaults`. Unlike Kubernetes: what only the API server validates is
/// checked when the mirror is created.
///
/// # Errors
/// Why the manifest is not a pod, as a sentence.
pub(crate) fn static_pod(manifest: &Manifest, node: &str) -> Result<Pod, String> {
    let text = manifest.content.as_ref().map_err(String::clone)?;
    if text.len() > LONGEST {
        return Err(format!("it is longer than {LONGEST} bytes"));
    }
    let value = decode(text)?;
    let mut pod: Pod =
        serde_json::from_value(value.clone()).map_err(|error| format!("couldn't parse as pod({error})"))?;
    complete(&mut pod);
    let name = pod.metadata.name.clone().unwrap_or_default();
    if name.is_empty() {
        return Err("invalid pod: name is needed for the pod".to_owned());
    }
    let uid = pod.metadata.uid.clone().filter(|uid| !uid.is_empty());
    let uid = uid.unwrap_or_else(|| hash(&pod, node, &manifest.path));
    pod.metadata.name = Some(format!("{name}-{}", node.to_lowercase()));
    let namespace = pod.metadata.namespace.take().filter(|namespace| !namespace.is_empty());
    pod.metadata.namespace = Some(namespace.unwrap_or_else(|| "default".to_owned()));
    node.clone_into(&mut pod.spec.node_name);
    pod.metadata.annotations.insert(HASH.to_owned(), uid.clone());
    pod.metadata.annotations.insert(SOURCE.to_owned(), "file".to_owned());
    pod.metadata.uid = Some(uid);
    tolerate(&mut pod.spec.tolerations);
    pod.status = coracle_api::core_v1::PodStatus { phase: "Pending".to_owned(), ..Default::default() };
    check(&pod)?;
    match referenced(value.at("spec")) {
        Some(what) => Err(format!("static pods may not reference {what}")),
        None => Ok(pod),
    }
}

impl Manifest {
    /// Checks whether a node of this name accepts the manifest.
    ///
    /// # Errors
    /// Why not, as a sentence.
    pub fn check(&self, node: &str) -> Result<(), String> {
        static_pod(self, node).map(drop)
    }
}

fn decode(text: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::Error };
    let read: Result<Value, _> = serde_saphyr::from_str_with_options(text, options);
    let value = read.map_err(|error| {
        let message = error.without_snippet().to_string();
        format!("couldn't parse as pod({})", message.lines().next().unwrap_or_default())
    })?;
    match (value.text("apiVersion"), value.text("kind")) {
        ("v1", "Pod") => Ok(value),
        (version, kind) => Err(format!("invalid pod: apiVersion {version:?}, kind {kind:?}; want \"v1\", \"Pod\"")),
    }
}

/// Static pods tolerate all taints with the effect NoExecute.
fn tolerate(tolerations: &mut Vec<Toleration>) {
    let all = Toleration { operator: "Exists".to_owned(), effect: "NoExecute".to_owned(), ..Toleration::default() };
    let is_there = |own: &Toleration| own.key.is_empty() && own.operator == all.operator && own.effect == all.effect;
    if !tolerations.iter().any(is_there) {
        tolerations.push(all);
    }
}

/// Checks the fields without which a pod cannot run.
fn check(pod: &Pod) -> Result<(), String> {
    let invalid = |what: &str| Err(format!("invalid pod: {what}"));
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    if !names::dns1123_subdomain(name).is_empty() {
        return invalid(&format!("metadata.name: {name:?} is no name of a pod"));
    }
    if pod.spec.containers.is_empty() {
        return invalid("spec.containers: Required value");
    }
    let mut seen = BTreeSet::new();
    for container in pod.spec.init_containers.iter().chain(&pod.spec.containers) {
        if container.name.is_empty() || !names::dns1123_label(&container.name).is_empty() {
            return invalid(&format!("spec.containers: {:?} is no name of a container", container.name));
        }
        if !seen.insert(container.name.as_str()) {
            return invalid(&format!("spec.containers: Duplicate value: {:?}", container.name));
        }
        if container.image.is_empty() {
            return invalid(&format!("spec.containers: {:?} has no image", container.name));
        }
    }
    Ok(())
}

/// FNV-1a of 128 bits over the pod, its node and its path, in hexadecimal.
///
/// Unlike Kubernetes: over the pod as JSON, because the value there depends on how Go prints its structs.
fn hash(pod: &Pod, node: &str, path: &str) -> String {
    let pod = serde_json::to_vec(pod).unwrap_or_default();
    let bytes = pod.into_iter().chain(format!("host:{node}file:{path}").into_bytes());
    let hash = bytes.fold(OFFSET_128, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME_128));
    format!("{hash:032x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WEB: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: i}]}\n";

    fn read(path: &str, text: &str) -> Result<Pod, String> {
        static_pod(&Manifest { path: path.to_owned(), content: Ok(text.to_owned()) }, "Node-1")
    }

    #[test]
    fn a_manifest_becomes_a_pod_of_the_node_with_the_hash_as_its_uid() {
        let pod = read("/a/web.yaml", WEB).unwrap();
        let metadata = &pod.metadata;
        assert_eq!((metadata.name.as_deref(), metadata.namespace.as_deref()), (Some("web-node-1"), Some("default")));
        assert_eq!((pod.spec.node_name.as_str(), pod.status.phase.as_str()), ("Node-1", "Pending"));
        assert_eq!(metadata.uid.as_ref(), metadata.annotations.get(HASH));
        assert_eq!((metadata.annotations[SOURCE].as_str(), metadata.uid.as_ref().unwrap().len()), ("file", 32));
        let toleration = &pod.spec.tolerations[0];
        assert_eq!((toleration.operator.as_str(), toleration.effect.as_str()), ("Exists", "NoExecute"));
        assert_eq!(read("/a/web.yaml", &WEB.replace("\n", "\n\n")).unwrap(), pod, "what it looks like does not count");
        let uid = |path: &str, text: &str| read(path, text).unwrap().metadata.uid;
        assert_ne!(uid("/b/web.yaml", WEB), metadata.uid);
        assert_ne!(uid("/a/web.yaml", &WEB.replace("image: i", "image: j")), metadata.uid);
        assert_eq!(uid("/a/web.yaml", &WEB.replace("name: web", "name: web, uid: own")).as_deref(), Some("own"));
    }

    #[test]
    fn omitted_fields_have_the_api_servers_defaults() {
        let text = "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: kube-system}, spec: {containers: [\
                    {name: c, image: i, livenessProbe: {periodSeconds: 3}, resources: {limits: {cpu: 1}}}]}}";
        let pod = read("/web.yaml", text).unwrap();
        let container = &pod.spec.containers[0];
        let probe = container.liveness_probe.as_ref().unwrap();
        assert_eq!((probe.period_seconds, probe.failure_threshold, probe.timeout_seconds), (3, 3, 1));
        assert_eq!(container.resources.requests, container.resources.limits);
        assert_eq!(
            (pod.spec.restart_policy.as_str(), pod.metadata.namespace.as_deref()),
            ("Always", Some("kube-system"))
        );
    }

    #[test]
    fn an_invalid_static_pod_is_refused_with_a_reason() {
        let why = |from: &str, to: &str| read("/web.yaml", &WEB.replace(from, to)).unwrap_err();
        assert_eq!(why("name: web", "labels: {}"), "invalid pod: name is needed for the pod");
        assert_eq!(
            why("kind: Pod", "kind: PodList"),
            "invalid pod: apiVersion \"v1\", kind \"PodList\"; want \"v1\", \"Pod\""
        );
        assert_eq!(why("[{name: c, image: i}]", "[]"), "invalid pod: spec.containers: Required value");
        assert!(why("name: web", "name: Web_1").starts_with("invalid pod: metadata.name: \"Web_1-node-1\""));
        assert!(why("image: i}", "image: i}, {name: c, image: j}").contains("Duplicate value: \"c\""));
        assert!(why("image: i", "image: ''").contains("\"c\" has no image"));
        assert!(why("image: i", "image: [").starts_with("couldn't parse as pod("));
        assert!(why("image: i", "image: [i]").starts_with("couldn't parse as pod("));
        let account = why("spec: {", "spec: {serviceAccountName: a, ");
        assert_eq!(account, "static pods may not reference serviceaccounts");
        let unread = Manifest { path: "/x".to_owned(), content: Err("permission denied".to_owned()) };
        assert_eq!(static_pod(&unread, "n").unwrap_err(), "permission denied");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,200}", cut in 0..120_usize, put in "[\\[\\]{}:,\\-&*!|a-z \n]{0,6}") {
            let _ = read("/x", &text);
            let at = cut.min(WEB.len());
            let _ = read("/x", &[&WEB[..at], put.as_str(), &WEB[at..]].concat());
        }
    }
}
