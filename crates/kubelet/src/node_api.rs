use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use coracle_ambient::Timestamp;
use coracle_meta::{ObjectKey, parse_time};
use futures_util::stream::{self, StreamExt};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use tower::Service;

use crate::lifecycle::PodStage;
use crate::machine::{Line, Machine};

/// The body of an answer of a node's API.
pub type NodeApiBody = UnsyncBoxBody<Bytes, Infallible>;

/// The API of one simulated node as a tower service: the logs of its containers.
///
/// In Kubernetes: the server of the kubelet, `pkg/kubelet/server`.
#[derive(Clone, Debug)]
pub struct NodeApi {
    machine: Arc<Machine>,
}

/// Which lines are asked for. In Kubernetes: `PodLogOptions`.
#[derive(Clone, Debug, Default, PartialEq)]
struct LogQuery {
    follow: bool,
    previous: bool,
    timestamps: bool,
    tail: Option<usize>,
    limit: Option<usize>,
    since_seconds: Option<i64>,
    since: Option<Timestamp>,
}

impl LogQuery {
    fn parse(query: &str) -> Result<Self, String> {
        let mut parsed = Self::default();
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            let number =
                || value.parse::<i64>().ok().filter(|n| *n >= 0).ok_or(format!("{name} is not a number: {value:?}"));
            match name {
                "follow" => parsed.follow = value == "true",
                "previous" => parsed.previous = value == "true",
                "timestamps" => parsed.timestamps = value == "true",
                "tailLines" => parsed.tail = usize::try_from(number()?).ok(),
                "limitBytes" => parsed.limit = usize::try_from(number()?).ok(),
                "sinceSeconds" => parsed.since_seconds = Some(number()?),
                "sinceTime" => parsed.since = parse_time(&value.replace("%3A", ":")),
                _ => {}
            }
        }
        Ok(parsed)
    }

    fn print(&self, line: &Line) -> String {
        if self.timestamps { format!("{:.9} {}\n", line.at, line.text) } else { format!("{}\n", line.text) }
    }
}

impl NodeApi {
    pub(crate) fn new(machine: Arc<Machine>) -> Self {
        Self { machine }
    }

    fn answer(&self, path: &str, query: &str) -> Response<NodeApiBody> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        match parts.as_slice() {
            ["containerLogs", namespace, pod, container] => match LogQuery::parse(query) {
                Ok(query) => self.logs(ObjectKey::new(*namespace, *pod), container, query),
                Err(why) => plain(StatusCode::BAD_REQUEST, why),
            },
            ["healthz"] => plain(StatusCode::OK, "ok".to_owned()),
            _ => plain(StatusCode::NOT_FOUND, "404 page not found\n".to_owned()),
        }
    }

    fn logs(&self, key: ObjectKey, container: &str, query: LogQuery) -> Response<NodeApiBody> {
        let Some(running) = self.machine.pod(&key) else {
            return plain(StatusCode::NOT_FOUND, format!("pod {:?} does not exist", key.name));
        };
        let restarts = running.runtime.restarts;
        if query.previous && restarts == 0 {
            let why = format!("previous terminated container {container:?} in pod {:?} not found", key.name);
            return plain(StatusCode::BAD_REQUEST, why);
        }
        let wanted = if query.previous { restarts - 1 } else { restarts };
        if running.runtime.running_since.is_none() && running.runtime.exit.is_none() {
            let why = format!("container {container:?} in pod {:?} is waiting to start: ContainerCreating", key.name);
            return plain(StatusCode::BAD_REQUEST, why);
        }
        let now = running.log.back().map(|line| line.at);
        let since = query.since_seconds.zip(now).map(|(seconds, now)| now - jiff::SignedDuration::from_secs(seconds));
        let since = since.or(query.since);
        let is_wanted = |line: &&Line| {
            line.container == container && line.restarts == wanted && since.is_none_or(|since| line.at >= since)
        };
        let mut lines: Vec<Line> = running.log.iter().filter(is_wanted).cloned().collect();
        if let Some(tail) = query.tail {
            lines.drain(..lines.len().saturating_sub(tail));
        }
        let mut text: String = lines.iter().map(|line| query.print(line)).collect();
        if let Some(limit) = query.limit {
            text = String::from_utf8_lossy(&text.as_bytes()[..limit.min(text.len())]).into_owned();
        }
        if query.follow && !query.previous && running.runtime.stage != PodStage::Ended {
            let seen = running.dropped + running.log.len();
            let follower = Follower {
                machine: self.machine.clone(),
                key,
                uid: running.uid,
                container: container.to_owned(),
                query,
                seen,
            };
            return follower.stream(text);
        }
        plain(StatusCode::OK, text)
    }
}

/// Goes on with what a container says until it has ended.
struct Follower {
    machine: Arc<Machine>,
    key: ObjectKey,
    uid: String,
    container: String,
    query: LogQuery,
    seen: usize,
}

impl Follower {
    fn stream(self, first: String) -> Response<NodeApiBody> {
        let rest = stream::unfold(self, |mut follower| async move {
            let text = follower.next().await?;
            Some((text, follower))
        });
        let pieces = stream::iter([first]).chain(rest).filter(|text| ready(!text.is_empty()));
        let frames = pieces.map(|text| Ok::<_, Infallible>(Frame::data(Bytes::from(text))));
        let mut response = Response::new(BodyExt::boxed_unsync(StreamBody::new(frames)));
        response.headers_mut().insert(http::header::CONTENT_TYPE, TEXT);
        response
    }

    /// What was said since the last time; none at the end.
    async fn next(&mut self) -> Option<String> {
        let machine = self.machine.clone();
        loop {
            let mut spoke = pin!(machine.spoke.notified());
            spoke.as_mut().enable();
            let running = machine.pod(&self.key).filter(|running| running.uid == self.uid)?;
            let new = self.seen.saturating_sub(running.dropped);
            let lines: VecDeque<&Line> = running.log.iter().skip(new).collect();
            self.seen = running.dropped + running.log.len();
            let of_container = lines.iter().filter(|line| line.container == self.container);
            let text: String = of_container.map(|line| self.query.print(line)).collect();
            if !text.is_empty() {
                return Some(text);
            }
            if running.runtime.stage == PodStage::Ended {
                return None;
            }
            spoke.await;
        }
    }
}

const TEXT: http::HeaderValue = http::HeaderValue::from_static("text/plain");

fn plain(status: StatusCode, text: String) -> Response<NodeApiBody> {
    let mut response = Response::new(BodyExt::boxed_unsync(Full::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(http::header::CONTENT_TYPE, TEXT);
    response
}

impl<B> Service<Request<B>> for NodeApi {
    type Response = Response<NodeApiBody>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        ready(Ok(self.answer(request.uri().path(), request.uri().query().unwrap_or(""))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Delays;
    use crate::lifecycle::{Runtime, Step, next};
    use coracle_api::core_v1::Pod;

    fn runtime(at: &str) -> Runtime {
        match next(&Pod::default(), None, &Delays::zero(), parse_time(at).unwrap()) {
            Step::Become(runtime) => Runtime { running_since: parse_time(at), ..*runtime },
            other => panic!("{other:?}"),
        }
    }

    fn line(second: i64, text: &str) -> Line {
        let at = Timestamp::from_second(1_767_225_600 + second).unwrap();
        Line { at, container: "c".to_owned(), restarts: 0, text: text.to_owned() }
    }

    fn api() -> NodeApi {
        let machine = Arc::new(Machine::new(0));
        let key = ObjectKey::new("default", "web");
        machine.set(&key, "u", runtime("2026-01-01T00:00:00Z"), vec![line(0, "one"), line(5, "two"), line(9, "three")]);
        NodeApi::new(machine)
    }

    async fn text(api: &NodeApi, path: &str, query: &str) -> (u16, String) {
        let answer = api.answer(path, query);
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn lines_are_chosen_by_number_time_and_size() {
        let api = api();
        let logs = "/containerLogs/default/web/c";
        assert_eq!(text(&api, logs, "").await, (200, "one\ntwo\nthree\n".to_owned()));
        assert_eq!(text(&api, logs, "tailLines=1").await.1, "three\n");
        assert_eq!(text(&api, logs, "sinceSeconds=5").await.1, "two\nthree\n");
        assert_eq!(text(&api, logs, "limitBytes=5").await.1, "one\nt");
        assert_eq!(text(&api, logs, "tailLines=1&timestamps=true").await.1, "2026-01-01T00:00:09.000000000Z three\n");
        assert_eq!(text(&api, logs, "tailLines=-1").await.0, 400);
        assert_eq!(text(&api, logs, "previous=true").await.0, 400);
        assert_eq!(text(&api, "/containerLogs/default/none/c", "").await.0, 404);
        assert_eq!(text(&api, "/exec/default/web/c", "").await.0, 404);
    }

    #[tokio::test(start_paused = true)]
    async fn a_log_that_is_followed_goes_on_until_the_container_ends() {
        let api = api();
        let machine = api.machine.clone();
        let body = api.answer("/containerLogs/default/web/c", "follow=true&tailLines=1").into_body();
        let read = tokio::spawn(async move { body.collect().await.unwrap().to_bytes() });
        tokio::task::yield_now().await;
        let key = ObjectKey::new("default", "web");
        machine.set(&key, "u", runtime("2026-01-01T00:00:10Z"), vec![line(10, "four")]);
        tokio::task::yield_now().await;
        let ended = Runtime { stage: PodStage::Ended, ..runtime("2026-01-01T00:00:11Z") };
        machine.set(&key, "u", ended, vec![line(11, "five")]);
        assert_eq!(read.await.unwrap(), "three\nfour\nfive\n");
    }
}
