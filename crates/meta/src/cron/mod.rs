//! Cron schedules as Kubernetes reads them, with the sentences of its parser.
//!
//! In Kubernetes: `robfig/cron` v3, `ParseStandard`.

mod next;
mod read;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::go_quote;

/// When something is due, again and again.
///
/// ```
/// use coracle_meta::cron::Schedule;
///
/// let nightly = Schedule::parse("TZ=Europe/Berlin 30 3 * * mon-fri").unwrap();
/// let next = nightly.next("2026-03-27T12:00:00Z".parse().unwrap());
/// assert_eq!(next, Some("2026-03-30T01:30:00Z".parse().unwrap()), "a weekend, and a clock put forward, lie between");
/// ```
#[derive(Clone, Debug)]
pub struct Schedule {
    times: Times,
    zone: TimeZone,
}

#[derive(Clone, Debug)]
enum Times {
    /// By the clock and the calendar.
    Calendar(Calendar),
    /// Always so much later.
    Every(SignedDuration),
}

/// The values of each field that fit, a bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Calendar {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether a day has to fit by date and by weekday, and not by one of them.
    both: bool,
}

impl Schedule {
    /// Reads five fields, or a descriptor such as `@daily` or `@every 1h`; before them may stand `TZ=` with the name of a
    /// time zone. Without one it is UTC.
    ///
    /// # Errors
    /// The error, in the words of the parser that Kubernetes uses.
    pub fn parse(text: &str) -> Result<Self, String> {
        read::schedule(text)
    }

    /// The first time after this one; `None` if it is more than five years later.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        match &self.times {
            Times::Calendar(calendar) => calendar.next(after, &self.zone),
            Times::Every(delay) => next::whole_second(after)?.checked_add(*delay).ok(),
        }
    }
}

/// The time zone with a name, from the built-in database.
///
/// # Errors
/// The name is unknown. In Kubernetes: `time.LoadLocation`.
pub fn time_zone(name: &str) -> Result<TimeZone, String> {
    if name.is_empty() || name == "UTC" || name == "Local" {
        return Ok(TimeZone::UTC);
    }
    if name.starts_with(['/', '\\']) || name.contains("..") {
        return Err("time: invalid location name".to_owned());
    }
    // The database does not mind the case of letters.
    let found = TimeZone::get(name).ok().filter(|zone| zone.iana_name() == Some(name));
    found.ok_or_else(|| format!("unknown time zone {name}"))
}

/// Go's error for an invalid number. In Kubernetes: `strconv.Atoi`.
fn atoi(text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    text.parse().map_err(|_| {
        let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        let what = if is_number { "value out of range" } else { "invalid syntax" };
        format!("strconv.Atoi: parsing {}: {what}", go_quote(text))
    })
}
