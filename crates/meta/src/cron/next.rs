use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Span, Timestamp};

use super::Calendar;

/// Without the part of a second.
pub(super) fn whole_second(time: Timestamp) -> Option<Timestamp> {
    let part = SignedDuration::from_nanos(time.as_nanosecond().rem_euclid(1_000_000_000) as i64);
    time.checked_sub(part).ok()
}

const HOUR: SignedDuration = SignedDuration::from_hours(1);

impl Calendar {
    /// Steps from field to field, from the largest on; a field that runs over begins with the largest again. So times
    /// that a clock skips or has twice come out as they do in Kubernetes. In Kubernetes: `SpecSchedule.Next`.
    pub(super) fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let time = whole_second(after)?.checked_add(SignedDuration::from_secs(1)).ok()?;
        let mut search = Search { calendar: self, zone, time, moved: false };
        let last_year = search.clock().year() + 5;
        while search.clock().year() <= last_year {
            let fits = search.advance_month()?
                && search.advance_day()?
                && search.advance_hour()?
                && search.advance_minute()?
                && search.advance_second()?;
            if fits {
                return Some(search.time);
            }
        }
        None
    }

    fn has_day(&self, clock: DateTime) -> bool {
        let by_date = self.days & (1 << clock.day()) != 0;
        let by_weekday = self.weekdays & (1 << clock.weekday().to_sunday_zero_offset()) != 0;
        if self.both { by_date && by_weekday } else { by_date || by_weekday }
    }
}

/// A search for the next time. Each step advances one field until it fits, and returns false if the field ran over;
/// it returns `None` beyond the end of all times.
struct Search<'c> {
    calendar: &'c Calendar,
    zone: &'c TimeZone,
    time: Timestamp,
    /// Whether a field has advanced. Then all smaller ones have restarted at their minimum.
    moved: bool,
}

impl Search<'_> {
    fn clock(&self) -> DateTime {
        self.zone.to_datetime(self.time)
    }

    fn advance_month(&mut self) -> Option<bool> {
        while !has(self.calendar.months, self.clock().month()) {
            let clock = self.clock();
            let month = if self.moved { clock } else { clock.date().first_of_month().to_datetime(MIDNIGHT) };
            self.moved = true;
            self.time = at(month.checked_add(Span::new().months(1)).ok()?, self.zone)?;
            if self.clock().month() == 1 {
                return Some(false);
            }
        }
        Some(true)
    }

    fn advance_day(&mut self) -> Option<bool> {
        while !self.calendar.has_day(self.clock()) {
            let clock = self.clock();
            let day = if self.moved { clock } else { clock.date().to_datetime(MIDNIGHT) };
            self.moved = true;
            self.time = at(day.checked_add(Span::new().days(1)).ok()?, self.zone)?;
            // Where a clock skips midnight, the day begins at another hour.
            let hour = i64::from(self.clock().hour());
            self.advance(SignedDuration::from_hours(if hour > 12 { 24 - hour } else { -hour }))?;
            if self.clock().day() == 1 {
                return Some(false);
            }
        }
        Some(true)
    }

    fn advance_hour(&mut self) -> Option<bool> {
        while !has(self.calendar.hours, self.clock().hour()) {
            if !self.moved {
                let clock = self.clock();
                self.time = at(clock.date().at(clock.hour(), 0, 0, 0), self.zone)?;
            }
            self.advance(HOUR)?;
            if self.clock().hour() == 0 {
                return Some(false);
            }
        }
        Some(true)
    }

    fn advance_minute(&mut self) -> Option<bool> {
        while !has(self.calendar.minutes, self.clock().minute()) {
            if !self.moved {
                self.time = Timestamp::from_second(self.time.as_second().div_euclid(60) * 60).ok()?;
            }
            self.advance(SignedDuration::from_mins(1))?;
            if self.clock().minute() == 0 {
                return Some(false);
            }
        }
        Some(true)
    }

    /// A schedule has no seconds: a time fits at the beginning of its minute.
    fn advance_second(&mut self) -> Option<bool> {
        let second = i64::from(self.clock().second());
        if second == 0 {
            return Some(true);
        }
        self.advance(SignedDuration::from_secs(60 - second))?;
        Some(false)
    }

    fn advance(&mut self, by: SignedDuration) -> Option<()> {
        self.moved = true;
        self.time = self.time.checked_add(by).ok()?;
        Some(())
    }
}

fn has(bits: u64, value: i8) -> bool {
    bits & (1 << value) != 0
}

const MIDNIGHT: jiff::civil::Time = jiff::civil::Time::midnight();

/// The time at which a clock shows this value. If there are two such times or none, the time that Go returns.
///
/// In Kubernetes: `time.Date`.
fn at(clock: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    let as_utc = Offset::UTC.to_timestamp(clock).ok()?;
    let guess = zone.to_offset(as_utc);
    if guess == Offset::UTC {
        return Some(as_utc);
    }
    let offset = zone.to_offset(guess.to_timestamp(clock).ok()?);
    offset.to_timestamp(clock).ok()
}

#[cfg(test)]
mod tests {
    use crate::cron::Schedule;
    use jiff::Timestamp;
    use proptest::prelude::*;

    fn next(schedule: &str, after: &str) -> Option<String> {
        let after: Timestamp = after.parse().unwrap();
        Schedule::parse(schedule).unwrap().next(after).map(|time| time.to_string())
    }

    #[test]
    fn the_next_time_is_after_the_given_one() {
        let cases = [
            ("0/15 * * * *", "2012-07-09T14:45:00Z", "2012-07-09T15:00:00Z"),
            ("20-35/15 * * * *", "2012-07-09T15:45:59.5Z", "2012-07-09T16:20:00Z"),
            ("20/35 * * * *", "2012-07-09T23:35:51Z", "2012-07-09T23:55:00Z"),
            ("30 1/3 * * *", "2012-07-09T23:46:00Z", "2012-07-10T01:30:00Z"),
            ("0 0 9 apr-oct *", "2012-11-01T00:00:00Z", "2013-04-09T00:00:00Z"),
            ("0 0 31 1-12 *", "2012-08-31T00:00:00Z", "2012-10-31T00:00:00Z"),
            ("0 0 29 feb ?", "2012-07-09T23:35:00Z", "2016-02-29T00:00:00Z"),
            ("0 0 13 * fri", "2026-02-01T00:00:00Z", "2026-02-06T00:00:00Z"),
            ("0 0 */13 * fri", "2026-02-01T00:00:00Z", "2026-02-06T00:00:00Z"),
            ("0 0 13 * *", "2026-02-01T00:00:00Z", "2026-02-13T00:00:00Z"),
            ("@every 90m", "2026-02-01T00:00:30.5Z", "2026-02-01T01:30:30Z"),
        ];
        for (schedule, after, expected) in cases {
            assert_eq!(next(schedule, after).as_deref(), Some(expected), "{schedule}");
        }
        assert_eq!(next("0 0 31 apr ?", "2012-07-09T23:35:00Z"), None);
        assert_eq!(next(", * * * *", "2012-07-09T23:35:00Z"), None, "no minute at all");
    }

    #[test]
    fn a_time_that_the_clock_skips_is_left_out_and_one_that_it_has_twice_comes_once_or_twice() {
        // 11 March 2012, 2:00 becomes 3:00; 4 November 2012, 2:00 becomes 1:00.
        let cases = [
            ("TZ=America/New_York 30 2 11 mar ?", "2012-03-11T05:00:00Z", "2013-03-11T06:30:00Z"),
            ("TZ=America/New_York 0 * * * ?", "2012-03-11T06:00:00Z", "2012-03-11T07:00:00Z"),
            ("TZ=America/New_York 0 2 * * ?", "2012-03-11T05:00:00Z", "2012-03-12T06:00:00Z"),
            ("TZ=America/New_York 30 2 04 nov ?", "2012-11-04T04:00:00Z", "2012-11-04T07:30:00Z"),
            ("TZ=America/New_York 45 1 04 nov ?", "2012-11-04T05:45:00Z", "2012-11-04T06:45:00Z"),
            ("TZ=America/New_York 0 1 * * ?", "2012-11-04T05:00:00Z", "2012-11-04T06:00:00Z"),
            // Here midnight is skipped.
            ("TZ=America/Sao_Paulo 0 9 10 * *", "2018-10-17T09:00:00Z", "2018-11-10T11:00:00Z"),
            ("TZ=America/Sao_Paulo 0 9 22 2 *", "2018-02-14T09:00:00Z", "2018-02-22T12:00:00Z"),
        ];
        for (schedule, after, expected) in cases {
            assert_eq!(next(schedule, after).as_deref(), Some(expected), "{schedule}");
        }
    }

    proptest! {
        #[test]
        fn the_next_time_fits_and_none_between_does(
            minute in 0..60_i8, hour in 0..24_i8, start in 1_500_000_000..1_900_000_000_i64,
        ) {
            let schedule = Schedule::parse(&format!("{minute} {hour} * * *")).unwrap();
            let start = Timestamp::from_second(start).unwrap();
            let next = schedule.next(start).unwrap();
            let clock = jiff::tz::TimeZone::UTC.to_datetime(next);
            prop_assert_eq!((clock.hour(), clock.minute(), clock.second()), (hour, minute, 0));
            let apart = next.duration_since(start).as_secs();
            prop_assert!(apart > 0 && apart <= 24 * 60 * 60);
        }
    }
}
