use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::{Body, BoxError, Requester, Transport, boxed};
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tokio::time::sleep;

use super::asked::Asked;
use super::effect::Leg;
use super::in_flight::InFlight;
use super::line::{Line, lives};
use super::noted;
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
    lives(&requester.instance).await;
    let mut asked = Asked::of(&requester, &request);
    if asked.verb == "create" && state.rules().is_counting() {
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

/// Reads the name from the body of a create.
async fn name_of_created(asked: &mut Asked, request: Request<Body>) -> Result<Request<Body>, BoxError> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    // Other formats than JSON have no name here.
    if let Ok(object) = serde_json::from_slice::<Value>(&body) {
        let metadata = |field: &str| object["metadata"][field].as_str().filter(|name| !name.is_empty());
        asked.created = metadata("name").or_else(|| metadata("generateName")).unwrap_or_default().to_owned();
    }
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
