//! A panic is the end of the request that caused it, and of no other.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use coracle_ambient::{Ambient, Panics};
use coracle_apiserver::Limits;
use futures_util::FutureExt;
use http::StatusCode;
use parking_lot::Mutex;

use crate::server::Server;

#[tokio::test(start_paused = true)]
async fn a_request_that_panics_is_answered_and_reported_where_panics_are_survived() {
    let reports: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&reports);
    let panics = Panics::survived(move |report| kept.lock().push(report.to_owned()));
    let server = Server::within(Ambient { panics, ..Ambient::seeded(1) }, Limits::default()).await;
    let answer = server.get("/fault").await;
    assert_eq!(answer.code, StatusCode::INTERNAL_SERVER_ERROR);
    let message = "This request caused apiserver to panic. Look in the logs for details.";
    assert_eq!(answer.json()["message"], message);
    assert_eq!(*reports.lock(), ["the request GET /fault panicked: the authorizer has a fault"]);
    assert_eq!(server.get("/api/v1/namespaces/default").await.code, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_panics_fails_a_test() {
    let server = Server::start().await;
    let panic = AssertUnwindSafe(server.get("/fault")).catch_unwind().await.err().unwrap();
    assert_eq!(Panics::message(&*panic), "the authorizer has a fault");
}
