use jiff::Timestamp;

/// A time as objects carry it: RFC 3339 in UTC, whole seconds. In Kubernetes: `metav1.Time`.
pub fn format_time(time: Timestamp) -> String {
    let whole = Timestamp::from_second(time.as_second()).unwrap_or(time);
    format!("{whole:.0}")
}

/// A time with six digits of a second. In Kubernetes: `metav1.MicroTime`.
pub fn format_micro_time(time: Timestamp) -> String {
    format!("{time:.6}")
}

/// Reads RFC 3339 with any offset and any number of digits.
pub fn parse_time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_print_as_the_api_prints_them() {
        let time = parse_time("2026-01-02T03:04:05.678901234+01:00").unwrap();
        assert_eq!(format_time(time), "2026-01-02T02:04:05Z");
        assert_eq!(format_micro_time(time), "2026-01-02T02:04:05.678901Z");
        assert_eq!(parse_time("yesterday"), None);
    }
}
