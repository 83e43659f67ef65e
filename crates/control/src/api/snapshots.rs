use coracle_cluster::PathRequest;
use http::StatusCode;

use super::endpoint::{self, Answer, Endpoint};
use super::name;
use crate::ControlledCluster;

pub(super) const LIST: Endpoint = Endpoint::new("get", "snapshots", "The snapshots in memory", list);
pub(super) const PUT: Endpoint = Endpoint::new("put", "snapshots/{name}", "Keep the state under a name", put);
pub(super) const DELETE: Endpoint = Endpoint::new("delete", "snapshots/{name}", "Forget a snapshot", delete);

fn list(controlled: ControlledCluster, _: PathRequest) -> Answer {
    Box::pin(async move { Ok(endpoint::json(StatusCode::OK, &controlled.snapshots().list())) })
}

fn put(controlled: ControlledCluster, asked: PathRequest) -> Answer {
    Box::pin(async move {
        let snapshot = controlled.snapshot(name(&asked)).await?;
        Ok(endpoint::json(StatusCode::OK, &snapshot.to_json(name(&asked))))
    })
}

fn delete(controlled: ControlledCluster, asked: PathRequest) -> Answer {
    Box::pin(async move {
        let snapshot = controlled.snapshots().remove(name(&asked))?;
        Ok(endpoint::json(StatusCode::OK, &snapshot.to_json(name(&asked))))
    })
}
