use std::path::Path;
use std::sync::Arc;

use coracle_scenario::{BuiltIn, OpenScenario, Outcome, Workload, parse_change};
use serde::Deserialize;

use crate::answer::LabAnswer;
use crate::cluster_spec::ClusterSpec;
use crate::clusters::Clusters;
use crate::error::{LabError, of_outcome};
use crate::lab_cluster::Steps;
use crate::message::Message;

/// The name of a step in messages.
const FILE: &str = "step.yaml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Begun {
    /// Whether the clock advances until the last step was taken. Otherwise the steps continue as the clock advances.
    #[serde(default)]
    wait: bool,
}

/// Begins the steps of the scenario with which the cluster was opened.
pub(crate) fn begin(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let cluster = clusters.cluster(&message.cluster)?;
    let Begun { wait } = message.fields()?;
    if !matches!(*cluster.steps.lock(), Steps::Waiting) {
        return Err(LabError::new("the steps of this cluster have begun already"));
    }
    *cluster.steps.lock() = Steps::Running;
    let (spec, opened, steps) =
        (Arc::clone(&cluster.spec), Arc::downgrade(cluster.opened()), Arc::clone(&cluster.steps));
    let taking = async move {
        let Some(opened) = opened.upgrade() else { return };
        let taken = take(&spec, &opened).await;
        *steps.lock() = taken.map_or_else(Steps::Failed, |()| Steps::Taken);
    };
    if wait {
        cluster.settle_now(taking)?;
    } else {
        cluster.spawn(taking);
        cluster.idle()?;
    }
    Ok(cluster.state().into())
}

async fn take(spec: &ClusterSpec, opened: &OpenScenario) -> Result<(), Outcome> {
    let workload = Workload::of(spec.scenario.clone(), &spec.path);
    let OpenScenario { cluster, world, faults, memory, .. } = opened;
    workload.begin(cluster, world, faults).continuing(memory).take_all().await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Put {
    /// A step of a scenario, an operation, or a list of operations, as YAML.
    step: String,
}

/// Takes a step in the cluster. The clock advances as far as its operations wait.
pub(crate) fn step(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let cluster = clusters.cluster(&message.cluster)?;
    let Put { step } = message.fields()?;
    let spec = &cluster.spec;
    let (path, newest) = (Path::new(FILE), cluster.recorder().last());
    let change = parse_change(path, &step, newest, &spec.scenario, &BuiltIn::default())?;
    let workload = Workload::of(spec.scenario.clone(), path).only(change.step);
    let OpenScenario { cluster: own, world, faults, memory, .. } = &**cluster.opened();
    let mut running = workload.begin(own, world, faults).continuing(memory);
    cluster.settle_now(running.take_all())?.map_err(|outcome| of_outcome(outcome, FILE))?;
    Ok(cluster.state().into())
}
