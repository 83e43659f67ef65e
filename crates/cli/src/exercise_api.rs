//! Serves the claims of the exercise that a cluster was started for: a path of its API, for members of `system:masters`.

use std::sync::Arc;

use coracle_cluster::{Body, Cluster, PathRequest, PathService, Transport};
use coracle_lesson::Exercise;
use coracle_meta::Status;
use coracle_scenario::Workload;
use coracle_sim::World;
use http::{Method, Response, StatusCode};
use parking_lot::Mutex;
use serde_json::Value;

use crate::control_path::only_masters;
use crate::output::note;

/// The path of the exercise.
pub(crate) const PATH: &str = "/coracle/exercise";

/// An exercise in a running cluster.
pub(crate) struct RunningExercise {
    exercise: Exercise,
    workload: Workload,
    world: World,
    /// How often the claims were decided and did not all hold: each time, one more hint is shown.
    failures: Mutex<usize>,
}

impl RunningExercise {
    pub(crate) fn new(exercise: Exercise, workload: Workload, world: World) -> Self {
        Self { exercise, workload, world, failures: Mutex::default() }
    }

    /// The claims, the hints so far, and the explanation if all claims hold.
    async fn verdict(&self) -> Value {
        let claims = self.workload.claims(&self.world).await;
        self.exercise.verdict(&claims, &mut self.failures.lock())
    }
}

/// The objects of a cluster, with the claims of an exercise about all revisions. A task of the cluster follows them.
pub(crate) fn follow(workload: &Workload, cluster: &Cluster) -> World {
    let world = World::new(cluster.store(), workload.namespace(), Arc::new(cluster.plurals()), workload.throughout());
    let followed = world.clone();
    cluster.spawn("exercise", async move {
        if let Err(error) = followed.follow().await {
            note!("coracle: the claims of the exercise are no longer decided: {error}");
        }
    });
    world
}

/// The API of a cluster with the path of its exercise in addition: the API server authorizes the requests.
pub(crate) fn in_front_of(front: Transport, exercise: &Arc<RunningExercise>) -> Transport {
    let exercise = Arc::clone(exercise);
    let service = PathService::new(move |asked| {
        let exercise = Arc::clone(&exercise);
        async move { answer(&exercise, asked).await }
    });
    coracle_control::in_front_of(front, |path| path == PATH, service)
}

async fn answer(exercise: &RunningExercise, asked: PathRequest) -> Result<Response<Body>, Status> {
    only_masters(&asked, "use", PATH)?;
    if asked.method != Method::GET {
        return Err(Status::failure(405, "MethodNotAllowed", format!("only GET applies to {PATH}")));
    }
    Ok(coracle_control::json(StatusCode::OK, &exercise.verdict().await))
}
