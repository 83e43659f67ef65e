use std::time::Duration;

/// Nanoseconds of a unit; the longer names first, so that `ms` is not read as `m`.
const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The longest span that Go can say: its nanoseconds are a signed 64-bit number.
const LONGEST: u128 = i64::MAX as u128;

/// Parses a duration in Go's format: `500ms`, `1h30m`, `1.5s`, `0`; `None` if the text is invalid, negative or longer
/// than 292 years. In Go: `time.ParseDuration`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut nanos = 0;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|sign: char| !sign.is_ascii_digit() && sign != '.')?);
        let (unit, after) = UNITS.iter().find_map(|(name, unit)| Some((*unit, after.strip_prefix(name)?)))?;
        nanos = times(number, unit)?.checked_add(nanos).filter(|nanos| *nanos <= LONGEST)?;
        rest = after;
    }
    Some(Duration::from_nanos(u64::try_from(nanos).ok()?))
}

/// `number` (digits with at most one point) times `unit`; fractions of a nanosecond are truncated.
fn times(number: &str, unit: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // All digits are added up before anything is cut; those behind the fifteenth are below a nanosecond of an hour.
    let fraction = fraction.get(..15).unwrap_or(fraction);
    let parts: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    whole.checked_mul(unit)?.checked_add(parts * unit / scale)
}

/// A duration as Go writes it: `1h2m3.5s`, `300ms`, `0s`. In Go: `Duration.String`.
pub fn format_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let in_unit = |unit: u128, name: &str| {
        let fraction = format!("{:0width$}", nanos % unit, width = unit.ilog10() as usize);
        match fraction.trim_end_matches('0') {
            "" => format!("{}{name}", nanos / unit),
            fraction => format!("{}.{fraction}{name}", nanos / unit),
        }
    };
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => format!("{nanos}ns"),
        1_000..1_000_000 => in_unit(1_000, "µs"),
        1_000_000..1_000_000_000 => in_unit(1_000_000, "ms"),
        _ => {
            let minutes = duration.as_secs() / 60;
            let rest = duration - Duration::from_secs(minutes * 60);
            let seconds = format!("{}.{:09}", rest.as_secs(), rest.subsec_nanos());
            let seconds = seconds.trim_end_matches('0').trim_end_matches('.');
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{seconds}s"),
                (0, minutes) => format!("{minutes}m{seconds}s"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_parsed_like_go() {
        for (text, nanos) in [
            ("0", 0),
            ("+0", 0),
            ("0s", 0),
            ("5m", 300_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1.5s", 1_500_000_000),
            (".5s", 500_000_000),
            ("5.s", 5_000_000_000),
            ("300ms", 300_000_000),
            ("10µs", 10_000),
            ("0.3333333333333333333h", 1_199_999_999_999),
            ("1h1ns", 3_600_000_000_001),
        ] {
            assert_eq!(parse_duration(text), Some(Duration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn durations_are_written_like_go() {
        for (nanos, text) in [
            (0, "0s"),
            (15, "15ns"),
            (1_500, "1.5µs"),
            (10_000, "10µs"),
            (612_000_000, "612ms"),
            (1_001_000, "1.001ms"),
            (3_000_000_000, "3s"),
            (10_000_000_000, "10s"),
            (1_500_000_000, "1.5s"),
            (60_000_000_000, "1m0s"),
            (80_000_000_000, "1m20s"),
            (3_600_000_000_001, "1h0m0.000000001s"),
            (360_000_000_000_000, "100h0m0s"),
        ] {
            assert_eq!(format_duration(Duration::from_nanos(nanos)), text);
        }
    }

    #[test]
    fn an_invalid_duration_is_refused() {
        for text in ["", "+", "5", "s", ".s", "5x", "-1s", "1..2s", "1.2.3s", "5 m", "5m ", "1e4s", "3000000h"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_written_duration_is_read_as_the_same(nanos in 0..i64::MAX.unsigned_abs(), halved in 0..63_u32) {
            let duration = Duration::from_nanos(nanos >> halved);
            assert_eq!(parse_duration(&format_duration(duration)), Some(duration));
        }

        #[test]
        fn no_text_panics(text in "[0-9.hmsnuµ+-]{0,40}") {
            let _ = parse_duration(&text);
        }
    }
}
