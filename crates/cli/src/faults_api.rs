//! Serves the faults of the running cluster: a path of its API, for members of `system:masters`.

use std::path::Path;

use anyhow::anyhow;
use bytes::Bytes;
use coracle_cluster::{PathRequest, PathService, Transport};
use coracle_meta::Status;
use coracle_scenario::{FaultList, FaultStatus, FaultyServer, RunningFaults, parse_faults};
use http::{Method, Response, StatusCode};
use http_body_util::Full;
use serde_json::json;

use crate::control_path::{self, only_masters, respond};
use crate::exit;

/// The path of all faults. A path below it is that of one fault, by its number or its name.
pub(crate) const PATH: &str = "/coracle/faults";
/// Stands for the file in the message about a body.
pub(crate) const BODY: &str = "body";

/// The API of a cluster with the paths of its faults in addition: the API server authorizes their requests.
pub(crate) fn in_front_of(front: Transport, faults: &RunningFaults) -> Transport {
    let faults = faults.clone();
    let service = PathService::new(move |asked| {
        let faults = faults.clone();
        async move { answer(&faults, asked).await }
    });
    control_path::in_front_of(front, |path| below(path).is_some(), service)
}

/// The faults of the file in `--faults`.
pub(crate) fn read_faults(file: Option<&Path>, server: FaultyServer) -> Result<Option<FaultList>, exit::Usage> {
    let faults = file.map(|file| coracle_scenario::read_faults(file, server)).transpose();
    faults.map_err(|problem| exit::Usage(format!("--faults: {problem}")))
}

/// Causes the faults of the file in `--faults`.
pub(crate) async fn cause(running: &RunningFaults, faults: Option<FaultList>) -> anyhow::Result<()> {
    if let Some(faults) = faults {
        running.add(&faults).await.map_err(|why| anyhow!("--faults: {why:?}"))?;
    }
    Ok(())
}

/// The name in a path of a fault, which is empty in the path of all; `None` for other paths.
fn below(path: &str) -> Option<&str> {
    match path.strip_prefix(PATH)? {
        "" => Some(""),
        rest => rest.strip_prefix('/'),
    }
}

async fn answer(faults: &RunningFaults, asked: PathRequest) -> Result<Response<Full<Bytes>>, Status> {
    only_masters(&asked, "use", PATH)?;
    let name = below(&asked.path).unwrap_or_default();
    let is_it = |fault: &FaultStatus| name.is_empty() || fault.name == name || fault.id.to_string() == name;
    let (code, found) = match asked.method {
        Method::GET => (StatusCode::OK, faults.list().into_iter().filter(is_it).collect()),
        Method::POST if name.is_empty() => (StatusCode::CREATED, add(faults, &asked.body).await?),
        Method::DELETE => (StatusCode::OK, faults.remove(is_it)),
        _ => {
            let why = format!("GET and DELETE apply to {PATH} and to the paths of its faults, and POST to {PATH}");
            return Err(Status::failure(405, "MethodNotAllowed", why));
        }
    };
    if found.is_empty() && !name.is_empty() {
        return Err(Status::failure(404, "NotFound", format!("no fault has the number or the name {name:?}")));
    }
    respond(code, &json!({"faults": found}))
}

/// Adds the faults in a body.
async fn add(faults: &RunningFaults, body: &Bytes) -> Result<Vec<FaultStatus>, Status> {
    let malformed = |why: String| Status::failure(400, "BadRequest", why);
    let text = std::str::from_utf8(body).map_err(|error| malformed(format!("{BODY}: {error}")))?;
    let parsed = parse_faults(Path::new(BODY), text).map_err(|problem| malformed(problem.to_string()))?;
    let list = faults
        .check(parsed, Path::new(BODY), text)
        .map_err(|problem| Status::failure(422, "Invalid", problem.to_string()))?;
    let unread =
        |why| Status::failure(500, "InternalError", format!("the objects of the cluster are not read: {why:?}"));
    faults.add(&list).await.map_err(unread)
}
