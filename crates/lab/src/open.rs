use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use crate::answer::Answer;
use crate::cluster_spec::{ClusterSpec, Wanted};
use crate::error::LabError;
use crate::lab::Lab;
use crate::lab_cluster::LabCluster;
use crate::message::Message;

/// No fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// Starts a cluster, in place of an earlier one with its name.
pub(crate) fn open(lab: &mut Lab, message: Message) -> Result<Answer, LabError> {
    let name = message.cluster.clone();
    let spec = ClusterSpec::of(message.fields::<Wanted>()?)?;
    let release = spec.options.release(&spec.scenario);
    // The memory of the earlier one is free before the new one needs its own.
    lab.clusters.remove(&name);
    let cluster = LabCluster::start(Arc::new(spec), None)?;
    let mut answer = cluster.state();
    answer["kubernetes"] = json!(release.version());
    answer["limits"] = json!(cluster.cluster().limits());
    lab.clusters.insert(name, cluster);
    Ok(answer.into())
}

/// Ends a cluster.
pub(crate) fn close(lab: &mut Lab, message: Message) -> Result<Answer, LabError> {
    lab.cluster(&message.cluster)?;
    lab.clusters.remove(&message.cluster);
    message.fields::<Nothing>()?;
    Ok(json!({}).into())
}

/// The time, revision and steps of a cluster.
pub(crate) fn state(lab: &mut Lab, message: Message) -> Result<Answer, LabError> {
    let state = lab.cluster(&message.cluster)?.state();
    message.fields::<Nothing>()?;
    Ok(state.into())
}
