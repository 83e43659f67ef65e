use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use coracle_ambient::{Clock, TimeShift, Timestamp};
use coracle_meta::{ObjectKey, parse_time};
use futures_util::future::select;
use futures_util::stream::{self, StreamExt};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use tower::Service;

use crate::node::machine::{Line, Machine};
use crate::server::node_routes::{Page, page};
use crate::server::remote_command::{Input, Remote, as_frame, input_of};

/// The body of a response of a node's API.
pub type NodeApiBody = UnsyncBoxBody<Bytes, Infallible>;

/// The API of one simulated node as a tower service: container logs, commands in containers, usage.
///
/// In Kubernetes: the server of the kubelet, `pkg/kubelet/server`.
#[derive(Clone, Debug)]
pub struct NodeApi {
    pub(crate) machine: Arc<Machine>,
    clock: Clock,
}

/// Which lines are requested. In Kubernetes: `PodLogOptions`.
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
    pub(crate) fn new(machine: Arc<Machine>, clock: Clock) -> Self {
        Self { machine, clock }
    }

    /// The response to a request without a body.
    #[cfg(test)]
    fn answer(&self, path: &str, query: &str) -> Response<NodeApiBody> {
        self.respond(path, query, Box::pin(stream::empty()))
    }

    fn respond(&self, path: &str, query: &str, input: Input) -> Response<NodeApiBody> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        match parts.as_slice() {
            ["containerLogs", namespace, pod, container] => match LogQuery::parse(query) {
                Ok(query) => self.logs(ObjectKey::new(*namespace, *pod), container, query),
                Err(why) => plain(StatusCode::BAD_REQUEST, why),
            },
            [verb @ ("exec" | "attach"), namespace, pod, container] => {
                let key = ObjectKey::new(*namespace, *pod);
                self.remote(verb, key, container, query, input).unwrap_or_else(|(status, why)| plain(status, why))
            }
            other => told(page(&self.machine, other, query, self.clock.now())),
        }
    }

    /// A command in a running container, or a client that attaches to it.
    fn remote(
        &self,
        verb: &str,
        key: ObjectKey,
        container: &str,
        query: &str,
        input: Input,
    ) -> Result<Response<NodeApiBody>, (StatusCode, String)> {
        let running = self.machine.pod(&key);
        let running = running.ok_or_else(|| (StatusCode::NOT_FOUND, format!("pod {:?} does not exist", key.name)))?;
        if !running.run_of(container).is_some_and(|(_, runs)| runs) {
            let why = format!("container {container:?} in pod {:?} does not run", key.name);
            return Err((StatusCode::BAD_REQUEST, why));
        }
        let values = |wanted: &str| {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.filter(|(name, _)| *name == wanted).map(|(_, value)| unescaped(value)).collect::<Vec<String>>()
        };
        let is_said = |flag: &str| values(flag).first().is_some_and(|value| !matches!(value.as_str(), "false" | "0"));
        let remote = Remote {
            machine: self.machine.clone(),
            clock: self.clock.clone(),
            key,
            container: container.to_owned(),
            command: values("command"),
            has_input: is_said("input"),
            is_terminal: is_said("tty"),
        };
        let body = match verb {
            "exec" => BodyExt::boxed_unsync(StreamBody::new(remote.executed(input).map(as_frame))),
            _ => BodyExt::boxed_unsync(StreamBody::new(remote.attached().map(as_frame))),
        };
        Ok(Response::new(body))
    }

    fn logs(&self, key: ObjectKey, container: &str, query: LogQuery) -> Response<NodeApiBody> {
        let Some(running) = self.machine.pod(&key) else {
            return plain(StatusCode::NOT_FOUND, format!("pod {:?} does not exist", key.name));
        };
        let Some((restarts, is_running)) = running.run_of(container) else {
            let why = format!("container {container:?} in pod {:?} is waiting to start: ContainerCreating", key.name);
            return plain(StatusCode::BAD_REQUEST, why);
        };
        if query.previous && restarts == 0 {
            let why = format!("previous terminated container {container:?} in pod {:?} not found", key.name);
            return plain(StatusCode::BAD_REQUEST, why);
        }
        let wanted = if query.previous { restarts - 1 } else { restarts };
        let now = self.clock.now();
        let (mut lines, next) = running.said(container, wanted, now);
        let told = lines.len();
        let since =
            query.since_seconds.map(|seconds| now.earlier(jiff::SignedDuration::from_secs(seconds))).or(query.since);
        lines.retain(|line| since.is_none_or(|since| line.at >= since));
        if let Some(tail) = query.tail {
            lines.drain(..lines.len().saturating_sub(tail));
        }
        let mut text: String = lines.iter().map(|line| query.print(line)).collect();
        if let Some(limit) = query.limit {
            text = String::from_utf8_lossy(&text.as_bytes()[..limit.min(text.len())]).into_owned();
        }
        if query.follow && !query.previous && (is_running || next.is_some()) {
            let (machine, clock, uid) = (self.machine.clone(), self.clock.clone(), running.uid);
            let run = (container.to_owned(), wanted);
            let follower = Follower { machine, clock, key, uid, run, query, told };
            return follower.stream(text);
        }
        plain(StatusCode::OK, text)
    }
}

/// Streams the log of a container until its run has ended.
struct Follower {
    machine: Arc<Machine>,
    clock: Clock,
    key: ObjectKey,
    uid: String,
    /// The container, and the restart count of the run.
    run: (String, i32),
    query: LogQuery,
    /// How many lines of the run have been sent or skipped.
    told: usize,
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

    /// The output since the last call; none at the end.
    async fn next(&mut self) -> Option<String> {
        let machine = self.machine.clone();
        let (container, restarts) = self.run.clone();
        loop {
            let mut spoke = pin!(machine.spoke.notified());
            spoke.as_mut().enable();
            let running = machine.pod(&self.key).filter(|running| running.uid == self.uid)?;
            let now = self.clock.now();
            let (lines, next) = running.said(&container, restarts, now);
            let text: String = lines.iter().skip(self.told).map(|line| self.query.print(line)).collect();
            self.told = lines.len();
            if !text.is_empty() {
                return Some(text);
            }
            let goes_on = running.run_of(&container) == Some((restarts, true));
            match next {
                Some(at) => {
                    let left = std::time::Duration::try_from(at.duration_since(now)).unwrap_or_default();
                    select(spoke, pin!(tokio::time::sleep(left))).await;
                }
                None if goes_on => spoke.await,
                None => return None,
            }
        }
    }
}

const TEXT: http::HeaderValue = http::HeaderValue::from_static("text/plain");

fn told(page: Page) -> Response<NodeApiBody> {
    let mut response = plain(page.status, page.text);
    response.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(page.media_type));
    response
}

fn plain(status: StatusCode, text: String) -> Response<NodeApiBody> {
    let mut response = Response::new(BodyExt::boxed_unsync(Full::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(http::header::CONTENT_TYPE, TEXT);
    response
}

/// A query value without its escapes.
fn unescaped(text: &str) -> String {
    percent_encoding::percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

impl<B> Service<Request<B>> for NodeApi
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
{
    type Response = Response<NodeApiBody>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (head, body) = request.into_parts();
        ready(Ok(self.respond(head.uri.path(), head.uri.query().unwrap_or(""), input_of(body))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::machine::Talk;
    use crate::pod::container::{ContainerChange, ContainerRuntime};
    use crate::pod::container_place::ContainerPlace;
    use crate::pod::lifecycle::Runtime;
    use crate::pod::pod_context::PodContext;
    use coracle_ambient::Ambient;
    use coracle_api::core_v1::Pod;
    use coracle_container_programs::{World, run};

    fn pod() -> Pod {
        serde_json::from_value(serde_json::json!({"spec": {"containers": [{"name": "c", "image": "i"}]}})).unwrap()
    }

    fn runtime(at: Timestamp, change: &[ContainerChange]) -> Runtime {
        let (pod, context) = (pod(), PodContext::default());
        let mut runtime = Runtime::seen_at(&pod, at);
        for change in change {
            let wanted = context.wanted(&pod, ContainerPlace::Main(0)).unwrap();
            runtime.main[0] = ContainerRuntime::after(&runtime.main[0], change, &wanted, &pod, at);
        }
        runtime
    }

    fn line(at: Timestamp, text: &str) -> Line {
        Line { at, container: "c".to_owned(), restarts: 0, text: text.to_owned() }
    }

    fn later(at: Timestamp, seconds: i64) -> Timestamp {
        at + jiff::SignedDuration::from_secs(seconds)
    }

    fn key() -> ObjectKey {
        ObjectKey::new("default", "web")
    }

    /// An API nine seconds after its container began to speak, and when that was.
    async fn api() -> (NodeApi, Timestamp) {
        let ambient = Ambient::seeded(1);
        let machine = Arc::new(Machine::new(0));
        let start = ambient.clock.now();
        let lines = vec![line(start, "one"), line(later(start, 5), "two"), line(later(start, 9), "three")];
        machine.set(&key(), "u", runtime(start, &[ContainerChange::Starts]), lines);
        machine.name(&key(), "c", ContainerPlace::Main(0));
        tokio::time::sleep(std::time::Duration::from_secs(9)).await;
        (NodeApi::new(machine, ambient.clock), start)
    }

    async fn text(api: &NodeApi, path: &str, query: &str) -> (u16, String) {
        let answer = api.answer(path, query);
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn lines_are_chosen_by_number_time_and_size() {
        let (api, start) = api().await;
        let logs = "/containerLogs/default/web/c";
        assert_eq!(text(&api, logs, "").await, (200, "one\ntwo\nthree\n".to_owned()));
        assert_eq!(text(&api, logs, "tailLines=1").await.1, "three\n");
        assert_eq!(text(&api, logs, "sinceSeconds=5").await.1, "two\nthree\n");
        assert_eq!(text(&api, logs, "limitBytes=5").await.1, "one\nt");
        let stamped = text(&api, logs, "tailLines=1&timestamps=true").await.1;
        assert_eq!(stamped, format!("{:.9} three\n", later(start, 9)));
        assert_eq!(text(&api, logs, "tailLines=-1").await.0, 400);
        assert_eq!(text(&api, logs, "previous=true").await.0, 400);
        assert_eq!(text(&api, "/containerLogs/default/web/other", "").await.0, 400);
        assert_eq!(text(&api, "/containerLogs/default/none/c", "").await.0, 404);
        assert_eq!(text(&api, "/run/default/web/c", "").await.0, 501);
        assert_eq!(text(&api, "/elsewhere", "").await.0, 404);
    }

    #[tokio::test(start_paused = true)]
    async fn a_followed_log_continues_until_the_container_ends() {
        let (api, start) = api().await;
        let machine = api.machine.clone();
        let body = api.answer("/containerLogs/default/web/c", "follow=true&tailLines=1").into_body();
        let read = tokio::spawn(async move { body.collect().await.unwrap().to_bytes() });
        tokio::task::yield_now().await;
        machine.set(&key(), "u", runtime(start, &[ContainerChange::Starts]), vec![line(later(start, 9), "four")]);
        tokio::task::yield_now().await;
        let ended = runtime(start, &[ContainerChange::Starts, ContainerChange::Exits(0)]);
        machine.set(&key(), "u", ended, vec![line(later(start, 9), "five")]);
        assert_eq!(read.await.unwrap(), "three\nfour\nfive\n");
    }

    #[tokio::test(start_paused = true)]
    async fn output_of_a_program_arrives_at_once_and_not_after_its_stop() {
        let ambient = Ambient::seeded(1);
        let machine = Arc::new(Machine::new(0));
        let began = ambient.clock.now();
        machine.set(&key(), "u", runtime(began, &[ContainerChange::Starts]), Vec::new());
        machine.name(&key(), "c", ContainerPlace::Main(0));
        let script =
            ["sh", "-c", "echo one; sleep 5; echo two; sleep 5; echo three; sleep infinity"].map(str::to_owned);
        let transcript = Arc::new(run(&script, &World::default(), began));
        machine.talk(&key(), "c", Talk { restarts: 0, began, stopped: None, transcript });
        let api = NodeApi::new(machine.clone(), ambient.clock.clone());
        let logs = "/containerLogs/default/web/c";
        assert_eq!(text(&api, logs, "").await.1, "one\n");
        let body = api.answer(logs, "follow=true").into_body();
        let read = tokio::spawn(async move { body.collect().await.unwrap().to_bytes() });
        tokio::time::sleep(std::time::Duration::from_secs(7)).await;
        machine.silence(&key(), "c", ambient.clock.now());
        machine.set(&key(), "u", runtime(began, &[ContainerChange::Starts, ContainerChange::Exits(0)]), Vec::new());
        assert_eq!(read.await.unwrap(), "one\ntwo\n");
    }
}
