use coracle_cluster::{PathRequest, boxed};
use coracle_meta::Status;
use http::StatusCode;
use http_body_util::StreamBody;

use super::endpoint::{self, Answer, Endpoint};
use super::parameter;
use crate::ControlledCluster;

pub(super) const EVENTS: Endpoint = Endpoint {
    parameters: &[
        ("from", "The number of the first entry; by default the first since the last reset"),
        ("follow", "true: the answer does not end, and has entries as they are recorded"),
    ],
    answers: "application/jsonl",
    ..Endpoint::new("get", "events", "The event log, one entry a line", events)
};
pub(super) const WHY: Endpoint = Endpoint {
    parameters: &[("about", "An object (pod/default/web-1), the number of an entry ('#412') or a revision (rev=31)")],
    answers: "text/plain",
    ..Endpoint::new("get", "why", "The chain of causes of an object or an entry", why)
};
pub(super) const REPORT: Endpoint = Endpoint {
    answers: "text/html",
    ..Endpoint::new("get", "report", "The page of the run since the last reset", report)
};

fn events(controlled: ControlledCluster, asked: PathRequest) -> Answer {
    Box::pin(async move {
        let number = |text: &str| {
            text.parse::<u64>()
                .map_err(|_| Status::bad_request(format!("from: {text:?} is not the number of an entry")))
        };
        let from = parameter(&asked, "from").map_or(Ok(0), number)?;
        let follows = parameter(&asked, "follow") == Some("true");
        let lines = controlled.generation()?.log.lines(from, follows)?;
        Ok(endpoint::of_body(StatusCode::OK, EVENTS.answers, boxed(StreamBody::new(lines))))
    })
}

fn why(controlled: ControlledCluster, asked: PathRequest) -> Answer {
    Box::pin(async move {
        let about = parameter(&asked, "about");
        let about = about.ok_or_else(|| Status::bad_request("why needs the parameter `about`"))?;
        match controlled.generation()?.log.why(about)? {
            Ok(chain) => Ok(endpoint::text(StatusCode::OK, WHY.answers, chain)),
            Err(not_in_log) => Err(Status::failure(404, "NotFound", not_in_log.to_string())),
        }
    })
}

fn report(controlled: ControlledCluster, _: PathRequest) -> Answer {
    Box::pin(async move { Ok(endpoint::text(StatusCode::OK, REPORT.answers, controlled.generation()?.log.report()?)) })
}
