use std::time::Duration;

use coracle_journal::EntryId;
use coracle_sim::Settle;
use serde::Deserialize;
use serde_json::json;

use crate::answer::LabAnswer;
use crate::clusters::Clusters;
use crate::error::LabError;
use crate::lab_cluster::MOST_EVENTS;
use crate::message::{Message, duration};

/// How far `next` advances at most, if it is not said.
const NEXT_WITHIN: Duration = Duration::from_secs(24 * 3600);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct By {
    by: String,
    most_events: Option<u64>,
}

/// Advances the clock by a time: all timers up to then fire in their order.
pub(crate) fn advance(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let cluster = clusters.cluster(&message.cluster)?;
    let By { by, most_events } = message.fields()?;
    cluster.advance(duration("by", &by)?, most_events.unwrap_or(MOST_EVENTS))?;
    Ok(cluster.state().into())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Within {
    within: Option<String>,
}

/// Advances the clock to the next entry of the log, and lets everything of that moment happen.
pub(crate) fn next(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let cluster = clusters.cluster(&message.cluster)?;
    let Within { within } = message.fields()?;
    let within = within.map_or(Ok(NEXT_WITHIN), |text| duration("within", &text))?;
    let next = EntryId(cluster.recorder().last().0 + 1);
    let written = async { tokio::time::timeout(within, cluster.recorder().written(next)).await };
    let happened = cluster.settle_now(written)?.is_ok();
    let mut answer = cluster.state();
    answer["happened"] = json!(happened);
    Ok(answer.into())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Rest {
    quiet: Option<String>,
    within: Option<String>,
    most_events: Option<u64>,
}

/// Advances the clock until nothing moves.
pub(crate) fn settle(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let cluster = clusters.cluster(&message.cluster)?;
    let Rest { quiet, within, most_events } = message.fields()?;
    let usual = Settle::default();
    let quiet = quiet.map_or(Ok(usual.quiet), |text| duration("quiet", &text))?;
    let within = within.map_or(Ok(usual.within), |text| duration("within", &text))?;
    let settled = coracle_sim::settle(cluster.cluster(), Settle { quiet, within, ..usual });
    let settled = cluster.run_up_to(most_events.unwrap_or(MOST_EVENTS), settled)?;
    let mut answer = cluster.state();
    answer["settled"] = json!(settled.is_ok());
    if let Err(not_settled) = settled {
        answer["lastChange"] = json!(not_settled.last_change);
        answer["pending"] = json!(not_settled.pending);
    }
    Ok(answer.into())
}
