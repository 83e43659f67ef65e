use std::time::Duration;

use coracle_meta::{Status, StatusDetails, reason};

use crate::server::{Received, Server};

/// How long a write may take at the most, whatever the client asks for.
const WRITE_LIMIT: Duration = Duration::from_secs(34);

/// Subresources whose answers are streams, which end when one of the sides has enough.
const STREAMS: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];

/// Whether the answer is a stream, without a limit of its time. In Kubernetes: `BasicLongRunningRequestCheck`.
pub(crate) fn is_long_running(received: &Received) -> bool {
    let Some(at) = &received.info.resource else { return false };
    received.info.verb == "watch" || received.info.verb == "proxy" || STREAMS.contains(&at.subresource.as_str())
}

/// How long the answer may take: what the client gives (`?timeout=`), as far as the server grants it.
pub(crate) fn limit_of(server: &Server, received: &Received) -> Result<Duration, Status> {
    let limit = limit(received.query.text("timeout"), server.limits.request_seconds)?;
    let writes = matches!(received.info.verb.as_str(), "create" | "update" | "patch" | "delete");
    Ok(if writes { limit.min(WRITE_LIMIT) } else { limit })
}

/// The answer, if it comes in time.
pub(crate) async fn within<T>(limit: Duration, answer: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    match tokio::time::timeout(limit, answer).await {
        Ok(result) => result,
        Err(_) => {
            let message = "Timeout: request did not complete within requested timeout - context deadline exceeded";
            let status = Status::failure(504, reason::TIMEOUT, message);
            Err(status.with_details(StatusDetails::default()))
        }
    }
}

/// In Kubernetes: `parseTimeout` of `WithRequestDeadline`; more than the server's limit is the server's limit.
fn limit(asked: &str, most_seconds: u64) -> Result<Duration, Status> {
    let most = Duration::from_secs(most_seconds);
    if asked.is_empty() {
        return Ok(most);
    }
    match parse_duration(asked) {
        Some(Duration::ZERO) => Ok(most),
        Some(asked) => Ok(asked.min(most)),
        None => Err(Status::bad_request("invalid timeout specified in the request URL")),
    }
}

/// Go's `time.ParseDuration`, without negative durations: `1h2m3.5s`.
fn parse_duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|sign: char| !sign.is_ascii_digit() && sign != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let number: f64 = number.parse().ok()?;
        let (unit, after) = UNITS.iter().find_map(|(name, unit)| Some((*unit, after.strip_prefix(name)?)))?;
        seconds += number * unit;
        rest = after;
    }
    if text.is_empty() { None } else { Duration::try_from_secs_f64(seconds).ok() }
}

/// The longer names first, so that `ms` is not read as `m`.
const UNITS: [(&str, f64); 7] =
    [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn timeouts_are_read_as_go_reads_them_and_cut_at_the_servers_limit() {
        assert_eq!(parse_duration("1m30s"), Some(Duration::from_secs(90)));
        assert_eq!(parse_duration("1.5s"), Some(Duration::from_millis(1500)));
        assert_eq!(parse_duration("20ms"), Some(Duration::from_millis(20)));
        for text in ["", "5", "s", "-1s", "1x", "1e400s"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
        assert_eq!(limit("2h", 60).unwrap(), Duration::from_secs(60));
        assert_eq!(limit("", 60).unwrap(), Duration::from_secs(60));
        assert_eq!(limit("5s", 60).unwrap(), Duration::from_secs(5));
        assert_eq!(limit("soon", 60).unwrap_err().code, 400);
    }

    proptest! {
        #[test]
        fn no_timeout_panics(text in "[0-9.hmsnuµ+-]{0,12}") {
            let _ = limit(&text, 60);
        }
    }
}
