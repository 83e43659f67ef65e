use std::sync::Arc;

use serde_json::json;

use crate::answer::LabAnswer;
use crate::cluster_spec::{ClusterSpec, Wanted};
use crate::clusters::Clusters;
use crate::error::LabError;
use crate::lab_cluster::LabCluster;
use crate::message::{Message, Nothing};

/// Starts a cluster, in place of an earlier one with its name.
pub(crate) fn open(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let name = message.cluster.clone();
    let spec = ClusterSpec::of(message.fields::<Wanted>()?)?;
    let release = spec.options.release(&spec.scenario);
    // The memory of the earlier one is free before the new one needs its own.
    clusters.open.remove(&name);
    let cluster = LabCluster::start(Arc::new(spec), None)?;
    let mut answer = cluster.state();
    answer["kubernetes"] = json!(release.version());
    answer["limits"] = json!(cluster.cluster().limits());
    clusters.open.insert(name, cluster);
    Ok(answer.into())
}

/// Ends a cluster.
pub(crate) fn close(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    clusters.cluster(&message.cluster)?;
    clusters.open.remove(&message.cluster);
    message.fields::<Nothing>()?;
    Ok(json!({}).into())
}

/// The time, revision and steps of a cluster.
pub(crate) fn state(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let state = clusters.cluster(&message.cluster)?.state();
    message.fields::<Nothing>()?;
    Ok(state.into())
}
