//! The default objects of each release in the form in which their creates store them.
//!
//! A store without objects gets them in this form, which takes a small part of the work of creates. A test creates
//! them, and compares. `UPDATE_PREPARED=1 cargo test -p coracle-cluster prepared_objects` writes the file again.

use std::collections::BTreeMap;

use coracle_meta::{GroupVersion, GroupVersionResource, format_time};
use coracle_registry::{Registry, Request, Stored, SystemFields, Verb};
use coracle_release::Release;

/// The head of the file describes its format.
const FILE: &str = include_str!("prepared_objects.txt");

/// A write of a prepared object.
pub(crate) enum PreparedStep {
    /// Creates it.
    Create(PreparedObject),
    /// Replaces one that was created.
    Replace(PreparedObject),
    /// Creates the object of this resource, which depends on the options.
    ByOptions(&'static str),
}

/// A default object as its create stores it, with places for what differs from one create to the next.
pub(crate) struct PreparedObject {
    resource: GroupVersionResource,
    namespace: &'static str,
    name: &'static str,
    /// Parts of the value, one after the other.
    parts: [&'static str; 2],
}

/// The writes of the default objects of a release, in their order; nothing if the file does not have them.
pub(crate) fn prepared_steps(release: &Release) -> Vec<PreparedStep> {
    steps_in(FILE, release.version())
}

fn steps_in(file: &'static str, version: &str) -> Vec<PreparedStep> {
    let mut heads = Vec::new();
    let mut steps = Vec::new();
    for line in file.lines().filter(|line| !line.starts_with('#')) {
        let Some((first, rest)) = line.split_once(' ') else { continue };
        if first == "head" {
            heads.extend(head_in(rest));
        } else if first.split(',').any(|own| own == version) {
            steps.extend(step_in(rest, &heads));
        }
    }
    steps
}

/// The resource of some objects, and what their values begin with.
type Head = (GroupVersionResource, &'static str);

/// `clusterroles rbac.authorization.k8s.io/v1 {"kind":...`
fn head_in(line: &'static str) -> Option<Head> {
    let mut words = line.splitn(3, ' ');
    let (plural, version, text) = (words.next()?, words.next()?, words.next()?);
    let GroupVersion { group, version } = GroupVersion::parse(version)?;
    Some((GroupVersionResource::new(group, version, plural), text))
}

/// `create HEAD REST`, `replace HEAD REST` or `options PLURAL`.
fn step_in(line: &'static str, heads: &[Head]) -> Option<PreparedStep> {
    let (verb, line) = line.split_once(' ')?;
    if verb == "options" {
        return Some(PreparedStep::ByOptions(line));
    }
    let (head, rest) = line.split_once(' ')?;
    let (resource, head) = heads.get(head.parse::<usize>().ok()?)?;
    let (name, after) = rest.split_once('"')?;
    let namespace = after.strip_prefix(",\"namespace\":\"").and_then(|after| after.split('"').next());
    let namespace = namespace.unwrap_or("");
    let object = PreparedObject { resource: resource.clone(), namespace, name, parts: [*head, rest] };
    Some(if verb == "replace" { PreparedStep::Replace(object) } else { PreparedStep::Create(object) })
}

impl PreparedObject {
    fn request(&self, registry: &Registry, verb: Verb) -> Request {
        let now = registry.ambient().clock.now();
        Request::new(verb, self.resource.clone(), now).object(self.namespace, self.name)
    }

    fn value(&self, fields: &SystemFields, now: &str) -> Vec<u8> {
        let mut value = Vec::with_capacity(self.parts.iter().map(|part| part.len()).sum::<usize>() + 64);
        for part in self.parts {
            for (at, text) in part.split('@').enumerate() {
                let text = match (at % 2, text) {
                    (1, "uid") => &fields.uid,
                    (1, "created") => &fields.created,
                    (1, "now") => now,
                    _ => text,
                };
                value.extend_from_slice(text.as_bytes());
            }
        }
        value
    }
}

/// The writes of prepared objects to one API server's store.
pub(crate) struct PreparedWrites<'r> {
    registry: &'r Registry,
    /// What was created, by resource and name.
    created: BTreeMap<(String, &'static str), (Stored, SystemFields)>,
}

impl<'r> PreparedWrites<'r> {
    pub(crate) fn new(registry: &'r Registry) -> Self {
        Self { registry, created: BTreeMap::new() }
    }

    /// Whether the object did not exist and was created.
    pub(crate) async fn create(&mut self, object: &PreparedObject) -> bool {
        let request = object.request(self.registry, Verb::Create);
        let fields = self.registry.new_system_fields(&request);
        let value = object.value(&fields, &fields.created);
        let Ok(Some(stored)) = self.registry.put_prepared(&request, None, value).await else { return false };
        self.created.insert((object.resource.resource.clone(), object.name), (stored, fields));
        true
    }

    /// Whether the object was as it was created, and was replaced.
    pub(crate) async fn replace(&mut self, object: &PreparedObject) -> bool {
        let request = object.request(self.registry, Verb::Update);
        let key = (object.resource.resource.clone(), object.name);
        let Some((stored, fields)) = self.created.get(&key) else { return false };
        let value = object.value(fields, &format_time(request.now));
        matches!(self.registry.put_prepared(&request, Some(stored), value).await, Ok(Some(_)))
    }
}
