//! Times and how long ago they were.

use coracle_ambient::Timestamp;
use coracle_meta::{human_duration, parse_time};
use serde_json::Value;

use crate::values::text;

/// The zero time of Go.
const ZERO: &str = "Mon, 01 Jan 0001 00:00:00 +0000";

/// A time as RFC 1123 with a numeric zone, in UTC.
pub(crate) fn rfc1123(value: &Value) -> String {
    let time = value.as_str().and_then(parse_time);
    let Some(time) = time else { return ZERO.to_owned() };
    time.strftime("%a, %d %b %Y %H:%M:%S +0000").to_string()
}

/// How long ago a time was. In Kubernetes: `translateTimestampSince`.
pub(crate) fn since(object: &Value, pointer: &str, now: Timestamp) -> String {
    match parse_time(text(object, pointer)) {
        Some(time) => human_duration(now.duration_since(time).as_secs()),
        None => "<unknown>".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_printed_in_utc_and_missing_ones_as_the_zero_time_of_go() {
        assert_eq!(rfc1123(&"2026-01-02T03:04:05Z".into()), "Fri, 02 Jan 2026 03:04:05 +0000");
        assert_eq!(rfc1123(&Value::Null), ZERO);
    }
}
