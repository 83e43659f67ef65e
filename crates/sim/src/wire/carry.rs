use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::{Body, BoxError, PathService, Requester, RequesterKind, Transport, boxed};
use http::{HeaderValue, Request, Response};
use http_body::Body as _;
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tokio::time::sleep;

use super::asked::Asked;
use super::effect::Leg;
use super::in_flight::InFlight;
use super::line::{Line, lives};
use super::noted;
use super::protobuf;
use super::refusal::refused;
use super::rule::RuleId;
use super::rules::{Loss, Passage};
use super::state::WireState;
use super::strike::Moment;
use super::watch;

/// Carries a request to the API server, and its answer back.
pub(super) async fn carry(
    state: Arc<WireState>,
    requester: Requester,
    transport: Transport,
    mut request: Request<Body>,
) -> Result<Response<Body>, BoxError> {
    // The paths that control a server stay reachable.
    if request.extensions().get::<PathService>().is_some() {
        return transport.send(request).await;
    }
    lives(&requester.instance).await;
    let mut asked = Asked::of(&requester, &request);
    if asked.verb == "create" && state.rules().is_counting() && has_short_body(&requester, &request) {
        request = name_of_created(&mut asked, request).await?;
    }
    let asked = Arc::new(asked);
    let (Passage { there, back, loss, refusal, as_of }, struck) = state.send(&asked);
    let strikes = Arc::new(Strikes::of(&state, struck, &asked, &request));
    strikes.report(Moment::Sent);
    match loss {
        Some(Loss::NoRoute) => return Err("no route to host".into()),
        Some(Loss::Message(Leg::Request)) => {
            wait(there).await;
            lives(&requester.instance).await;
            return Err("the connection was reset before the request was sent".into());
        }
        Some(Loss::Message(Leg::Answer)) | None => {}
    }
    if let Some(as_of) = as_of {
        request.extensions_mut().insert(as_of);
    }
    let landed = Arc::clone(&strikes);
    let sent = async move {
        wait(there).await;
        let answer = match refusal {
            Some(code) => refused(code),
            None => transport.send(request).await,
        };
        landed.report(Moment::Landed);
        answer
    };
    let answer = InFlight::new(sent, Arc::clone(&state)).await;
    wait(back).await;
    lives(&requester.instance).await;
    strikes.report(Moment::Answered);
    if loss.is_some() {
        return Err("the connection was reset before the answer came".into());
    }
    let answer = answer?;
    if asked.is_watch() && answer.status().is_success() {
        return Ok(watch::over(&Line::open(state, asked), answer));
    }
    Ok(noted::answer(&state, &asked, answer))
}

async fn wait(duration: Duration) {
    if !duration.is_zero() {
        sleep(duration).await;
    }
}

/// The longest body of another process whose name is read, in bytes: what an API server accepts for an object.
const MOST_BODY_BYTES: u64 = 3 << 20;

/// Whether the body may be read before the API server limits it.
fn has_short_body(requester: &Requester, request: &Request<Body>) -> bool {
    let longest = request.body().size_hint().upper();
    requester.kind != RequesterKind::Connections || longest.is_some_and(|longest| longest <= MOST_BODY_BYTES)
}

/// Reads the name from the body of a create.
async fn name_of_created(asked: &mut Asked, request: Request<Body>) -> Result<Request<Body>, BoxError> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    asked.created = match serde_json::from_slice::<Value>(&body) {
        Ok(object) => {
            let metadata = |field: &str| object["metadata"][field].as_str().filter(|name| !name.is_empty());
            metadata("name").or_else(|| metadata("generateName")).unwrap_or_default().to_owned()
        }
        Err(_) => protobuf::name(&body).unwrap_or_default().to_owned(),
    };
    Ok(Request::from_parts(head, boxed(Full::new(body))))
}

/// The rules with turns that strike a request.
struct Strikes {
    state: Arc<WireState>,
    rules: Vec<RuleId>,
    asked: Arc<Asked>,
    audit_id: Option<HeaderValue>,
}

impl Strikes {
    fn of(state: &Arc<WireState>, rules: Vec<RuleId>, asked: &Arc<Asked>, request: &Request<Body>) -> Self {
        let audit_id = request.headers().get("audit-id").filter(|_| !rules.is_empty()).cloned();
        Self { state: Arc::clone(state), rules, asked: Arc::clone(asked), audit_id }
    }

    fn report(&self, moment: Moment) {
        let audit_id = self.audit_id.as_ref().and_then(|id| id.to_str().ok());
        self.state.report(&self.rules, moment, &self.asked, audit_id);
    }
}
