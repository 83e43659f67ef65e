use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::{Body, BoxError, PathService, Requester, RequesterKind, Transport};
use http::{HeaderValue, Request, Response};
use http_body::Body as _;
use tokio::time::sleep;

use super::asked::Asked;
use super::body;
use super::effect::Leg;
use super::in_flight::InFlight;
use super::line::{Line, lives};
use super::noted;
use super::other_writer;
use super::refusal::refused;
use super::rule::RuleId;
use super::rules::{Loss, Passage};
use super::state::WireState;
use super::strike::{Moment, Strike};
use super::watch;

/// Carries a request to the API server, and its answer back.
pub(super) async fn carry(
    state: Arc<WireState>,
    requester: Requester,
    transport: Arc<Transport>,
    request: Request<Body>,
) -> Result<Response<Body>, BoxError> {
    // The paths that control a server stay reachable.
    let controls = request.extensions().get::<PathService>().is_some();
    if controls || (requester.kind == RequesterKind::Connections && state.is_idle() && !may_watch(&request)) {
        return transport.send(request).await;
    }
    lives(&requester.instance).await;
    if state.ignores(&requester) && !may_watch(&request) {
        return undisturbed(state, &requester, &transport, request).await;
    }
    by_rules(state, requester, transport, request).await
}

/// Carries a request as the rules decide.
async fn by_rules(
    state: Arc<WireState>,
    requester: Requester,
    transport: Arc<Transport>,
    request: Request<Body>,
) -> Result<Response<Body>, BoxError> {
    let (asked, mut request) = asked(&state, &requester, request).await?;
    let (Passage { there, back, loss, refusal, as_of, conflicts }, struck) = state.send(&asked);
    let strikes = Arc::new(Strikes::of(&state, struck, &asked, &request));
    strikes.report(Moment::Sent, None);
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
    // The sender may be gone before the request has arrived, and the request before its answer.
    let (_answer_on_its_way, request_on_its_way) = (state.sends(), state.sends());
    let sent = async move {
        let _on_its_way = request_on_its_way;
        wait(there).await;
        let answer = match refusal {
            Some(code) => refused(code),
            None => {
                if conflicts {
                    let path = request.uri().path().to_owned();
                    landed.write_before(&transport, &path).await;
                }
                transport.send(request).await
            }
        };
        landed.report(Moment::Landed, code_of(&answer));
        answer
    };
    let answer = InFlight::new(sent, Arc::clone(&state)).await;
    wait(back).await;
    lives(&requester.instance).await;
    strikes.report(Moment::Answered, code_of(&answer));
    if loss.is_some() {
        return Err("the connection was reset before the answer came".into());
    }
    let answer = answer?;
    if asked.is_watch() && answer.status().is_success() {
        return Ok(watch::over(&Line::open(state, asked), answer));
    }
    Ok(noted::answer(&state, &asked, answer))
}

/// Carries a request that no rule can select.
async fn undisturbed(
    state: Arc<WireState>,
    requester: &Requester,
    transport: &Transport,
    request: Request<Body>,
) -> Result<Response<Body>, BoxError> {
    let (_answer_on_its_way, request_on_its_way) = (state.sends(), state.sends());
    let answer = transport.send(request);
    let sent = async move {
        let _on_its_way = request_on_its_way;
        answer.await
    };
    let answer = InFlight::new(sent, state).await;
    lives(&requester.instance).await;
    answer
}

/// What the rules have to know of a request, and the request itself.
async fn asked(
    state: &WireState,
    requester: &Requester,
    request: Request<Body>,
) -> Result<(Arc<Asked>, Request<Body>), BoxError> {
    let mut request = requester.identify(request).await;
    let mut asked = Asked::of(requester, &request);
    if state.rules().reads_body(&asked) && has_short_body(requester, &request) {
        request = body::read(&mut asked, request).await?;
    }
    Ok((Arc::new(asked), request))
}

/// Whether a request can open a watch, on which a later rule may act.
fn may_watch(request: &Request<Body>) -> bool {
    let uri = request.uri();
    uri.path().contains("/watch/") || uri.query().is_some_and(|query| query.contains("watch"))
}

async fn wait(duration: Duration) {
    if !duration.is_zero() {
        sleep(duration).await;
    }
}

/// The longest body of another process that is read, in bytes: what an API server accepts for an object.
const MOST_BODY_BYTES: u64 = 3 << 20;

/// Whether the body may be read before the API server limits it.
fn has_short_body(requester: &Requester, request: &Request<Body>) -> bool {
    let longest = request.body().size_hint().upper();
    requester.kind != RequesterKind::Connections || longest.is_some_and(|longest| longest <= MOST_BODY_BYTES)
}

fn code_of(answer: &Result<Response<Body>, BoxError>) -> Option<u16> {
    answer.as_ref().ok().map(|answer| answer.status().as_u16())
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

    fn audit_id(&self) -> Option<&str> {
        self.audit_id.as_ref().and_then(|id| id.to_str().ok())
    }

    fn report(&self, moment: Moment, code: Option<u16>) {
        let audit_id = self.audit_id();
        self.state.report(&self.rules, |rule| Strike { audit_id, code, ..Strike::new(rule, moment, &self.asked) });
    }

    /// Another writer changes the object of the request, whose path is given.
    async fn write_before(&self, transport: &Transport, path: &str) {
        let Some(at) = self.asked.at.as_deref() else { return };
        let (audit_id, other) = (self.audit_id(), self.state.next_other_write());
        let arrived =
            |rule| Strike { audit_id, other_write: Some(&other), ..Strike::new(rule, Moment::Arrived, &self.asked) };
        self.state.report(&self.rules, arrived);
        other_writer::write(transport, path, &at.subresource, &other).await;
    }
}
