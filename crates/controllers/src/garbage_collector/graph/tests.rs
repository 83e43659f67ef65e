use super::*;

fn kind(name: &str) -> GroupVersionKind {
    GroupVersionKind::new("", "v1", name)
}

fn meta(namespace: &str, name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty()),
        uid: Some(format!("u-{name}")),
        ..ObjectMeta::default()
    }
}

fn owned_by(mut meta: ObjectMeta, kind: &str, owner: &str, blocks: bool) -> ObjectMeta {
    meta.owner_references.push(OwnerReference {
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        name: owner.to_owned(),
        uid: format!("u-{owner}"),
        block_owner_deletion: Some(blocks),
        ..OwnerReference::default()
    });
    meta
}

fn deleting(mut meta: ObjectMeta, finalizer: &str) -> ObjectMeta {
    meta.deletion_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
    meta.finalizers.push(finalizer.to_owned());
    meta
}

fn said(tasks: &[Task]) -> Vec<String> {
    tasks
        .iter()
        .map(|task| match task {
            Task::Delete(item) => format!("delete {item}"),
            Task::DeleteLater(item) => format!("later {item}"),
            Task::Orphan(item) => format!("orphan {item}"),
            Task::Report(item, owner) => format!("report {item} -> {}", owner.name),
        })
        .collect()
}

#[test]
fn the_dependents_of_a_deleted_owner_are_looked_at() {
    let mut graph = Graph::default();
    graph.observe(&kind("Set"), None, &meta("ns", "web"));
    let tasks = graph.observe(&kind("Pod"), None, &owned_by(meta("ns", "web-1"), "Set", "web", true));
    assert!(tasks.is_empty(), "{tasks:?}");
    let tasks = graph.observe_deletion(&kind("Set"), &meta("ns", "web"));
    assert_eq!(said(&tasks), ["delete Pod/ns/web-1"]);
    let owner = Identity::of(&kind("Set"), &meta("ns", "web"));
    assert!(graph.is_absent(&owner));
}

#[test]
fn an_owner_that_was_only_heard_of_is_looked_for_and_its_absence_brings_up_its_dependents() {
    let mut graph = Graph::default();
    let tasks = graph.observe(&kind("Pod"), None, &owned_by(meta("ns", "web-1"), "Set", "web", true));
    assert_eq!(said(&tasks), ["delete Set/ns/web"]);
    let owner = graph.view("u-web").unwrap();
    assert!(owner.is_virtual);
    let tasks = graph.observe_absence(&owner.identity);
    assert_eq!(said(&tasks), ["delete Pod/ns/web-1"]);
    assert_eq!(graph.view("u-web"), None);
}

#[test]
fn a_seen_owner_replaces_the_one_that_was_heard_of() {
    let mut graph = Graph::default();
    graph.observe(&kind("Pod"), None, &owned_by(meta("ns", "web-1"), "Set", "web", true));
    let tasks = graph.observe(&kind("Set"), None, &meta("ns", "web"));
    assert!(tasks.is_empty(), "{tasks:?}");
    let owner = graph.view("u-web").unwrap();
    assert!(!owner.is_virtual);
    assert!(graph.has_dependents("u-web"));
}

#[test]
fn an_owner_in_another_namespace_is_reported_and_the_dependent_looked_at() {
    let mut graph = Graph::default();
    graph.observe(&kind("Set"), None, &meta("elsewhere", "web"));
    let tasks = graph.observe(&kind("Pod"), None, &owned_by(meta("ns", "web-1"), "Set", "web", true));
    assert_eq!(said(&tasks), ["report Pod/ns/web-1 -> web", "delete Pod/ns/web-1"]);
}

#[test]
fn a_wrong_kind_with_the_right_uid_is_looked_at() {
    let mut graph = Graph::default();
    graph.observe(&kind("Set"), None, &meta("ns", "web"));
    let tasks = graph.observe(&kind("Pod"), None, &owned_by(meta("ns", "web-1"), "Other", "web", true));
    assert_eq!(said(&tasks), ["delete Pod/ns/web-1"]);
}

#[test]
fn foreground_deletion_brings_up_all_dependents_and_the_owner_again_when_one_goes() {
    let mut graph = Graph::default();
    graph.observe(&kind("Set"), None, &meta("ns", "web"));
    graph.observe(&kind("Pod"), None, &owned_by(meta("ns", "web-1"), "Set", "web", true));
    let before = meta("ns", "web");
    let tasks = graph.observe(&kind("Set"), Some(&before), &deleting(meta("ns", "web"), FOREGROUND));
    assert_eq!(said(&tasks), ["delete Pod/ns/web-1", "delete Set/ns/web"]);
    let owner = graph.view("u-web").unwrap();
    assert!(owner.deleting_dependents && graph.is_blocked("u-web"));
    assert_eq!(graph.blocking("u-web", 9).iter().map(ToString::to_string).collect::<Vec<_>>(), ["Pod/ns/web-1"]);
    let tasks = graph.observe_deletion(&kind("Pod"), &owned_by(meta("ns", "web-1"), "Set", "web", true));
    assert_eq!(said(&tasks), ["delete Set/ns/web"]);
}

#[test]
fn a_dependent_that_no_longer_blocks_brings_up_its_owner() {
    let mut graph = Graph::default();
    graph.observe(&kind("Set"), None, &meta("ns", "web"));
    graph.observe(&kind("Pod"), None, &owned_by(meta("ns", "web-1"), "Set", "web", true));
    let tasks = graph.observe(&kind("Pod"), None, &owned_by(meta("ns", "web-1"), "Set", "web", false));
    assert_eq!(said(&tasks), ["delete Set/ns/web"]);
    let tasks = graph.observe(&kind("Pod"), None, &meta("ns", "web-1"));
    assert!(tasks.is_empty(), "{tasks:?}");
    assert!(!graph.has_dependents("u-web"));
}

#[test]
fn orphaning_begins_once() {
    let mut graph = Graph::default();
    let waiting = deleting(meta("ns", "web"), ORPHAN);
    let tasks = graph.observe(&kind("Set"), Some(&meta("ns", "web")), &waiting);
    assert_eq!(said(&tasks), ["orphan Set/ns/web"]);
    assert!(graph.observe(&kind("Set"), Some(&waiting), &waiting).is_empty());
}

#[test]
fn dependents_with_different_references_to_one_uid_are_distinguished() {
    let mut graph = Graph::default();
    graph.observe(&kind("Pod"), None, &owned_by(meta("ns", "a"), "Set", "web", true));
    graph.observe(&kind("Pod"), None, &owned_by(meta("ns", "b"), "Zet", "web", true));
    let first = graph.view("u-web").unwrap().identity;
    let tasks = graph.observe_absence(&first);
    assert_eq!(said(&tasks), ["delete Pod/ns/a", "later Zet/ns/web"]);
    assert_eq!(&*graph.view("u-web").unwrap().identity.kind, "Zet");
}

#[test]
fn dependents_are_listed_in_batches_and_each_once() {
    let mut graph = Graph::default();
    for number in 0..5 {
        let pod = owned_by(meta("ns", &format!("web-{number}")), "Set", "web", true);
        graph.observe(&kind("Pod"), None, &pod);
    }
    let (mut told, mut after) = (Vec::new(), None);
    while let Some(last) = graph.dependents_after("u-web", after.as_deref(), 2).last() {
        told.extend(graph.dependents_after("u-web", after.as_deref(), 2).iter().map(|one| one.name.to_string()));
        after = Some(last.uid.clone());
    }
    assert_eq!(told, ["web-0", "web-1", "web-2", "web-3", "web-4"]);
}

#[test]
fn siblings_share_what_they_say_of_their_owner() {
    let mut graph = Graph::default();
    graph.observe(&kind("Set"), None, &meta("ns", "web"));
    for name in ["a", "b"] {
        graph.observe(&kind("Pod"), None, &owned_by(meta("ns", name), "Set", "web", true));
    }
    let (a, b) = (&graph.nodes["u-a"], &graph.nodes["u-b"]);
    assert!(Arc::ptr_eq(&a.owners[0].named, &b.owners[0].named));
    assert!(
        Arc::ptr_eq(&a.identity.kind, &b.identity.kind) && Arc::ptr_eq(&a.identity.namespace, &b.identity.namespace)
    );
}

#[test]
fn a_dependent_of_an_owner_that_is_gone_can_change_and_go() {
    let mut graph = Graph::default();
    let pod = owned_by(meta("ns", "web-1"), "Set", "web", true);
    graph.observe(&kind("Set"), None, &meta("ns", "web"));
    graph.observe(&kind("Pod"), None, &pod);
    graph.observe_deletion(&kind("Set"), &meta("ns", "web"));
    let going = deleting(pod.clone(), "example.com/last");
    assert!(graph.observe(&kind("Pod"), Some(&pod), &going).is_empty());
    assert!(graph.view("u-web-1").unwrap().being_deleted);
    assert!(graph.observe_deletion(&kind("Pod"), &going).is_empty());
    assert_eq!(graph.view("u-web-1"), None);
}
