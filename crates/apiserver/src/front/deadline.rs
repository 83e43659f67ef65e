use std::time::Duration;

use coracle_meta::{Status, StatusDetails, reason};

use crate::front::request_info::RequestInfo;
use crate::query::Query;

/// The maximum timeout of a write, whatever the client requests.
const WRITE_LIMIT: Duration = Duration::from_secs(34);

/// Subresources whose responses are streams without a time limit.
const STREAMS: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];

/// Whether the response is a stream without a time limit. In Kubernetes: `BasicLongRunningRequestCheck`.
pub(crate) fn is_long_running(info: &RequestInfo) -> bool {
    let Some(asked) = &info.resource else { return false };
    matches!(info.verb.as_str(), "watch" | "proxy") || STREAMS.contains(&asked.at.subresource.as_str())
}

/// The timeout of a request: the client's (`?timeout=`), limited by the server's.
pub(crate) fn limit_of(verb: &str, query: &Query, request_seconds: u64) -> Result<Duration, Status> {
    let limit = limit(query.text("timeout"), request_seconds)?;
    let writes = matches!(verb, "create" | "update" | "patch" | "delete");
    Ok(if writes { limit.min(WRITE_LIMIT) } else { limit })
}

/// The response, or an error after the timeout.
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

/// In Kubernetes: `parseTimeout` of `WithRequestDeadline`; a longer timeout than the server's becomes the server's.
fn limit(asked: &str, most_seconds: u64) -> Result<Duration, Status> {
    let most = Duration::from_secs(most_seconds);
    if asked.is_empty() {
        return Ok(most);
    }
    match coracle_meta::parse_duration(asked) {
        Some(Duration::ZERO) => Ok(most),
        Some(asked) => Ok(asked.min(most)),
        // A negative timeout means the server's limit, too.
        None if asked.strip_prefix('-').is_some_and(|asked| coracle_meta::parse_duration(asked).is_some()) => Ok(most),
        None => Err(Status::bad_request(format!(
            "invalid timeout specified in the request URL - time: {}",
            duration_error(asked)
        ))),
    }
}

/// The error of Go's `time.ParseDuration`.
fn duration_error(asked: &str) -> String {
    let number = asked.trim_start_matches(['+', '-']);
    let unit = number.trim_start_matches(|sign: char| sign.is_ascii_digit() || sign == '.');
    match (number.len() == unit.len(), unit) {
        (false, "") => format!("missing unit in duration {asked:?}"),
        (false, unit) => {
            let end = unit.find(|sign: char| sign.is_ascii_digit() || sign == '.').unwrap_or(unit.len());
            match &unit[..end] {
                "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h" => format!("invalid duration {asked:?}"),
                unit => format!("unknown unit {unit:?} in duration {asked:?}"),
            }
        }
        (true, _) => format!("invalid duration {asked:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn timeouts_are_read_as_go_reads_them_and_cut_at_the_servers_limit() {
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
