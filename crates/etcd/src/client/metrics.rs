use std::collections::BTreeMap;

use coracle_store::Error;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use tonic::body::Body;
use tower::ServiceExt;

use super::members::Members;

/// Metric values by their names with labels, in the Prometheus format.
pub type Metrics = BTreeMap<String, f64>;

/// Reads `/metrics` over the connection of the gRPC requests. An etcd supports that only with TLS.
pub(super) async fn read(members: Members) -> Result<Metrics, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::Unavailable(format!("/metrics: {error}"));
    let request = Request::get("/metrics").body(Body::empty()).map_err(|error| failed(&error))?;
    let response = members.oneshot(request).await.map_err(|error| failed(&error))?;
    if response.status() != StatusCode::OK {
        return Err(failed(&response.status()));
    }
    let body = response.into_body().collect().await.map_err(|error| failed(&error))?.to_bytes();
    Ok(parse(&String::from_utf8_lossy(&body)))
}

fn parse(text: &str) -> Metrics {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let number = |line: &str| {
        let (name, value) = line.rsplit_once(' ')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    lines.filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_names_and_labels() {
        let metrics = parse("# HELP a A.\n# TYPE a gauge\na 1\nb{le=\"0.1\"} 2.5\nc NaN?\n\n");
        assert_eq!(metrics, Metrics::from([("a".to_owned(), 1.0), ("b{le=\"0.1\"}".to_owned(), 2.5)]));
    }
}
