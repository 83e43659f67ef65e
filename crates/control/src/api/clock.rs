use coracle_cluster::PathRequest;
use coracle_meta::{Status, format_duration};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

use super::endpoint::{self, Answer, Endpoint};
use super::{duration, read};
use crate::ControlledCluster;

pub(super) const CLOCK: Endpoint = Endpoint::new("get", "clock", "The time of the cluster", clock);
pub(super) const ADVANCE: Endpoint = Endpoint {
    fields: &[
        ("duration", "string", "How far to advance, as 24h or 1m30s"),
        (
            "until",
            "object",
            "Advance until an object holds: `object` is a part of it, `absent` asks for no such object",
        ),
        ("within", "string", "How far to advance at most with `until`; 1h by default"),
    ],
    ..Endpoint::new("post", "clock/advance", "Advance a stepped clock: all timers fire in their order", advance)
};

/// How far a clock advances at most for a condition.
const WITHIN: Duration = Duration::from_secs(3600);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Advance {
    duration: Option<String>,
    until: Option<Until>,
    within: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Until {
    object: Value,
    #[serde(default)]
    absent: bool,
}

fn clock(controlled: ControlledCluster, _: PathRequest) -> Answer {
    Box::pin(async move {
        let now = controlled.now().await?.to_string();
        Ok(endpoint::json(StatusCode::OK, &json!({"time": controlled.time().to_string(), "now": now})))
    })
}

fn advance(controlled: ControlledCluster, asked: PathRequest) -> Answer {
    Box::pin(async move {
        let wanted: Advance = read(&asked)?;
        let before = controlled.now().await?;
        match wanted {
            Advance { duration: Some(text), until: None, within: None } => {
                controlled.advance(duration("duration", &text)?).await?;
            }
            Advance { duration: None, until: Some(until), within } => {
                let within = within.map_or(Ok(WITHIN), |text| duration("within", &text))?;
                advance_until(&controlled, until, within).await?;
            }
            _ => return Err(Status::bad_request("expected either `duration`, or `until` with or without `within`")),
        }
        let now = controlled.now().await?;
        let advanced = Duration::try_from(now.duration_since(before)).unwrap_or_default();
        let answer = json!({"now": now.to_string(), "advanced": format_duration(advanced)});
        Ok(endpoint::json(StatusCode::OK, &answer))
    })
}

/// Advances the clock until an object holds. Each revision is looked at.
async fn advance_until(controlled: &ControlledCluster, until: Until, within: Duration) -> Result<(), Status> {
    if controlled.time().stepped_clock().is_none() {
        controlled.advance(Duration::ZERO).await?;
    }
    for field in ["apiVersion", "kind"] {
        if !until.object[field].is_string() {
            return Err(Status::bad_request(format!("until.object needs `{field}`")));
        }
    }
    let met = controlled.until(until.object, until.absent, within).await?;
    met.map_err(|answer| {
        let (expected, found) = coracle_scenario::expected_and_found(answer);
        let within = format_duration(within);
        Status::failure(408, "Timeout", format!("not within {within}: expected {expected}; found {found}"))
    })
}
