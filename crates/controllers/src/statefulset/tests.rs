//! A StatefulSet in a world of its own: pods are made, become ready and go as a plan has it.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_api::apps_v1::StatefulSet;
use coracle_api::core_v1::{PersistentVolumeClaim, Pod, PodCondition};
use coracle_meta::{IntOrString, ObjectKey, Resource, parse_time};
use coracle_release::Release;
use proptest::prelude::*;
use serde_json::json;

use super::decide::{ObservedStatefulSet, Plan, StatefulSetStep, plan, status};
use super::history::{Revision, Revisions};
use super::members::revision_of;

struct World {
    set: StatefulSet,
    pods: BTreeMap<String, Pod>,
    claims: BTreeMap<String, PersistentVolumeClaim>,
    current: Revision,
    made: u32,
    release: Release,
}

fn set(replicas: i32, policy: &str) -> StatefulSet {
    serde_json::from_value(json!({
        "metadata": {"name": "db", "namespace": "default", "uid": "u-db", "generation": 1},
        "spec": {"replicas": replicas, "podManagementPolicy": policy, "serviceName": "db",
            "selector": {"matchLabels": {"app": "db"}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"hostname": "1"}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}}]}
    }))
    .unwrap()
}

impl World {
    fn new(set: StatefulSet) -> Self {
        Self::in_release("1.37", set)
    }

    fn in_release(version: &str, set: StatefulSet) -> Self {
        let current = revision(&set);
        let release = Release::named(version).unwrap();
        Self { set, pods: BTreeMap::new(), claims: BTreeMap::new(), current, made: 0, release }
    }

    fn step(&mut self) -> Plan {
        let now = parse_time("2026-01-01T00:10:00Z").unwrap();
        let claims = self.claims.clone();
        let claim = move |key: &ObjectKey| claims.get(&key.name).cloned().map(Arc::new);
        let revisions = Revisions { current: self.current.clone(), update: revision(&self.set), collision_count: 0 };
        let pods = self.pods.values().cloned().map(Arc::new).collect();
        let observed = ObservedStatefulSet { set: &self.set, pods, claim: &claim, revisions, release: &self.release };
        let plan = plan(&observed, now).unwrap();
        let status = status(&observed, &plan, now);
        if status.current_revision == status.update_revision {
            self.current = revision(&self.set);
        }
        self.set.status = status;
        for step in plan.phases.iter().flatten() {
            self.carry_out(step);
        }
        plan
    }

    fn carry_out(&mut self, step: &StatefulSetStep) {
        match step {
            StatefulSetStep::Create { pod, claims } => {
                self.claims.extend(claims.iter().map(|claim| (claim.name().to_owned(), claim.clone())));
                self.made += 1;
                let mut pod = Pod::clone(pod);
                pod.metadata.uid = Some(format!("u-{}", self.made));
                pod.status.phase = "Pending".to_owned();
                assert!(self.pods.insert(pod.name().to_owned(), pod).is_none(), "a name runs once");
            }
            StatefulSetStep::Claim { claims, .. } => {
                self.claims.extend(claims.iter().map(|claim| (claim.name().to_owned(), claim.clone())));
            }
            StatefulSetStep::Own { claims } | StatefulSetStep::Repair { claims, .. } => {
                for (claim, owners) in claims {
                    self.claims.get_mut(claim.name()).unwrap().metadata.owner_references.clone_from(owners);
                }
            }
            StatefulSetStep::Delete(pod) => {
                let pod = self.pods.get_mut(pod.name()).unwrap();
                pod.metadata.deletion_timestamp = Some("2026-01-01T00:10:00Z".to_owned());
            }
        }
    }

    /// What nodes do: a pod becomes ready, and one that is being deleted goes.
    fn run(&mut self, name: &str) {
        let Some(pod) = self.pods.get_mut(name) else { return };
        if pod.metadata.is_terminating() {
            self.pods.remove(name);
            return;
        }
        pod.status.phase = "Running".to_owned();
        pod.status.conditions = vec![PodCondition {
            type_: "Ready".to_owned(),
            status: "True".to_owned(),
            last_transition_time: Some("2026-01-01T00:00:00Z".to_owned()),
            ..PodCondition::default()
        }];
    }

    fn names(&self) -> Vec<&str> {
        self.pods.keys().map(String::as_str).collect()
    }

    fn settle(&mut self) {
        for _ in 0..200 {
            self.step();
            for name in self.pods.keys().cloned().collect::<Vec<_>>() {
                self.run(&name);
            }
        }
    }
}

fn revision(set: &StatefulSet) -> Revision {
    Revision { name: format!("db-{}", set.spec.template.spec.hostname), template: set.spec.template.clone() }
}

#[test]
fn in_order_the_next_pod_waits_for_the_one_before() {
    let mut world = World::new(set(3, "OrderedReady"));
    world.step();
    assert_eq!(world.names(), ["db-0"]);
    assert_eq!(world.step().waits_for.as_deref(), Some("db-0"));
    world.run("db-0");
    world.step();
    assert_eq!(world.names(), ["db-0", "db-1"]);
    assert_eq!(world.claims.keys().collect::<Vec<_>>(), ["data-db-0", "data-db-1"]);
}

#[test]
fn in_parallel_all_are_made_at_once_and_go_at_once() {
    let mut world = World::new(set(3, "Parallel"));
    world.step();
    assert_eq!(world.names(), ["db-0", "db-1", "db-2"]);
    world.set.spec.replicas = Some(1);
    world.step();
    assert_eq!(world.pods.values().filter(|pod| pod.metadata.is_terminating()).count(), 2);
}

#[test]
fn a_set_gets_smaller_from_the_top_one_at_a_time_and_only_while_those_that_stay_are_well() {
    let mut world = World::new(set(4, "OrderedReady"));
    world.settle();
    world.set.spec.replicas = Some(1);
    world.pods.get_mut("db-0").unwrap().status.conditions.clear();
    assert_eq!(world.step().waits_for.as_deref(), Some("db-0"));
    world.run("db-0");
    world.step();
    assert!(world.pods["db-3"].is_terminating() && !world.pods["db-2"].is_terminating());
    world.settle();
    assert_eq!(world.names(), ["db-0"]);
    assert_eq!(world.claims.len(), 4, "claims are kept");
}

#[test]
fn an_update_goes_from_the_top_down_to_the_partition_and_waits_for_a_pod_that_is_stuck() {
    let mut world = World::new(set(3, "OrderedReady"));
    world.settle();
    world.set.spec.update_strategy.rolling_update.as_mut().unwrap().partition = Some(1);
    world.set.spec.template.spec.hostname = "2".to_owned();
    world.step();
    assert!(world.pods["db-2"].is_terminating());
    assert_eq!((world.set.status.current_replicas, world.set.status.updated_replicas), (2, 0));
    world.run("db-2");
    world.step();
    // The new one never gets ready, and a better template does not free it.
    world.set.spec.template.spec.hostname = "3".to_owned();
    assert_eq!(world.step().waits_for.as_deref(), Some("db-2"));
    world.run("db-2");
    world.settle();
    let revisions: Vec<_> = world.pods.values().map(revision_of).collect();
    assert_eq!(revisions, ["db-1", "db-3", "db-3"]);
    assert_eq!((world.set.status.current_revision.as_str(), world.set.status.updated_replicas), ("db-1", 2));
}

#[test]
fn an_update_makes_as_many_unavailable_at_once_as_the_set_allows() {
    let mut world = World::new(set(5, "OrderedReady"));
    world.settle();
    let going = |world: &World| -> Vec<String> {
        world.pods.values().filter(|pod| pod.is_terminating()).map(|pod| pod.name().to_owned()).collect()
    };
    let rolling = world.set.spec.update_strategy.rolling_update.as_mut().unwrap();
    rolling.max_unavailable = Some(IntOrString::String("50%".to_owned()));
    world.set.spec.template.spec.hostname = "2".to_owned();
    world.step();
    assert_eq!(going(&world), ["db-3", "db-4"], "half of five, rounded down");
    assert_eq!(world.set.status.current_replicas, 3);
    world.step();
    assert_eq!(going(&world).len(), 2, "those that go are unavailable already");
    world.run("db-4");
    assert_eq!(world.step().waits_for.as_deref(), Some("db-3"), "new ones are made in order");
    assert_eq!(going(&world), ["db-3"]);
    world.settle();
    assert!(world.pods.values().all(|pod| revision_of(pod) == "db-2"));
}

#[test]
fn a_release_without_the_field_replaces_one_pod_at_a_time() {
    let mut world = World::in_release("1.36", set(5, "Parallel"));
    world.settle();
    let rolling = world.set.spec.update_strategy.rolling_update.as_mut().unwrap();
    rolling.max_unavailable = Some(IntOrString::Int(3));
    world.set.spec.template.spec.hostname = "2".to_owned();
    world.step();
    world.step();
    let going: Vec<_> = world.pods.values().filter(|pod| pod.is_terminating()).map(|pod| pod.name()).collect();
    assert_eq!(going, ["db-4"]);
}

#[test]
fn an_update_of_a_parallel_set_first_replaces_old_pods_that_are_unavailable_anyway() {
    let mut world = World::new(set(4, "Parallel"));
    world.settle();
    world.pods.get_mut("db-0").unwrap().status.conditions.clear();
    world.set.spec.template.spec.hostname = "2".to_owned();
    world.step();
    let going: Vec<_> = world.pods.values().filter(|pod| pod.is_terminating()).map(|pod| pod.name()).collect();
    assert_eq!(going, ["db-0"], "one may be unavailable, and is");
    world.settle();
    assert!(world.pods.values().all(|pod| revision_of(pod) == "db-2"));
}

#[test]
fn an_update_on_delete_is_complete_when_all_pods_are_new_since_the_release_that_says_so() {
    for (version, current) in [("1.36", "db-1"), ("1.37", "db-2")] {
        let mut world = World::in_release(version, set(2, "OrderedReady"));
        world.settle();
        world.set.spec.update_strategy.type_ = "OnDelete".to_owned();
        world.set.spec.update_strategy.rolling_update = None;
        world.set.spec.template.spec.hostname = "2".to_owned();
        world.pods.clear();
        world.settle();
        assert_eq!(world.set.status.current_revision, current, "{version}");
    }
}

#[test]
fn a_finished_pod_is_recreated() {
    let mut world = World::new(set(1, "OrderedReady"));
    world.settle();
    world.pods.get_mut("db-0").unwrap().status.phase = "Succeeded".to_owned();
    world.step();
    assert!(world.pods["db-0"].is_terminating());
    world.settle();
    assert_eq!((world.pods["db-0"].phase(), world.made), ("Running", 2));
}

#[test]
fn a_set_that_is_being_deleted_does_nothing_but_count() {
    let mut world = World::new(set(2, "Parallel"));
    world.settle();
    world.pods.remove("db-0");
    world.set.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
    assert!(world.step().phases.is_empty());
    assert_eq!(world.set.status.replicas, 1);
}

#[test]
fn numbers_without_end_are_made_in_bursts() {
    let mut world = World::new(set(i32::MAX, "Parallel"));
    world.set.spec.ordinals = Some(Box::new(serde_json::from_value(json!({"start": i32::MAX})).unwrap()));
    world.step();
    assert_eq!(world.pods.len(), 500);
}

proptest! {
    #[test]
    fn a_set_always_reaches_its_spec_and_an_ordered_one_never_creates_two_pods_at_once(
        in_order: bool,
        replicas in 0..5_i32,
        unavailable in prop::option::of(1..4_i32),
        events in prop::collection::vec((0..5_u8, 0..6_usize, 0..5_i32), 0..60),
    ) {
        let mut world = World::new(set(replicas, if in_order { "OrderedReady" } else { "Parallel" }));
        let rolling = world.set.spec.update_strategy.rolling_update.as_mut().unwrap();
        rolling.max_unavailable = unavailable.map(IntOrString::Int);
        for (event, pod, number) in events {
            match event {
                0 => world.set.spec.replicas = Some(number),
                1 => world.set.spec.template.spec.hostname = number.to_string(),
                2 => drop(world.pods.remove(&format!("db-{pod}"))),
                _ => world.run(&format!("db-{pod}")),
            }
            let plan = world.step();
            let makes = plan.phases.iter().flatten().filter(|step| matches!(step, StatefulSetStep::Create { .. })).count();
            let removes = plan.phases.iter().flatten().filter(|step| matches!(step, StatefulSetStep::Delete(_))).count();
            prop_assert!(!in_order || makes + removes <= unavailable.map_or(1, |most| most as usize));
        }
        world.settle();
        let want = world.set.spec.replicas.unwrap();
        prop_assert_eq!(world.pods.len() as i32, want);
        prop_assert!(world.pods.values().all(|pod| revision_of(pod) == revision(&world.set).name));
        prop_assert_eq!(&world.set.status.current_revision, &world.set.status.update_revision);
        prop_assert!(world.step().phases.iter().all(Vec::is_empty));
        let counts = [world.set.status.replicas, world.set.status.ready_replicas, world.set.status.current_replicas];
        prop_assert_eq!(counts, [want; 3]);
    }
}
