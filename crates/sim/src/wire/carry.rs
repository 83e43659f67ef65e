use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::{Body, BoxError, Requester, Transport};
use http::{Request, Response};
use tokio::time::sleep;

use super::asked::Asked;
use super::effect::Leg;
use super::in_flight::InFlight;
use super::line::{Line, lives};
use super::noted;
use super::rules::{Loss, Passage};
use super::state::WireState;
use super::watch;

/// Carries a request to the API server, and its answer back.
pub(super) async fn carry(
    state: Arc<WireState>,
    requester: Requester,
    transport: Transport,
    mut request: Request<Body>,
) -> Result<Response<Body>, BoxError> {
    lives(&requester.instance).await;
    let asked = Arc::new(Asked::of(&requester, &request));
    let Passage { there, back, loss, as_of } = state.rules().passage(&asked);
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
    let sent = async move {
        wait(there).await;
        transport.send(request).await
    };
    let answer = InFlight::new(sent, Arc::clone(&state)).await;
    wait(back).await;
    lives(&requester.instance).await;
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
