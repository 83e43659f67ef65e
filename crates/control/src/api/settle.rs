use std::time::Duration;

use coracle_cluster::PathRequest;
use coracle_sim::Settle;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::endpoint::{self, Answer, Endpoint};
use super::{duration, read};
use crate::ControlledCluster;

pub(super) const SETTLE: Endpoint = Endpoint {
    fields: &[
        ("quiet", "string", "How long no object changes; by default 1m in stepped time and 500ms in other time"),
        ("within", "string", "How long to wait at most, in the time of the cluster; by default 1h, or 30s"),
    ],
    ..Endpoint::new("post", "settle", "Wait until nothing moves; a stepped clock advances as far as needed", settle)
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wanted {
    quiet: Option<String>,
    within: Option<String>,
}

/// What a user who waits in real time expects; see [`Settle`] for stepped time.
const IN_REAL_TIME: Settle =
    Settle { quiet: Duration::from_millis(500), horizon: Duration::from_secs(1), within: Duration::from_secs(30) };

fn settle(controlled: ControlledCluster, asked: PathRequest) -> Answer {
    Box::pin(async move {
        let Wanted { quiet, within } = read(&asked)?;
        let defaults = if controlled.time().stepped_clock().is_some() { Settle::default() } else { IN_REAL_TIME };
        let quiet = quiet.map_or(Ok(defaults.quiet), |text| duration("quiet", &text))?;
        let within = within.map_or(Ok(defaults.within), |text| duration("within", &text))?;
        let settled = controlled.settle(Settle { quiet, within, ..defaults }).await?;
        let now = controlled.now().await?.to_string();
        let answer = match settled {
            Ok(settled) => json!({"settled": true, "revision": settled.revision, "now": now}),
            Err(not_settled) => json!({
                "settled": false,
                "now": now,
                "lastChange": not_settled.last_change,
                "pending": not_settled.pending,
            }),
        };
        Ok(endpoint::json(StatusCode::OK, &answer))
    })
}
