use std::path::Path;

use coracle_scenario::{FaultStatus, parse_faults};
use serde::Deserialize;
use serde_json::json;

use crate::answer::LabAnswer;
use crate::clusters::Clusters;
use crate::error::LabError;
use crate::message::{Message, Nothing};

/// The name of the text of faults in messages.
const FILE: &str = "faults.yaml";

/// The faults of the cluster.
pub(crate) fn list(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let faults = clusters.cluster(&message.cluster)?.opened().faults.list();
    message.fields::<Nothing>()?;
    Ok(json!({"faults": faults}).into())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Added {
    /// A fault, or a list of faults, in the format of a scenario.
    faults: String,
}

/// Adds faults to the cluster.
pub(crate) fn add(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let cluster = clusters.cluster(&message.cluster)?;
    let Added { faults: text } = message.fields()?;
    let (faults, path) = (&cluster.opened().faults, Path::new(FILE));
    let list = faults.check(parse_faults(path, &text)?, path, &text)?;
    let unread = |why| LabError::new(format!("the objects of the cluster are not read: {why:?}"));
    let added = cluster.settle_now(faults.add(&list))?.map_err(unread)?;
    let mut answer = cluster.state();
    answer["faults"] = json!(added);
    Ok(answer.into())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Removed {
    /// The number or the name of a fault; absent for all.
    name: Option<String>,
}

/// Ends and removes faults.
pub(crate) fn remove(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let cluster = clusters.cluster(&message.cluster)?;
    let Removed { name } = message.fields()?;
    let is_it =
        |fault: &FaultStatus| name.as_ref().is_none_or(|name| fault.name == *name || fault.id.to_string() == *name);
    let faults = &cluster.opened().faults;
    let removed = cluster.settle_now(async { faults.remove(is_it) })?;
    if let (Some(name), true) = (&name, removed.is_empty()) {
        return Err(LabError::new(format!("no fault has the number or the name `{name}`")));
    }
    let mut answer = cluster.state();
    answer["faults"] = json!(removed);
    Ok(answer.into())
}
