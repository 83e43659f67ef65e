//! Whole rollouts, step by step, with sets that do at once what they are asked for.

use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::apps_v1::{Deployment, ReplicaSet};
use coracle_meta::parse_time;
use proptest::prelude::*;

use super::decide::{ObservedDeployment, SetWrite, plan};
use super::revision::{REVISION, size};

/// A Deployment with its sets, without an API server between.
struct World {
    deployment: Deployment,
    sets: Vec<ReplicaSet>,
    made: usize,
    events: Vec<String>,
    /// Whether pods of a set with this hostname in its template become available.
    broken: &'static str,
}

fn now() -> Timestamp {
    parse_time("2026-01-01T01:00:00Z").unwrap()
}

fn deployment(replicas: i32, strategy: serde_json::Value) -> Deployment {
    serde_json::from_value(serde_json::json!({
        "metadata": {"name": "web", "namespace": "default", "uid": "u", "generation": 1},
        "spec": {
            "replicas": replicas, "strategy": strategy, "progressDeadlineSeconds": 600, "revisionHistoryLimit": 10,
            "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"hostname": "one"}},
        },
    }))
    .unwrap()
}

fn rolling(surge: i32, unavailable: i32) -> serde_json::Value {
    serde_json::json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}})
}

impl World {
    fn new(deployment: Deployment) -> Self {
        Self { deployment, sets: Vec::new(), made: 0, events: Vec::new(), broken: "" }
    }

    fn change(&mut self, change: impl FnOnce(&mut Deployment)) {
        change(&mut self.deployment);
        *self.deployment.metadata.generation.get_or_insert(0) += 1;
    }

    /// One pass; false if it did nothing.
    fn step(&mut self) -> bool {
        let observed = ObservedDeployment {
            deployment: Arc::new(self.deployment.clone()),
            sets: self.sets.iter().cloned().map(Arc::new).collect(),
            pods: Vec::new(),
        };
        let plan = plan(&observed, now());
        let acted = !plan.sets.is_empty() || plan.status.is_some();
        for write in plan.sets {
            match write {
                SetWrite::Create(mut set) => {
                    self.made += 1;
                    set.metadata.uid = Some(format!("set-{}", self.made));
                    set.metadata.creation_timestamp = Some(format!("2026-01-01T00:00:{:02}Z", self.made));
                    self.events.push(format!("new to {}", size(&set)));
                    self.sets.push(*set);
                }
                SetWrite::Update { set, from } => {
                    if from != size(&set) {
                        self.events.push(format!("{} {from} to {}", set.spec.template.spec.hostname, size(&set)));
                    }
                    let place = self.sets.iter_mut().find(|one| one.metadata.name == set.metadata.name).unwrap();
                    *place = *set;
                }
                SetWrite::Delete(key) => self.sets.retain(|set| set.metadata.name.as_deref() != Some(&key.name)),
            }
        }
        if let Some(deployment) = plan.status {
            self.deployment = *deployment;
        }
        acted
    }

    /// The sets do what they are asked for.
    fn sets_follow(&mut self) {
        for set in &mut self.sets {
            let replicas = size(set);
            set.status.replicas = replicas;
            set.status.terminating_replicas = Some(0);
            set.status.observed_generation = 1;
            if set.spec.template.spec.hostname != self.broken {
                set.status.ready_replicas = replicas;
                set.status.available_replicas = replicas;
            } else {
                set.status.ready_replicas = set.status.ready_replicas.min(replicas);
                set.status.available_replicas = set.status.available_replicas.min(replicas);
            }
        }
    }

    fn settle(&mut self) {
        for _ in 0..500 {
            self.sets_follow();
            if !self.step() {
                return;
            }
        }
        panic!("it does not settle: {:?}", self.events);
    }

    fn progress(&self) -> String {
        let condition = self.deployment.status.conditions.iter().find(|c| c.type_ == "Progressing").unwrap();
        format!("{} {}", condition.status, condition.reason)
    }

    fn sizes(&self) -> Vec<(String, i32)> {
        self.sets.iter().map(|set| (set.spec.template.spec.hostname.clone(), size(set))).collect()
    }
}

#[test]
fn a_first_rollout_makes_one_set_and_reports_itself_complete() {
    let mut world = World::new(deployment(3, rolling(1, 0)));
    world.settle();
    assert_eq!(world.events, ["new to 3"]);
    assert_eq!(world.deployment.metadata.annotations[REVISION], "1");
    assert_eq!(world.progress(), "True NewReplicaSetAvailable");
    let status = &world.deployment.status;
    assert_eq!((status.replicas, status.available_replicas, status.terminating_replicas), (3, 3, Some(0)));
}

#[test]
fn a_rolling_update_alternates_up_and_down_and_rolls_back() {
    let mut world = World::new(deployment(3, rolling(1, 0)));
    world.settle();
    world.events.clear();
    world.change(|deployment| deployment.spec.template.spec.hostname = "two".to_owned());
    world.settle();
    assert_eq!(world.events, ["new to 1", "one 3 to 2", "two 1 to 2", "one 2 to 1", "two 2 to 3", "one 1 to 0"]);
    world.change(|deployment| deployment.spec.template.spec.hostname = "one".to_owned());
    world.settle();
    assert_eq!(world.sizes(), [("one".to_owned(), 3), ("two".to_owned(), 0)]);
    assert_eq!(world.deployment.metadata.annotations[REVISION], "3");
    let history = &world.sets[0].metadata.annotations["deployment.kubernetes.io/revision-history"];
    assert_eq!(history, "1");
}

#[test]
fn recreate_lets_the_old_go_before_it_makes_the_new() {
    let mut world = World::new(deployment(2, serde_json::json!({"type": "Recreate"})));
    world.settle();
    world.events.clear();
    world.change(|deployment| deployment.spec.template.spec.hostname = "two".to_owned());
    world.settle();
    assert_eq!(world.events, ["one 2 to 0", "new to 2"]);
    assert_eq!(world.progress(), "True NewReplicaSetAvailable");
}

#[test]
fn a_paused_deployment_follows_its_number_but_not_its_template() {
    let mut world = World::new(deployment(2, rolling(1, 0)));
    world.settle();
    world.change(|deployment| {
        deployment.spec.paused = true;
        deployment.spec.template.spec.hostname = "two".to_owned();
    });
    world.settle();
    world.change(|deployment| deployment.spec.replicas = Some(4));
    world.settle();
    assert_eq!(world.sizes(), [("one".to_owned(), 4)]);
    assert_eq!(world.progress(), "Unknown DeploymentPaused");
    world.change(|deployment| deployment.spec.paused = false);
    world.settle();
    assert_eq!(world.sizes(), [("one".to_owned(), 0), ("two".to_owned(), 4)]);
}

#[test]
fn a_deployment_created_paused_makes_no_replica_set() {
    let mut paused = deployment(2, rolling(1, 0));
    paused.spec.paused = true;
    let mut world = World::new(paused);
    world.settle();
    assert!(world.sets.is_empty());
    let types: Vec<&str> = world.deployment.status.conditions.iter().map(|c| c.type_.as_str()).collect();
    assert_eq!(types, ["Progressing", "Available"]);
    assert!(!world.deployment.metadata.annotations.contains_key(REVISION));
}

#[test]
fn a_change_of_size_in_the_middle_of_a_rollout_is_shared() {
    let mut world = World::new(deployment(6, rolling(2, 1)));
    world.settle();
    world.broken = "two";
    world.change(|deployment| deployment.spec.template.spec.hostname = "two".to_owned());
    world.settle();
    assert_eq!(world.sizes(), [("one".to_owned(), 5), ("two".to_owned(), 3)]);
    world.change(|deployment| deployment.spec.replicas = Some(9));
    world.settle();
    assert_eq!(world.sizes(), [("one".to_owned(), 7), ("two".to_owned(), 4)]);
    world.change(|deployment| deployment.spec.replicas = Some(3));
    world.settle();
    assert_eq!(world.sizes(), [("one".to_owned(), 2), ("two".to_owned(), 3)]);
}

#[test]
fn old_sets_beyond_the_history_go() {
    let mut world = World::new(deployment(1, rolling(1, 0)));
    world.deployment.spec.revision_history_limit = Some(1);
    for template in ["one", "two", "three"] {
        world.change(|deployment| deployment.spec.template.spec.hostname = template.to_owned());
        world.settle();
    }
    assert_eq!(world.sizes(), [("two".to_owned(), 0), ("three".to_owned(), 1)]);
}

#[test]
fn a_deployment_reports_exceeded_progress_deadline() {
    let mut world = World::new(deployment(1, rolling(1, 0)));
    world.broken = "one";
    world.settle();
    assert_eq!(world.progress(), "True ReplicaSetUpdated");
    for condition in &mut world.deployment.status.conditions {
        condition.last_update_time = Some("2026-01-01T00:49:59Z".to_owned());
    }
    world.settle();
    assert_eq!(world.progress(), "False ProgressDeadlineExceeded");
}

proptest! {
    #[test]
    fn every_rollout_ends_with_the_new_template_alone_and_stays_within_its_bounds(
        replicas in 0..30, surge in 0..6, unavailable in 0..6, later in 0..30,
    ) {
        let mut world = World::new(deployment(replicas, rolling(surge, unavailable)));
        world.settle();
        world.change(|deployment| deployment.spec.template.spec.hostname = "two".to_owned());
        let least = replicas - if surge == 0 && unavailable == 0 { 1 } else { unavailable };
        for _ in 0..500 {
            world.sets_follow();
            let available: i32 = world.sets.iter().map(|set| set.status.available_replicas).sum();
            let sum: i32 = world.sets.iter().map(size).sum();
            prop_assert!(available >= least.min(replicas));
            prop_assert!(sum <= replicas + surge);
            if !world.step() {
                break;
            }
        }
        world.change(|deployment| deployment.spec.replicas = Some(later));
        world.settle();
        prop_assert_eq!(world.sizes(), [("one".to_owned(), 0), ("two".to_owned(), later)]);
    }
}
