use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use coracle_control::{ControlledCluster, START};
use coracle_lesson::Exercise;
use coracle_scenario::{ClaimVerdict, Workload};
use coracle_sim::{InvariantAnswer, World};
use serde_json::Value;

use super::tool_answer::Refusal;
use crate::exercise_api::follow;

/// How long the objects of a cluster may take to be seen after a reset. Nothing else happens meanwhile.
const SEEN_WITHIN: Duration = Duration::from_secs(60);

/// The claims about all revisions that did not hold, by their names.
type Broken = BTreeMap<String, ClaimVerdict>;

/// An exercise in a cluster, across resets: a claim that was broken before a snapshot stays broken after a reset to it.
pub(super) struct Episode {
    exercise: Exercise,
    workload: Workload,
    world: World,
    failures: usize,
    /// Broken before the last reset.
    broken: Broken,
    /// Broken before each snapshot.
    snapshots: BTreeMap<String, Broken>,
}

impl Episode {
    /// Breaks the cluster, and keeps that state as the snapshot `start`.
    pub(super) async fn begin(exercise: Exercise, cluster: &ControlledCluster) -> Result<Self, Refusal> {
        let workload = exercise.workload();
        let taking = workload.clone();
        let taken = cluster.with_time(move |generation| async move {
            let world = follow(&taking, &generation.cluster);
            let mut steps = taking.begin(&generation.cluster, &world, &generation.faults);
            steps.take(async || true, async || false).await.map(|()| world)
        });
        let world = taken.await?.map_err(|why| Refusal::new(format!("the exercise cannot be prepared: {why}")))?;
        cluster.snapshot(START).await?;
        let snapshots = BTreeMap::from([(START.to_owned(), Broken::new())]);
        Ok(Self { exercise, workload, world, failures: 0, broken: Broken::new(), snapshots })
    }

    /// Its subject, and what a user reports.
    pub(super) fn exercise(&self) -> &Exercise {
        &self.exercise
    }

    /// Whether its claims hold, and what was found where one does not.
    pub(super) async fn check(&mut self, cluster: &ControlledCluster) -> Result<Value, Refusal> {
        let claims = self.claims(cluster).await?;
        Ok(self.exercise.verdict(&claims, &mut self.failures))
    }

    /// Remembers what is broken, for a snapshot that was made.
    pub(super) async fn keep(&mut self, snapshot: &str, cluster: &ControlledCluster) -> Result<(), Refusal> {
        let throughout: BTreeSet<String> = self.workload.throughout().into_iter().map(|claim| claim.name).collect();
        let claims = self.claims(cluster).await?;
        let broken = claims.into_iter().filter(|claim| !claim.holds && throughout.contains(&claim.name));
        self.snapshots.insert(snapshot.to_owned(), broken.map(|claim| (claim.name.clone(), claim)).collect());
        Ok(())
    }

    /// Follows the cluster again after a reset to a snapshot.
    pub(super) async fn restart(&mut self, snapshot: &str, cluster: &ControlledCluster) -> Result<(), Refusal> {
        let workload = self.workload.clone();
        let steps: Vec<String> = self.exercise.spec.scenario.value.steps.iter().map(|step| step.name.clone()).collect();
        let world = cluster.with(move |generation| async move {
            let world = follow(&workload, &generation.cluster);
            let seen = world.until_seen(SEEN_WITHIN, |state| match state.revision() {
                0 => Err(InvariantAnswer::Unanswerable("no object was seen".to_owned())),
                _ => Ok(()),
            });
            seen.await.map_err(|late| Refusal::new(format!("the claims cannot be decided: {:?}", late.answer)))?;
            steps.iter().for_each(|step| world.reached(step));
            Ok::<_, Refusal>(world)
        });
        self.world = world.await??;
        self.broken = self.snapshots.get(snapshot).cloned().unwrap_or_default();
        Ok(())
    }

    async fn claims(&self, cluster: &ControlledCluster) -> Result<Vec<ClaimVerdict>, Refusal> {
        let (workload, world) = (self.workload.clone(), self.world.clone());
        let claims = cluster.with(|_| async move { workload.claims(&world).await }).await?;
        let or_broken = |claim: ClaimVerdict| self.broken.get(&claim.name).cloned().unwrap_or(claim);
        Ok(claims.into_iter().map(or_broken).collect())
    }
}
