use coracle_cluster::PathRequest;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::endpoint::{self, Answer, Endpoint};
use super::read;
use crate::ControlledCluster;
use crate::snapshots::START;

pub(super) const RESET: Endpoint = Endpoint {
    fields: &[("snapshot", "string", "The snapshot; by default `start`, the state in which the server started")],
    ..Endpoint::new("post", "reset", "Start the cluster again with the state of a snapshot", reset)
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wanted {
    snapshot: Option<String>,
}

fn reset(controlled: ControlledCluster, asked: PathRequest) -> Answer {
    Box::pin(async move {
        let Wanted { snapshot } = read(&asked)?;
        let name = snapshot.as_deref().unwrap_or(START);
        let state = controlled.reset(name).await?;
        let answer = json!({"snapshot": name, "revision": state.revision, "now": state.at.to_string()});
        Ok(endpoint::json(StatusCode::OK, &answer))
    })
}
