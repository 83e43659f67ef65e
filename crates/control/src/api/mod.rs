//! The paths of the control endpoint: one file each, and one line in [`ENDPOINTS`].

mod check;
mod clock;
mod endpoint;
mod events;
mod faults;
mod forks;
mod index;
mod reset;
mod settle;
mod snapshots;

use coracle_cluster::{Body, PathRequest, PathService, Transport};
use coracle_meta::Status;
use http::Response;
use serde::de::DeserializeOwned;

use endpoint::Endpoint;
pub use endpoint::json;
pub use faults::{FAULTS_BODY, FAULTS_PATH, faults_in_front_of};

use crate::ControlledCluster;
use crate::access::coracle_dev;
use crate::paths::{PREFIX, parts};

/// All endpoints, in the order of the OpenAPI document.
const ENDPOINTS: [&Endpoint; 21] = [
    &index::INDEX,
    &index::OPENAPI,
    &clock::CLOCK,
    &clock::ADVANCE,
    &settle::SETTLE,
    &snapshots::LIST,
    &snapshots::PUT,
    &snapshots::DELETE,
    &reset::RESET,
    &forks::LIST,
    &forks::CREATE,
    &forks::DELETE,
    &faults::LIST,
    &faults::GET,
    &faults::CREATE,
    &faults::CLEAR,
    &faults::DELETE,
    &events::EVENTS,
    &events::WHY,
    &events::REPORT,
    &check::CHECK,
];

/// Whether the control endpoint serves a path.
fn is_path(path: &str) -> bool {
    let rest = path.strip_prefix(PREFIX);
    // The rest are paths of the program.
    rest.is_some_and(|rest| rest.is_empty() || ENDPOINTS.iter().any(|endpoint| endpoint.begins(parts(rest).0)))
}

/// The API of a cluster, with the paths of the control endpoint, across resets.
pub fn transport(controlled: &ControlledCluster) -> Transport {
    let answering = controlled.clone();
    let service = PathService::new(move |asked| {
        let controlled = answering.clone();
        // What is asked is done to its end, in the machine's time, even if its cluster ends meanwhile.
        let network = controlled.network().clone();
        async move {
            let answer = network.spawn(async move { answer(&controlled, asked).await });
            answer.await.unwrap_or_else(|error| Err(Status::internal(error)))
        }
    });
    controlled.transport(is_path, service.authorized_as(coracle_dev))
}

/// Answers a request that is authorized.
async fn answer(controlled: &ControlledCluster, asked: PathRequest) -> Result<Response<Body>, Status> {
    let path = asked.path.strip_prefix(PREFIX).unwrap_or_default().trim_matches('/').to_owned();
    let matching: Vec<_> = ENDPOINTS.iter().filter(|endpoint| endpoint.matches(&path)).collect();
    match matching.iter().find(|endpoint| endpoint.method() == asked.method) {
        Some(endpoint) => endpoint.answer(controlled.clone(), asked).await,
        None if matching.is_empty() => {
            Err(Status::failure(404, "NotFound", format!("the control endpoint has no path {:?}", asked.path)))
        }
        None => {
            let methods: Vec<String> = matching.iter().map(|endpoint| endpoint.method().to_string()).collect();
            let why = format!("only {} applies to {}", methods.join(", "), asked.path);
            Err(Status::failure(405, "MethodNotAllowed", why))
        }
    }
}

/// The body of a request; an empty one is `{}`.
fn read<T: DeserializeOwned>(asked: &PathRequest) -> Result<T, Status> {
    let body: &[u8] = if asked.body.is_empty() { b"{}" } else { &asked.body };
    serde_json::from_slice(body).map_err(|error| Status::bad_request(format!("the body of {}: {error}", asked.path)))
}

/// The last part of the path of a request: a name.
fn name(asked: &PathRequest) -> &str {
    asked.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

/// A parameter of a request.
fn parameter<'a>(asked: &'a PathRequest, name: &str) -> Option<&'a str> {
    asked.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// A duration in Go's format, which a body names as `field`.
fn duration(field: &str, text: &str) -> Result<std::time::Duration, Status> {
    let refused =
        || Status::bad_request(format!("{field}: {text:?} is no duration: expected one such as 90s, 1h30m or 24h"));
    coracle_meta::parse_duration(text).ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_paths_are_served() {
        for path in
            ["/coracle/v1", "/coracle/v1/", "/coracle/v1/clock", "/coracle/v1/forks/fork-1", "/coracle/v1/faults"]
        {
            assert!(is_path(path), "{path}");
        }
        for path in ["/coracle/v2/clock", "/coracle", "/coracle/v1/exercise", "/api/v1/pods", "/coracle/v1x"] {
            assert!(!is_path(path), "{path}");
        }
    }

    #[test]
    fn no_two_endpoints_have_the_same_method_and_path() {
        let mut known = std::collections::BTreeSet::new();
        for endpoint in ENDPOINTS {
            assert!(known.insert((endpoint.method().to_string(), endpoint.path)), "{}", endpoint.path);
        }
    }

    #[test]
    fn a_duration_is_one_of_go() {
        assert_eq!(duration("duration", "1h30m").unwrap().as_secs(), 5400);
        assert!(duration("duration", "a while").unwrap_err().to_string().contains("a while"));
    }
}
