//! The ConfigMaps and Secrets that pods refer to.
//!
//! ```text
//! references of a pod --fetched--> Sources --(pure)--> what containers lack, their environment, their files
//! ```
//! In Kubernetes: `makeEnvironmentVariables` of `pkg/kubelet/kubelet_pods.go`, and the volume plug-ins.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_api::core_v1::{Container, EnvVar, KeyToPath, ObjectFieldSelector, Pod, Volume};

use crate::mounted_files::MountedFiles;
use crate::process_arguments::{LONGEST_ARGUMENT, ProcessArguments, Variables};
use crate::programs::World;

/// A ConfigMap or a Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceKind {
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
}

impl SourceKind {
    fn word(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmap",
            Self::Secret => "secret",
        }
    }
}

/// Refers to an object: its kind and its name, in the pod's namespace.
pub type Reference = (SourceKind, String);

/// The values of an object by their keys, shared by all containers that use them.
pub type Texts = BTreeMap<String, Arc<str>>;

/// A source of a projected volume: the name of the volume, and the index of the source.
pub type ProjectedSource = (String, usize);

/// What the node has for the references and the projected sources of a pod. Bytes that are not text become empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// For each reference the values by their keys, or that the object does not exist.
    pub objects: BTreeMap<Reference, Option<Texts>>,
    /// For each trust bundle and each pod certificate its files by their paths, or why the node has none.
    pub projected: BTreeMap<ProjectedSource, Result<Texts, String>>,
}

/// One use of a source: the object, all of it or some items, and whether it may be absent.
struct Taken<'p> {
    /// The index of the source in its volume.
    at: usize,
    from: Reference,
    items: &'p [KeyToPath],
    is_optional: bool,
}

/// All ConfigMaps and Secrets that a pod's containers refer to.
pub fn references(pod: &Pod) -> BTreeSet<Reference> {
    let containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
    let from_containers = containers.flat_map(|container| {
        let keys = container.env.iter().filter_map(|variable| key_of(variable).map(|(from, ..)| from));
        keys.chain(whole(container).map(|(from, ..)| from)).collect::<Vec<_>>()
    });
    let from_volumes = pod.spec.volumes.iter().flat_map(|volume| taken(volume).into_iter().map(|taken| taken.from));
    from_containers.chain(from_volumes).collect()
}

/// The source of a variable: object, key, and whether it is optional.
fn key_of(variable: &EnvVar) -> Option<(Reference, &str, bool)> {
    let from = variable.value_from.as_deref()?;
    if let Some(key) = from.config_map_key_ref.as_deref() {
        return Some(((SourceKind::ConfigMap, key.name.clone()), &key.key, key.optional.unwrap_or(false)));
    }
    let key = from.secret_key_ref.as_deref()?;
    Some(((SourceKind::Secret, key.name.clone()), &key.key, key.optional.unwrap_or(false)))
}

/// The objects whose keys all become variables of a container: with their prefix, and whether they are optional.
fn whole(container: &Container) -> impl Iterator<Item = (Reference, &str, bool)> {
    container.env_from.iter().filter_map(|from| {
        let prefix = from.prefix.as_str();
        if let Some(map) = from.config_map_ref.as_deref() {
            return Some(((SourceKind::ConfigMap, map.name.clone()), prefix, map.optional.unwrap_or(false)));
        }
        let secret = from.secret_ref.as_deref()?;
        Some(((SourceKind::Secret, secret.name.clone()), prefix, secret.optional.unwrap_or(false)))
    })
}

/// The sources of a volume. The volume of a service account token has no source that a user could forget.
fn taken(volume: &Volume) -> Vec<Taken<'_>> {
    let one = |at, sort, name: &str, items, optional: Option<bool>| Taken {
        at,
        from: (sort, name.to_owned()),
        items,
        is_optional: optional.unwrap_or(false),
    };
    if let Some(map) = volume.config_map.as_deref() {
        return vec![one(0, SourceKind::ConfigMap, &map.name, &map.items, map.optional)];
    }
    if let Some(secret) = volume.secret.as_deref() {
        return vec![one(0, SourceKind::Secret, &secret.secret_name, &secret.items, secret.optional)];
    }
    let Some(projected) = volume.projected.as_deref() else { return Vec::new() };
    if projected.sources.iter().any(|source| source.service_account_token.is_some()) {
        return Vec::new();
    }
    let sources = projected.sources.iter().enumerate().filter_map(|(at, source)| {
        if let Some(map) = source.config_map.as_deref() {
            return Some(one(at, SourceKind::ConfigMap, &map.name, &map.items, map.optional));
        }
        let secret = source.secret.as_deref()?;
        Some(one(at, SourceKind::Secret, &secret.name, &secret.items, secret.optional))
    });
    sources.collect()
}

impl Sources {
    /// Whether nothing was fetched.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.projected.is_empty()
    }

    fn object(&self, from: &Reference) -> Option<&Texts> {
        self.objects.get(from)?.as_ref()
    }

    /// The projected sources of a volume that are here, by their indexes.
    fn projected_of(&self, volume: &Volume) -> impl Iterator<Item = (usize, &Result<Texts, String>)> {
        let name = volume.name.clone();
        let all = self.projected.range((name.clone(), 0)..=(name, usize::MAX));
        all.map(|((_, at), found)| (*at, found))
    }

    /// What a container's environment lacks, in the words of the kubelet.
    pub fn lacked_by(&self, pod: &Pod, container: &Container) -> Option<String> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let absent = |from: &Reference| format!("{} \"{}\" not found", from.0.word(), from.1);
        let whole = whole(container).filter(|(from, _, is_optional)| !is_optional && self.object(from).is_none());
        let keys = container.env.iter().filter_map(|variable| {
            let (from, key, is_optional) = key_of(variable)?;
            match self.object(&from) {
                _ if is_optional => None,
                None => Some(absent(&from)),
                Some(object) if object.contains_key(key) => None,
                Some(_) => {
                    let kind = if from.0 == SourceKind::ConfigMap { "ConfigMap" } else { "Secret" };
                    Some(format!("couldn't find key {key} in {kind} {namespace}/{}", from.1))
                }
            }
        });
        whole.map(|(from, ..)| absent(&from)).chain(keys).next()
    }

    /// What a volume lacks, in the words of the kubelet. In Kubernetes: the aggregate of `collectData`.
    pub fn lacked_by_volume(&self, volume: &Volume) -> Option<String> {
        let lacked = |taken: &Taken<'_>| match self.object(&taken.from) {
            _ if taken.is_optional => None,
            None => Some(format!("{} \"{}\" not found", taken.from.0.word(), taken.from.1)),
            Some(object) => {
                let lacks = taken.items.iter().find(|item| !object.contains_key(&item.key));
                lacks.map(|item| format!("{} references non-existent config key: {}", taken.from.0.word(), item.key))
            }
        };
        let of_objects = taken(volume).into_iter().filter_map(|taken| Some((taken.at, lacked(&taken)?)));
        let of_node = self.projected_of(volume).filter_map(|(at, found)| Some((at, found.as_ref().err()?.clone())));
        let all: BTreeMap<usize, String> = of_objects.chain(of_node).collect();
        let mut seen = BTreeSet::new();
        let mut reasons: Vec<String> = all.into_values().filter(|why| seen.insert(why.clone())).collect();
        match reasons.len() {
            0 | 1 => reasons.pop(),
            _ => Some(format!("[{}]", reasons.join(", "))),
        }
    }

    /// What a container's programs see. If it is more than a process can have, only the reason is set.
    pub fn world(&self, pod: &Pod, container: &Container, facts: &PodFacts<'_>) -> World {
        let hostname = facts.hostname(pod);
        let mut environment = ProcessArguments::of(container);
        environment.add("HOSTNAME", hostname.as_str().into());
        environment.add("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into());
        self.add_variables(pod, container, facts, &mut environment);
        let mut mounted = MountedFiles::default();
        self.mount(pod, container, facts, &mut mounted);
        let world = World { hostname, ..World::default() };
        match (environment.is_too_long(), mounted.are_too_many()) {
            (true, _) => World { refusal: Some("argument list too long"), ..world },
            (false, true) => World { refusal: Some("too many files are mounted for a simulated container"), ..world },
            (false, false) => {
                World { environment: environment.variables, files: mounted.files, folders: mounted.folders, ..world }
            }
        }
    }

    fn add_variables(&self, pod: &Pod, container: &Container, facts: &PodFacts<'_>, to: &mut ProcessArguments) {
        // If an object is used twice with one prefix, the last use counts.
        let mut seen = BTreeSet::new();
        let mut taken: Vec<_> = whole(container).collect();
        taken.reverse();
        taken.retain(|(from, prefix, _)| seen.insert((from.clone(), *prefix)));
        for (from, prefix, _) in taken.into_iter().rev() {
            for (key, value) in self.object(&from).into_iter().flatten() {
                to.add(&format!("{prefix}{key}"), Arc::clone(value));
            }
        }
        for variable in &container.env {
            if to.is_too_long() {
                return;
            }
            let value = match (key_of(variable), variable.value_from.as_deref()) {
                (Some((from, key, _)), _) => self.object(&from).and_then(|object| object.get(key)).cloned(),
                (None, Some(from)) => {
                    from.field_ref.as_deref().and_then(|field| facts.field(pod, field)).map(Arc::from)
                }
                (None, None) => {
                    expanded(&variable.value, &to.variables).map_or_else(|| to.refuse(), |text| Some(text.into()))
                }
            };
            if let Some(value) = value {
                to.add(&variable.name, value);
            }
        }
    }

    fn mount(&self, pod: &Pod, container: &Container, facts: &PodFacts<'_>, to: &mut MountedFiles) {
        // If volumes share a name, the first one counts.
        let volumes: BTreeMap<&str, &Volume> =
            pod.spec.volumes.iter().rev().map(|volume| (volume.name.as_str(), volume)).collect();
        let mut read: BTreeMap<&str, Texts> = BTreeMap::new();
        for mount in &container.volume_mounts {
            let Some(volume) = volumes.get(mount.name.as_str()) else { continue };
            if !read.contains_key(mount.name.as_str()) {
                read.insert(&mount.name, self.files(pod, volume, facts, to));
            }
            let files = &read[mount.name.as_str()];
            let path = mount.mount_path.trim_end_matches('/');
            if !mount.sub_path.is_empty() {
                if let Some(text) = files.get(&mount.sub_path) {
                    to.add(mount.mount_path.clone(), text);
                }
                continue;
            }
            to.folders.insert(path.to_owned());
            for (below, text) in files {
                if to.are_too_many() {
                    return;
                }
                to.add(format!("{path}/{below}"), text);
            }
        }
    }

    /// The files of a volume; each counts towards the files of the container.
    fn files(&self, pod: &Pod, volume: &Volume, facts: &PodFacts<'_>, count: &mut MountedFiles) -> Texts {
        let mut files = Texts::new();
        for taken in taken(volume) {
            let Some(object) = self.object(&taken.from) else { continue };
            let whole = object.iter().filter(|_| taken.items.is_empty());
            let items = taken.items.iter().filter_map(|item| Some((&item.path, object.get(&item.key)?)));
            for (path, text) in whole.chain(items) {
                if !count.takes(path.len()) {
                    return files;
                }
                files.insert(path.clone(), Arc::clone(text));
            }
        }
        for (path, text) in self.projected_of(volume).filter_map(|(_, found)| found.as_ref().ok()).flatten() {
            if !count.takes(path.len() + text.len()) {
                return files;
            }
            files.insert(path.clone(), Arc::clone(text));
        }
        let projected = volume.projected.iter().flat_map(|projected| &projected.sources);
        let projected = projected.filter_map(|source| source.downward_api.as_deref()).flat_map(|own| &own.items);
        for item in volume.downward_api.iter().flat_map(|downward| &downward.items).chain(projected) {
            if let Some(text) = item.field_ref.as_deref().and_then(|field| facts.field(pod, field)) {
                if !count.takes(item.path.len() + text.len()) {
                    return files;
                }
                files.insert(item.path.clone(), text.into());
            }
        }
        files
    }
}

/// Replaces `$(NAME)` with the value of the variable, and `$$` with a dollar sign. An unknown name is left unchanged.
/// `None` if the text becomes longer than a process can have it.
///
/// In Kubernetes: `third_party/forked/golang/expansion`.
fn expanded(text: &str, variables: &Variables) -> Option<String> {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        plain.push_str(before);
        let named = after.strip_prefix('(').and_then(|inner| inner.split_once(')'));
        rest = match (after.strip_prefix('$'), named.map(|(name, after)| (variables.get(name), after))) {
            (Some(after), _) => {
                plain.push('$');
                after
            }
            (None, Some((Some(value), after))) => {
                plain.push_str(value);
                after
            }
            _ => {
                plain.push('$');
                after
            }
        };
        if plain.len() > LONGEST_ARGUMENT {
            return None;
        }
    }
    Some(plain + rest)
}

/// What only the node knows about a pod.
#[derive(Debug)]
pub struct PodFacts<'n> {
    /// The name of the node.
    pub node: &'n str,
    /// The address of the node.
    pub host_ip: &'n str,
    /// The address of the pod, if it has one.
    pub pod_ip: Option<&'n str>,
}

impl PodFacts<'_> {
    fn hostname(&self, pod: &Pod) -> String {
        match (pod.spec.hostname.as_str(), pod.spec.host_network) {
            (_, true) => self.node.to_owned(),
            ("", false) => pod.metadata.name.clone().unwrap_or_default(),
            (name, false) => name.to_owned(),
        }
    }

    /// A field of the pod for the downward API.
    fn field(&self, pod: &Pod, field: &ObjectFieldSelector) -> Option<String> {
        let meta = &pod.metadata;
        let lines = |all: &BTreeMap<String, String>| {
            all.iter().map(|(key, value)| format!("{key}={value:?}")).collect::<Vec<_>>().join("\n")
        };
        let within = |all: &BTreeMap<String, String>, start: &str| {
            let key = field.field_path.strip_prefix(start)?.strip_suffix("']")?;
            all.get(key).cloned()
        };
        Some(match field.field_path.as_str() {
            "metadata.name" => meta.name.clone()?,
            "metadata.namespace" => meta.namespace.clone()?,
            "metadata.uid" => meta.uid.clone()?,
            "metadata.labels" => lines(&meta.labels),
            "metadata.annotations" => lines(&meta.annotations),
            "spec.nodeName" => self.node.to_owned(),
            "spec.serviceAccountName" => pod.spec.service_account_name.clone(),
            "status.hostIP" | "status.hostIPs" => self.host_ip.to_owned(),
            "status.podIP" | "status.podIPs" => self.pod_ip?.to_owned(),
            path if path.starts_with("metadata.labels['") => within(&meta.labels, "metadata.labels['")?,
            _ => within(&meta.annotations, "metadata.annotations['")?,
        })
    }
}

/// The text in a base64 value; bytes that are not text become empty.
pub fn text_of(base64: &str) -> String {
    use base64::Engine;
    let bytes = base64::engine::general_purpose::STANDARD.decode(base64).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod() -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "web-1", "namespace": "shop", "labels": {"app": "web"}},
            "spec": {
                "containers": [{
                    "name": "c", "image": "i",
                    "env": [
                        {"name": "LEVEL", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "level"}}},
                        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "t", "optional": true}}},
                        {"name": "APP", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}},
                        {"name": "ALL", "value": "$(LEVEL)-$(NONE)-$$(LEVEL)"}
                    ],
                    "envFrom": [{"prefix": "M_", "configMapRef": {"name": "m"}}],
                    "volumeMounts": [{"name": "v", "mountPath": "/etc/m"}, {"name": "d", "mountPath": "/etc/d"}]
                }],
                "volumes": [
                    {"name": "v", "configMap": {"name": "m", "items": [{"key": "level", "path": "the/level"}]}},
                    {"name": "d", "downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
                    {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}, {"configMap": {"name": "root"}}]}}
                ]
            }
        }))
        .unwrap()
    }

    fn sources(maps: &[(&str, &[(&str, &str)])]) -> Sources {
        let one = |name: &str, data: &[(&str, &str)]| {
            let data = data.iter().map(|(key, value)| ((*key).to_owned(), Arc::from(*value))).collect();
            ((SourceKind::ConfigMap, name.to_owned()), Some(data))
        };
        let objects = maps.iter().map(|(name, data)| one(name, data)).collect();
        Sources { objects, ..Sources::default() }
    }

    #[test]
    fn references_in_a_pod_are_checked_but_not_those_of_its_service_account() {
        let wanted = [(SourceKind::ConfigMap, "m".to_owned()), (SourceKind::Secret, "s".to_owned())];
        assert_eq!(references(&pod()), wanted.into());
    }

    #[test]
    fn missing_volume_sources_are_reported_in_the_kubelets_words() {
        let pod = pod();
        let lacks = |sources: &Sources| sources.lacked_by(&pod, &pod.spec.containers[0]);
        assert_eq!(lacks(&Sources::default()).unwrap(), "configmap \"m\" not found");
        assert_eq!(lacks(&sources(&[("m", &[])])).unwrap(), "couldn't find key level in ConfigMap shop/m");
        assert_eq!(lacks(&sources(&[("m", &[("level", "debug")])])), None);
        let volume = &pod.spec.volumes[0];
        assert_eq!(Sources::default().lacked_by_volume(volume).unwrap(), "configmap \"m\" not found");
        let wrong = sources(&[("m", &[])]).lacked_by_volume(volume).unwrap();
        assert_eq!(wrong, "configmap references non-existent config key: level");
    }

    #[test]
    fn the_sources_that_the_node_makes_are_files_or_reasons_in_the_order_of_the_volume() {
        let sources = json!([{"podCertificate": {"signerName": "a/b"}}, {"configMap": {"name": "m"}},
            {"clusterTrustBundle": {"name": "n"}}, {"serviceAccountToken": {"path": "token"}}]);
        let volume = |sources: &serde_json::Value| -> Volume {
            serde_json::from_value(json!({"name": "v", "projected": {"sources": sources}})).unwrap()
        };
        let of = |at: usize, found: Result<Texts, String>| (("v".to_owned(), at), found);
        let mut own = Sources {
            projected: [of(0, Err("no key".into())), of(2, Err("no bundle".into()))].into(),
            ..Sources::default()
        };
        let without_token = json!(sources.as_array().unwrap()[..3]);
        let lacks = own.lacked_by_volume(&volume(&without_token)).unwrap();
        assert_eq!(lacks, "[no key, configmap \"m\" not found, no bundle]");
        own.projected = [of(0, Err("no key".into())), of(2, Ok([("ca.pem".to_owned(), Arc::from("a"))].into()))].into();
        assert_eq!(own.lacked_by_volume(&volume(&sources)).unwrap(), "no key");
        let mounts = json!([{"name": "v", "mountPath": "/v"}]);
        let container = json!({"name": "c", "image": "i", "volumeMounts": mounts});
        let world = world_of(&own, container, json!([volume(&sources)]));
        assert_eq!(
            world.files.iter().map(|(path, text)| (path.as_str(), &**text)).collect::<Vec<_>>(),
            [("/v/ca.pem", "a")]
        );
    }

    #[test]
    fn programs_see_what_their_container_is_configured_with() {
        let pod = pod();
        let facts = PodFacts { node: "n", host_ip: "10.0.0.1", pod_ip: None };
        let world = sources(&[("m", &[("level", "debug")])]).world(&pod, &pod.spec.containers[0], &facts);
        let of = |name: &str| world.environment.get(name).map(|value| &**value);
        assert_eq!((of("LEVEL"), of("TOKEN"), of("APP")), (Some("debug"), None, Some("web")));
        assert_eq!((of("ALL"), of("M_level")), (Some("debug-$(NONE)-$(LEVEL)"), Some("debug")));
        assert_eq!(&*world.files["/etc/m/the/level"], "debug");
        assert_eq!(&*world.files["/etc/d/labels"], "app=\"web\"");
        assert_eq!(world.hostname, "web-1");
    }

    fn world_of(sources: &Sources, container: serde_json::Value, volumes: serde_json::Value) -> World {
        let spec = json!({"containers": [container], "volumes": volumes});
        let pod = json!({"metadata": {"name": "p", "namespace": "shop", "annotations": {"a": "x".repeat(1_000)}}, "spec": spec});
        let pod: Pod = serde_json::from_value(pod).unwrap();
        sources.world(&pod, &pod.spec.containers[0], &PodFacts { node: "n", host_ip: "10.0.0.1", pod_ip: None })
    }

    #[test]
    fn an_environment_that_doubles_is_too_long_before_it_is_large() {
        let variable = |at: usize| match at {
            0 => json!({"name": "V0", "value": "0123456789"}),
            at => json!({"name": format!("V{at}"), "value": format!("$(V{0})$(V{0})", at - 1)}),
        };
        let container = |count: usize| {
            let env: Vec<_> = (0..count).map(variable).collect();
            json!({"name": "c", "image": "i", "env": env})
        };
        let world = world_of(&Sources::default(), container(14), json!([]));
        assert_eq!((world.refusal, world.environment["V13"].len()), (None, 10 << 13));
        for count in [15, 16, 40, 4_000] {
            let world = world_of(&Sources::default(), container(count), json!([]));
            assert_eq!((world.refusal, world.environment.len()), (Some("argument list too long"), 0), "{count}");
        }
        let annotation = json!({"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations"}}});
        let many = json!({"name": "c", "image": "i", "env": vec![annotation; 30_000]});
        assert!(world_of(&Sources::default(), many, json!([])).refusal.is_none(), "one variable, set again and again");
    }

    #[test]
    fn objects_that_are_taken_or_mounted_a_thousand_times_are_shared() {
        let text = "x".repeat(100_000);
        let sources = sources(&[("m", &[("a", text.as_str()), ("b", "2")])]);
        let whole = json!({"configMapRef": {"name": "m"}});
        let mounts: Vec<_> = (0..3_000).map(|at| json!({"name": "v", "mountPath": format!("/m{at}/")})).collect();
        let volumes = json!([{"name": "v", "configMap": {"name": "m"}}]);
        let container = json!({"name": "c", "image": "i", "envFrom": vec![whole; 4_000], "volumeMounts": mounts});
        let world = world_of(&sources, container, volumes.clone());
        assert_eq!((world.refusal, world.environment.len(), world.files.len()), (None, 4, 6_000));
        assert!(Arc::ptr_eq(&world.files["/m7/a"], &world.files["/m2999/a"]));
        assert!(Arc::ptr_eq(&world.files["/m7/a"], &world.environment["a"]));
        let prefixed: Vec<_> =
            (0..4_000).map(|at| json!({"prefix": format!("P{at}"), "configMapRef": {"name": "m"}})).collect();
        let container = json!({"name": "c", "image": "i", "envFrom": prefixed});
        assert_eq!(world_of(&sources, container, json!([])).refusal, Some("argument list too long"));
        let mounts: Vec<_> = (0..30_000).map(|at| json!({"name": "v", "mountPath": format!("/m{at}")})).collect();
        let world = world_of(&sources, json!({"name": "c", "image": "i", "volumeMounts": mounts}), volumes);
        assert_eq!(world.refusal, Some("too many files are mounted for a simulated container"));
    }
}
