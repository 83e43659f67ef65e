use coracle_cluster::PathRequest;
use coracle_meta::Status;
use http::StatusCode;
use serde::Deserialize;

use super::endpoint::{self, Answer, Endpoint};
use super::{name, read};
use crate::{ControlledCluster, ForkFrom};

pub(super) const LIST: Endpoint = Endpoint::new("get", "forks", "The forks that run", list);
pub(super) const CREATE: Endpoint = Endpoint {
    fields: &[
        ("snapshot", "string", "The snapshot from which the fork continues"),
        ("revision", "integer", "The revision from which the fork continues; by default the cluster as it is"),
    ],
    ..Endpoint::new("post", "forks", "Start a second cluster with its own address, clock and control endpoint", create)
};
pub(super) const DELETE: Endpoint = Endpoint::new("delete", "forks/{name}", "Stop a fork", delete);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wanted {
    snapshot: Option<String>,
    revision: Option<i64>,
}

fn list(controlled: ControlledCluster, _: PathRequest) -> Answer {
    Box::pin(async move { Ok(endpoint::json(StatusCode::OK, &controlled.forks())) })
}

fn create(controlled: ControlledCluster, asked: PathRequest) -> Answer {
    Box::pin(async move {
        let from = match read(&asked)? {
            Wanted { snapshot: None, revision: None } => ForkFrom::Now,
            Wanted { snapshot: Some(name), revision: None } => ForkFrom::Snapshot(name),
            Wanted { snapshot: None, revision: Some(revision) } if revision > 0 => ForkFrom::Revision(revision),
            Wanted { snapshot: None, revision: Some(revision) } => {
                return Err(Status::bad_request(format!("revision: {revision} is no revision: they begin at 1")));
            }
            _ => return Err(Status::bad_request("expected `snapshot` or `revision`, and not both")),
        };
        Ok(endpoint::json(StatusCode::CREATED, &controlled.fork(from).await?))
    })
}

fn delete(controlled: ControlledCluster, asked: PathRequest) -> Answer {
    Box::pin(async move { Ok(endpoint::json(StatusCode::OK, &controlled.end_fork(name(&asked)).await?)) })
}
