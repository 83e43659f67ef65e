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
        let clock = |time: Timestamp| zone.to_datetime(time);
        let has = |bits: u64, value: i8| bits & (1 << value) != 0;
        let mut time = whole_second(after)?.checked_add(SignedDuration::from_secs(1)).ok()?;
        let last_year = clock(time).year() + 5;
        // When a field advances, all smaller ones restart at their minimum.
        let mut moved = false;
        'again: loop {
            if clock(time).year() > last_year {
                return None;
            }
            while !has(self.months, clock(time).month()) {
                let month = if moved { clock(time) } else { clock(time).date().first_of_month().to_datetime(MIDNIGHT) };
                moved = true;
                time = at(month.checked_add(Span::new().months(1)).ok()?, zone)?;
                if clock(time).month() == 1 {
                    continue 'again;
                }
            }
            while !self.has_day(clock(time)) {
                let day = if moved { clock(time) } else { clock(time).date().to_datetime(MIDNIGHT) };
                moved = true;
                time = at(day.checked_add(Span::new().days(1)).ok()?, zone)?;
                // Where a clock skips midnight, the day begins at another hour.
                let hour = i64::from(clock(time).hour());
                let off = if hour > 12 { 24 - hour } else { -hour };
                time = time.checked_add(SignedDuration::from_hours(off)).ok()?;
                if clock(time).day() == 1 {
                    continue 'again;
                }
            }
            while !has(self.hours, clock(time).hour()) {
                if !moved {
                    let now = clock(time);
                    time = at(now.date().at(now.hour(), 0, 0, 0), zone)?;
                }
                moved = true;
                time = time.checked_add(HOUR).ok()?;
                if clock(time).hour() == 0 {
                    continue 'again;
                }
            }
            while !has(self.minutes, clock(time).minute()) {
                if !moved {
                    time = Timestamp::from_second(time.as_second().div_euclid(60) * 60).ok()?;
                }
                moved = true;
                time = time.checked_add(SignedDuration::from_mins(1)).ok()?;
                if clock(time).minute() == 0 {
                    continue 'again;
                }
            }
            // Seconds are none of the fields: a time fits at the beginning of its minute.
            match i64::from(clock(time).second()) {
                0 => return Some(time),
                second => {
                    moved = true;
                    time = time.checked_add(SignedDuration::from_secs(60 - second)).ok()?;
                }
            }
        }
    }

    fn has_day(&self, clock: DateTime) -> bool {
        let by_date = self.days & (1 << clock.day()) != 0;
        let by_weekday = self.weekdays & (1 << clock.weekday().to_sunday_zero_offset()) != 0;
        if self.both { by_date && by_weekday } else { by_date || by_weekday }
    }
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
