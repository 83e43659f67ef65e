use jiff::SignedDuration;
use jiff::tz::TimeZone;

use super::{Calendar, Schedule, Times, atoi, time_zone};
use crate::{go_quote, parse_duration};

/// A field: its bounds, and names for its values from the lowest on.
struct Field {
    low: i64,
    high: i64,
    names: &'static [&'static str],
}

const MINUTES: Field = Field { low: 0, high: 59, names: &[] };
const HOURS: Field = Field { low: 0, high: 23, names: &[] };
const DAYS: Field = Field { low: 1, high: 31, names: &[] };
const MONTHS: Field = Field {
    low: 1,
    high: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
const WEEKDAYS: Field = Field { low: 0, high: 6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] };

/// Marks every value of a field, except with steps.
const STAR: u64 = 1 << 63;

pub(super) fn schedule(text: &str) -> Result<Schedule, String> {
    if text.is_empty() {
        return Err("empty spec string".to_owned());
    }
    let (mut zone, mut rest) = (TimeZone::UTC, text);
    if let Some(zoned) = text.strip_prefix("TZ=").or_else(|| text.strip_prefix("CRON_TZ=")) {
        let (name, fields) = zoned.split_once(' ').ok_or_else(|| {
            // Kubernetes' parser cuts its text at this position, although it is not the right one.
            let equals = text.len() - zoned.len();
            format!("invalid schedule format: runtime error: slice bounds out of range [{equals}:-1]")
        })?;
        zone = time_zone(name).map_err(|why| format!("provided bad location {name}: {why}"))?;
        rest = fields.trim();
    }
    let times = if rest.starts_with('@') { descriptor(rest)? } else { Times::Calendar(calendar(rest)?) };
    Ok(Schedule { times, zone })
}

fn calendar(text: &str) -> Result<Calendar, String> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [minutes, hours, days, months, weekdays] = fields[..] else {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    };
    let (minutes, hours) = (bits(minutes, &MINUTES)?, bits(hours, &HOURS)?);
    let (days, months, weekdays) = (bits(days, &DAYS)?, bits(months, &MONTHS)?, bits(weekdays, &WEEKDAYS)?);
    Ok(Calendar { minutes, hours, days, months, weekdays, both: (days | weekdays) & STAR != 0 })
}

fn descriptor(text: &str) -> Result<Times, String> {
    let fields = match text {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        _ => {
            let Some(span) = text.strip_prefix("@every ") else {
                return Err(format!("unrecognized descriptor: {text}"));
            };
            return every(span).map_err(|why| format!("failed to parse duration {text}: {why}"));
        }
    };
    calendar(fields).map(Times::Calendar)
}

/// A span, in whole seconds, at least one.
fn every(span: &str) -> Result<Times, String> {
    if let Some(span) = span.strip_prefix('-').filter(|_| !span.starts_with("-+")) {
        return match parse_duration(span) {
            Some(_) => Ok(Times::Every(SignedDuration::from_secs(1))),
            None => Err(wrong_duration(&format!("-{span}"), span)),
        };
    }
    let read = parse_duration(span).ok_or_else(|| wrong_duration(span, span.strip_prefix('+').unwrap_or(span)))?;
    let seconds = i64::try_from(read.as_secs()).unwrap_or(i64::MAX).max(1);
    Ok(Times::Every(SignedDuration::from_secs(seconds)))
}

/// Go's error for an invalid duration; `rest` is without its sign. In Kubernetes: `time.ParseDuration`.
fn wrong_duration(span: &str, mut rest: &str) -> String {
    const UNITS: [&str; 8] = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];
    let is_part = |sign: char| sign.is_ascii_digit() || sign == '.';
    while rest.starts_with(is_part) {
        let after = rest.trim_start_matches(|sign: char| sign.is_ascii_digit());
        let after = after.strip_prefix('.').unwrap_or(after).trim_start_matches(|sign: char| sign.is_ascii_digit());
        if !rest[..rest.len() - after.len()].contains(|sign: char| sign.is_ascii_digit()) {
            break;
        }
        let unit = &after[..after.find(is_part).unwrap_or(after.len())];
        if unit.is_empty() {
            return format!("time: missing unit in duration {}", go_quote(span));
        }
        if !UNITS.contains(&unit) {
            return format!("time: unknown unit {} in duration {}", go_quote(unit), go_quote(span));
        }
        rest = &after[unit.len()..];
    }
    format!("time: invalid duration {}", go_quote(span))
}

/// The values of a list of ranges.
fn bits(text: &str, field: &Field) -> Result<u64, String> {
    text.split(',').filter(|range| !range.is_empty()).try_fold(0, |bits, part| Ok(bits | range(part, field)?))
}

/// `*`, a number, `low-high`, each with `/step`.
fn range(text: &str, field: &Field) -> Result<u64, String> {
    let parts: Vec<&str> = text.split('/').collect();
    let ends: Vec<&str> = parts[0].split('-').collect();
    let (mut star, mut step) = (0, 1);
    let (start, mut end) = match ends[..] {
        ["*" | "?", ..] => {
            star = STAR;
            (field.low, field.high)
        }
        [one] => {
            let start = value(one, field)?;
            (start, start)
        }
        [from, to] => (value(from, field)?, value(to, field)?),
        [from, ..] => {
            value(from, field)?;
            return Err(format!("too many hyphens: {text}"));
        }
        [] => return Err(format!("too many hyphens: {text}")),
    };
    match parts[..] {
        [_] => {}
        [_, steps] => {
            step = number(steps)?;
            if ends.len() == 1 {
                end = field.high;
            }
            if step > 1 {
                star = 0;
            }
        }
        _ => return Err(format!("too many slashes: {text}")),
    }
    let Field { low, high, .. } = field;
    if start < *low {
        return Err(format!("beginning of range ({start}) below minimum ({low}): {text}"));
    }
    if end > *high {
        return Err(format!("end of range ({end}) above maximum ({high}): {text}"));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {text}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    let step = usize::try_from(step).unwrap_or(usize::MAX);
    Ok((start..=end).step_by(step).fold(star, |bits, value| bits | 1 << value))
}

fn value(text: &str, field: &Field) -> Result<i64, String> {
    let named = field.names.iter().zip(field.low..).find(|(name, _)| name.eq_ignore_ascii_case(text));
    named.map_or_else(|| number(text), |(_, value)| Ok(value))
}

fn number(text: &str) -> Result<i64, String> {
    let number = atoi(text).map_err(|why| format!("failed to parse int from {text}: {why}"))?;
    if number < 0 { Err(format!("negative number ({number}) not allowed: {text}")) } else { Ok(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_schedules_are_parsed() {
        let readable = [
            "* * * * *",
            "*/5 0-6 1,15 jan-Mar MON",
            "@hourly",
            "TZ=UTC 0 0 * * 0",
            "0 0 1 1 ?",
            "CRON_TZ=Asia/Tokyo @daily",
        ];
        for text in readable {
            assert!(schedule(text).is_ok(), "{text}");
        }
        assert_eq!(calendar("0 0 * * 0"), calendar("0 0 *,1 * sun"));
        assert_ne!(calendar("0 0 */2 * 1").unwrap().both, calendar("0 0 * * 1").unwrap().both);
        assert_eq!(calendar("5/20 * * * *").unwrap().minutes, 1 << 5 | 1 << 25 | 1 << 45);
    }

    #[test]
    fn invalid_schedules_have_the_errors_of_kubernetes_parser() {
        let cases = [
            ("", "empty spec string"),
            ("every day", "expected exactly 5 fields, found 2: [every day]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("5-2 * * * *", "beginning of range (5) beyond end of range (2): 5-2"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("1/2/3 * * * *", "too many slashes: 1/2/3"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"),
            (
                "99999999999999999999 * * * *",
                "failed to parse int from 99999999999999999999: strconv.Atoi: parsing \"99999999999999999999\": \
                 value out of range",
            ),
            ("*/-1 * * * *", "negative number (-1) not allowed: -1"),
            ("@never", "unrecognized descriptor: @never"),
            ("@every 5", "failed to parse duration @every 5: time: missing unit in duration \"5\""),
            ("@every 1d", "failed to parse duration @every 1d: time: unknown unit \"d\" in duration \"1d\""),
            ("@every x", "failed to parse duration @every x: time: invalid duration \"x\""),
            ("TZ=Mars/Base 0 0 * * *", "provided bad location Mars/Base: unknown time zone Mars/Base"),
            ("TZ=../x 0 0 * * *", "provided bad location ../x: time: invalid location name"),
            ("TZ=0", "invalid schedule format: runtime error: slice bounds out of range [3:-1]"),
        ];
        for (text, why) in cases {
            assert_eq!(schedule(text).unwrap_err(), why, "{text}");
        }
    }
}
