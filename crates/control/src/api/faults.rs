use std::path::Path;

use bytes::Bytes;
use coracle_cluster::{Body, PathRequest, PathService, Transport};
use coracle_meta::Status;
use coracle_scenario::{FaultStatus, RunningFaults, parse_faults};
use http::{Method, Response, StatusCode};
use serde_json::json;

use super::endpoint::{self, Answer, Endpoint};
use crate::ControlledCluster;
use crate::access::coracle_dev;
use crate::path_service::in_front_of;

pub(super) const LIST: Endpoint = Endpoint::new("get", "faults", "The faults", answer);
pub(super) const GET: Endpoint = Endpoint::new("get", "faults/{name}", "A fault, by its number or its name", answer);
pub(super) const CREATE: Endpoint =
    Endpoint::new("post", "faults", "Add the faults of a list, in the format of a scenario", answer);
pub(super) const CLEAR: Endpoint = Endpoint::new("delete", "faults", "Remove all faults", answer);
pub(super) const DELETE: Endpoint = Endpoint::new("delete", "faults/{name}", "Remove a fault", answer);

/// Stands for the file in the message about a body.
pub const FAULTS_BODY: &str = "body";

fn answer(controlled: ControlledCluster, asked: PathRequest) -> Answer {
    Box::pin(async move { controlled.with(|running| async move { serve(&running.faults, asked).await }).await? })
}

/// The path of all faults. A path below it is that of one fault, by its number or its name.
pub const FAULTS_PATH: &str = "/coracle/v1/faults";

/// The API of a cluster that is not controlled otherwise, with the paths of its faults in addition.
pub fn faults_in_front_of(front: Transport, faults: &RunningFaults) -> Transport {
    let faults = faults.clone();
    let service = PathService::new(move |asked| {
        let faults = faults.clone();
        async move { serve(&faults, asked).await }
    });
    let service = service.authorized_as(coracle_dev);
    in_front_of(front, |path| below(path).is_some(), service)
}

/// The name in a path of a fault, which is empty in the path of all; `None` for other paths.
fn below(path: &str) -> Option<&str> {
    match path.strip_prefix(FAULTS_PATH)? {
        "" => Some(""),
        rest => rest.strip_prefix('/'),
    }
}

async fn serve(faults: &RunningFaults, asked: PathRequest) -> Result<Response<Body>, Status> {
    let name = below(&asked.path).unwrap_or_default();
    let is_it = |fault: &FaultStatus| name.is_empty() || fault.name == name || fault.id.to_string() == name;
    let (code, found) = match asked.method {
        Method::GET => (StatusCode::OK, faults.list().into_iter().filter(is_it).collect()),
        Method::POST if name.is_empty() => (StatusCode::CREATED, add(faults, &asked.body).await?),
        Method::DELETE => (StatusCode::OK, faults.remove(is_it)),
        _ => {
            let path = FAULTS_PATH;
            let why = format!("GET and DELETE apply to {path} and to the paths of its faults, and POST to {path}");
            return Err(Status::failure(405, "MethodNotAllowed", why));
        }
    };
    if found.is_empty() && !name.is_empty() {
        return Err(Status::failure(404, "NotFound", format!("no fault has the number or the name {name:?}")));
    }
    Ok(endpoint::json(code, &json!({"faults": found})))
}

/// Adds the faults in a body.
async fn add(faults: &RunningFaults, body: &Bytes) -> Result<Vec<FaultStatus>, Status> {
    let malformed = |why: String| Status::failure(400, "BadRequest", why);
    let text = std::str::from_utf8(body).map_err(|error| malformed(format!("{FAULTS_BODY}: {error}")))?;
    let parsed = parse_faults(Path::new(FAULTS_BODY), text).map_err(|problem| malformed(problem.to_string()))?;
    let list = faults
        .check(parsed, Path::new(FAULTS_BODY), text)
        .map_err(|problem| Status::failure(422, "Invalid", problem.to_string()))?;
    let unread =
        |why| Status::failure(500, "InternalError", format!("the objects of the cluster are not read: {why:?}"));
    faults.add(&list).await.map_err(unread)
}
