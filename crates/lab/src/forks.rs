use std::sync::Arc;

use coracle_scenario::StartState;
use serde::Deserialize;
use serde_json::json;

use crate::answer::LabAnswer;
use crate::clusters::Clusters;
use crate::error::LabError;
use crate::lab_cluster::LabCluster;
use crate::message::Message;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    name: String,
}

/// Keeps the state of the cluster under a name, in place of an earlier one.
pub(crate) fn snapshot(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let cluster = clusters.cluster(&message.cluster)?;
    let Kept { name } = message.fields()?;
    let state = state_of(cluster, None)?;
    cluster.snapshots.insert(name, state);
    let mut answer = cluster.state();
    answer["snapshots"] = json!(cluster.snapshots.keys().collect::<Vec<_>>());
    Ok(answer.into())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct From {
    /// The name of the new cluster.
    name: String,
    /// A snapshot to continue from; absent for the state now.
    snapshot: Option<String>,
    /// A revision to continue from; the nodes are as they are now.
    revision: Option<i64>,
}

/// Starts a second cluster that continues from a state of this one, with a clock and a log of its own.
pub(crate) fn fork(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let cluster = clusters.cluster(&message.cluster)?;
    let origin = message.cluster.clone();
    let From { name, snapshot, revision } = message.fields()?;
    if name == origin {
        return Err(LabError::new(format!("a fork of `{name}` needs another name")));
    }
    let state = match (snapshot, revision) {
        (Some(_), Some(_)) => {
            return Err(LabError::new("a fork begins at a snapshot or at a revision, and not at both"));
        }
        (Some(kept), None) => {
            let missing = || LabError::new(format!("there is no snapshot `{kept}`"));
            cluster.snapshots.get(&kept).cloned().ok_or_else(missing)?
        }
        (None, revision) => state_of(cluster, revision)?,
    };
    let spec = Arc::clone(&cluster.spec);
    let forked = LabCluster::start(spec, Some(state))?;
    let answer = forked.state();
    clusters.open.insert(name, forked);
    Ok(answer.into())
}

/// The state of a cluster now, or with the objects of a revision.
fn state_of(cluster: &LabCluster, revision: Option<i64>) -> Result<StartState, LabError> {
    let own = cluster.cluster();
    let mut kept = own.keep_store()?;
    if let Some(revision) = revision {
        kept = kept.at(revision)?;
    }
    // The store first, then the nodes: a node's state is then never older than the API's view of it.
    Ok(StartState { store: kept.after(0), nodes: own.kubelet().save(), at: cluster.now() })
}
