//! Timestamps and durations, with the parsing and printing of cel-go.

use std::fmt;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use crate::fault::Fault;

const NANOS: i64 = 1_000_000_000;
/// The first and the last second of the years 1 to 9999.
const FIRST: i64 = -62_135_596_800;
const LAST: i64 = 253_402_300_799;

/// A timestamp in the years 1 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time {
    seconds: i64,
    nanos: i64,
}

impl Time {
    pub(crate) fn of_seconds(seconds: i64) -> Result<Self, Fault> {
        Self::new(seconds, 0)
    }

    fn new(seconds: i64, nanos: i64) -> Result<Self, Fault> {
        if (FIRST..=LAST).contains(&seconds) {
            Ok(Self { seconds, nanos })
        } else {
            Err(Fault::new("timestamp overflow"))
        }
    }

    pub(crate) fn is_zero(self) -> bool {
        self.seconds == FIRST && self.nanos == 0
    }

    pub(crate) fn seconds(self) -> i64 {
        self.seconds
    }

    /// The timestamp after a duration.
    pub(crate) fn plus(self, nanos: i64) -> Result<Self, Fault> {
        let total = i128::from(self.seconds) * i128::from(NANOS) + i128::from(self.nanos) + i128::from(nanos);
        let seconds = total.div_euclid(i128::from(NANOS));
        let rest = total.rem_euclid(i128::from(NANOS));
        Self::new(
            i64::try_from(seconds).map_err(|_| Fault::new("timestamp overflow"))?,
            i64::try_from(rest).unwrap_or_default(),
        )
    }

    /// The duration between two timestamps.
    pub(crate) fn since(self, earlier: Self) -> Result<i64, Fault> {
        let seconds = self.seconds - earlier.seconds;
        let nanos = i128::from(seconds) * i128::from(NANOS) + i128::from(self.nanos - earlier.nanos);
        i64::try_from(nanos).map_err(|_| Fault::new("integer overflow"))
    }

    /// Parses RFC 3339.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (date, rest) = (text.get(..10)?, text.get(10..)?);
        let rest = rest.strip_prefix(['T', 't'])?;
        let zone = rest.find(['Z', '+', '-', 'z'])?;
        let (clock, zone) = rest.split_at(zone);
        let offset = offset_of(zone)?;
        let (whole, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, ""));
        if whole.len() != 8
            || (clock.len() > 8 && fraction.is_empty())
            || !fraction.bytes().all(|sign| sign.is_ascii_digit())
        {
            return None;
        }
        let date: Date = date.parse().ok()?;
        let clock: jiff::civil::Time = whole.parse().ok().filter(|_| whole.as_bytes()[6] != b'6')?;
        let nanos = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
        let seconds = days(date) * 86_400
            + i64::from(clock.hour()) * 3600
            + i64::from(clock.minute()) * 60
            + i64::from(clock.second());
        Self::new(seconds - i64::from(offset), nanos).ok()
    }

    /// Parses a value with format `date-time`.
    pub(crate) fn lenient(text: &str) -> Option<Self> {
        let spaced = text.replacen(' ', "T", 1);
        Self::parse(&spaced).or_else(|| Self::parse(&format!("{spaced}Z"))).or_else(|| Self::of_date(text))
    }

    /// The start of a day.
    pub(crate) fn of_date(text: &str) -> Option<Self> {
        let date: Date = text.parse().ok().filter(|_| text.len() == 10)?;
        Self::new(days(date) * 86_400, 0).ok()
    }

    /// The local time in a zone: a name, or an offset from UTC.
    fn civil(self, zone: &str) -> Result<DateTime, Fault> {
        let unknown = || Fault::new(format!("unknown time zone {zone}"));
        let offset = match zone {
            "" | "UTC" => 0,
            zone if zone.contains(':') => {
                let signed = if zone.starts_with(['+', '-']) { zone.to_owned() } else { format!("+{zone}") };
                i64::from(offset_of(&signed).ok_or_else(unknown)?)
            }
            name => {
                // Zone rules end a day before the calendar does.
                let near = self.seconds.clamp(FIRST, LAST - 2 * 86_400);
                let time = jiff::Timestamp::from_second(near).map_err(|_| unknown())?;
                i64::from(TimeZone::get(name).map_err(|_| unknown())?.to_offset(time).seconds())
            }
        };
        let local = self.seconds + offset;
        let outside = || Fault::new("timestamp overflow");
        let day = jiff::Span::new().try_days(local.div_euclid(86_400)).map_err(|_| outside())?;
        let date = Date::constant(1970, 1, 1).checked_add(day).map_err(|_| outside())?;
        let second = i32::try_from(local.rem_euclid(86_400)).unwrap_or_default();
        let part = |value: i32| i8::try_from(value).unwrap_or_default();
        let nanos = i32::try_from(self.nanos).unwrap_or_default();
        Ok(date.at(part(second / 3600), part(second / 60 % 60), part(second % 60), nanos))
    }

    /// A component of the local time, by the name of its function.
    pub(crate) fn part(self, function: &str, zone: &str) -> Result<i64, Fault> {
        let civil = self.civil(zone)?;
        Ok(match function {
            "getFullYear" => i64::from(civil.year()),
            "getMonth" => i64::from(civil.month()) - 1,
            "getDayOfYear" => i64::from(civil.day_of_year()) - 1,
            "getDayOfMonth" => i64::from(civil.day()) - 1,
            "getDate" => i64::from(civil.day()),
            "getDayOfWeek" => i64::from(civil.weekday().to_sunday_zero_offset()),
            "getHours" => i64::from(civil.hour()),
            "getMinutes" => i64::from(civil.minute()),
            "getSeconds" => i64::from(civil.second()),
            "getMilliseconds" => i64::from(civil.millisecond()),
            _ => return Err(Fault::no_overload()),
        })
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(civil) = self.civil("UTC") else { return f.write_str("?") };
        write!(f, "{:04}-{:02}-{:02}T", civil.year(), civil.month(), civil.day())?;
        write!(f, "{:02}:{:02}:{:02}", civil.hour(), civil.minute(), civil.second())?;
        if self.nanos > 0 {
            write!(f, ".{}", format!("{:09}", self.nanos).trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

/// The days from 1970 to a date.
fn days(date: Date) -> i64 {
    let (year, month, day) = (i64::from(date.year()), i64::from(date.month()), i64::from(date.day()));
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The offset `Z` or `+01:30`, in seconds.
fn offset_of(zone: &str) -> Option<i32> {
    if zone == "Z" || zone == "z" {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let number = |text: &str, most: i32| {
        let is_plain = text.len() == 2 && text.bytes().all(|sign| sign.is_ascii_digit());
        text.parse::<i32>().ok().filter(|value| is_plain && *value <= most)
    };
    Some(sign * (number(hours, 24)? * 3600 + number(minutes, 60)? * 60))
}

/// Parses a duration in Go's format: `1h2m3.5s`, with a sign.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    let (is_negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|sign: char| !sign.is_ascii_digit() && sign != '.')?;
        let (number, unit) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let unit_end = unit.find(|sign: char| sign.is_ascii_digit() || sign == '.').unwrap_or(unit.len());
        let (unit, following) = unit.split_at(unit_end);
        let scale: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => i128::from(NANOS),
            "m" => 60 * i128::from(NANOS),
            "h" => 3600 * i128::from(NANOS),
            _ => return None,
        };
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || whole.len() > 20 {
            return None;
        }
        let fraction = fraction.get(..fraction.len().min(18))?;
        let part = if fraction.is_empty() {
            0
        } else {
            fraction.parse::<i128>().ok()? * scale / 10_i128.pow(fraction.len() as u32)
        };
        let whole = if whole.is_empty() { 0 } else { whole.parse::<i128>().ok()? };
        total = total.checked_add(whole.checked_mul(scale)? + part)?;
        if total > i128::from(i64::MAX) + 1 {
            return None;
        }
        rest = following;
    }
    i64::try_from(if is_negative { -total } else { total }).ok()
}

/// Parses a value with format `duration`: Go's format, or with days and weeks.
pub(crate) fn lenient_duration(text: &str) -> Option<i64> {
    if let Some(nanos) = parse_duration(text) {
        return Some(nanos);
    }
    let mut total: i128 = 0;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = rest.find(|sign: char| !sign.is_ascii_digit())?;
        let number: i128 = rest.get(..end).filter(|digits| digits.len() < 19)?.parse().ok()?;
        let unit = rest[end..].trim_start();
        let end = unit.find(|sign: char| !sign.is_alphabetic()).unwrap_or(unit.len());
        let scale: i128 = match &unit[..end] {
            "ns" | "nano" | "nanosecond" | "nanoseconds" => 1,
            "us" | "µs" | "micro" | "microsecond" | "microseconds" => 1_000,
            "ms" | "milli" | "millisecond" | "milliseconds" => 1_000_000,
            "s" | "sec" | "second" | "seconds" => 1_000_000_000,
            "m" | "min" | "minute" | "minutes" => 60_000_000_000,
            "h" | "hr" | "hour" | "hours" => 3_600_000_000_000,
            "d" | "day" | "days" => 86_400_000_000_000,
            "w" | "week" | "weeks" => 604_800_000_000_000,
            _ => return None,
        };
        total = total.checked_add(number * scale)?;
        rest = unit[end..].trim_start();
    }
    i64::try_from(total).ok().filter(|_| !text.trim().is_empty())
}

/// A duration in seconds, as cel-go prints it.
pub(crate) fn duration_text(nanos: i64) -> String {
    let (seconds, rest) = (nanos.unsigned_abs() / NANOS.unsigned_abs(), nanos.unsigned_abs() % NANOS.unsigned_abs());
    let sign = if nanos < 0 { "-" } else { "" };
    let fraction = format!("{rest:09}");
    match fraction.trim_end_matches('0') {
        "" => format!("{sign}{seconds}s"),
        fraction => format!("{sign}{seconds}.{fraction}s"),
    }
}
