use coracle_scenario::Workload;

use crate::answer::LabAnswer;
use crate::clusters::Clusters;
use crate::error::LabError;
use crate::message::{Message, Nothing};

/// The claims of the exercise of the cluster, the hints so far, and the explanation if all claims hold.
pub(crate) fn verdict(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let cluster = clusters.cluster(&message.cluster)?;
    message.fields::<Nothing>()?;
    let spec = std::sync::Arc::clone(&cluster.spec);
    let exercise = spec.exercise.as_ref().ok_or_else(|| LabError::new("the cluster was opened without an exercise"))?;
    let workload: Workload = exercise.workload();
    let claims = cluster.settle_now(workload.claims(&cluster.opened().world))?;
    Ok(exercise.verdict(&claims, &mut cluster.failures).into())
}
