use std::path::Path;

use coracle_cluster::PathRequest;
use coracle_meta::Status;
use coracle_scenario::Workload;
use http::StatusCode;
use serde_json::json;

use super::endpoint::{self, Answer, Endpoint};
use crate::ControlledCluster;
use crate::followed_world::follow;

pub(super) const CHECK: Endpoint = Endpoint::new(
    "post",
    "check",
    "Decide the checks of a scenario, in YAML or JSON, about the cluster as it is",
    check,
);

/// Stands for the file in a message about the body.
const BODY: &str = "body";

fn check(controlled: ControlledCluster, asked: PathRequest) -> Answer {
    Box::pin(async move {
        let text = std::str::from_utf8(&asked.body).map_err(|error| Status::bad_request(format!("{BODY}: {error}")))?;
        let generation = controlled.generation()?;
        let served = generation.faults.kinds();
        let workload = Workload::parse(Path::new(BODY), text, "", served);
        let workload = workload.map_err(|problem| Status::failure(422, "Invalid", problem.to_string()))?;
        if workload.at_rest().is_empty() {
            return Err(Status::bad_request("the scenario has no check that is decided at the end"));
        }
        let claims = controlled.with(move |generation| async move {
            let (world, _following) = follow(&generation.cluster, workload.namespace());
            workload.claims(&world).await
        });
        let claims = claims.await?;
        let holds = claims.iter().all(|claim| claim.holds);
        Ok(endpoint::json(StatusCode::OK, &json!({"holds": holds, "claims": claims})))
    })
}
