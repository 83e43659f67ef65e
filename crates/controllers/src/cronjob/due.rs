//! Which missed time of a schedule is still started, and which time is next.

use coracle_ambient::{TimeShift, Timestamp};
use coracle_api::batch_v1::CronJob;
use coracle_meta::cron::Schedule;
use coracle_meta::parse_time;
use jiff::SignedDuration;

/// More missed times than this are reported as too many.
const MANY: i64 = 100;

/// How long after the scheduled time a CronJob is processed, so that a clock that is slightly behind still finds it
/// due.
const LATER: SignedDuration = SignedDuration::from_millis(100);

/// The missed times of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Missed {
    /// The time after which scheduled times count.
    since: Timestamp,
    /// The latest time that has passed, if any.
    pub(super) latest: Option<Timestamp>,
    /// Approximately how many have passed.
    count: i64,
}

impl Missed {
    /// The missed times at `now`; with `in_time`, only those within the starting deadline. Fails for a schedule that
    /// never occurs, such as the 31st of April.
    ///
    /// In Kubernetes: `mostRecentScheduleTime`.
    pub(super) fn at(cron: &CronJob, now: Timestamp, schedule: &Schedule, in_time: bool) -> Result<Self, String> {
        const NEVER: &str = "time difference between two schedules is less than 1 second";
        let time = |text: &Option<String>| text.as_deref().and_then(parse_time);
        let last = time(&cron.status.last_schedule_time).or_else(|| time(&cron.metadata.creation_timestamp));
        let mut since = last.unwrap_or(Timestamp::UNIX_EPOCH);
        if let Some(seconds) = cron.spec.starting_deadline_seconds.filter(|_| in_time) {
            since = since.max(now.earlier(SignedDuration::from_secs(seconds)));
        }
        let first = schedule.next(since).ok_or(NEVER)?;
        if now < first {
            return Ok(Self { since, latest: None, count: 0 });
        }
        let second = schedule.next(first).ok_or(NEVER)?;
        if now < second {
            return Ok(Self { since, latest: Some(first), count: 0 });
        }
        // The estimate assumes that all times are as far apart as the first two; the last ones are computed exactly.
        let apart = second.duration_since(first).as_secs();
        if apart < 1 {
            return Err(NEVER.to_owned());
        }
        let count = (now.duration_since(first).as_secs() / apart).saturating_add(1);
        let near = first.later(SignedDuration::from_secs((count - 2).saturating_mul(apart)));
        let times = std::iter::successors(schedule.next(near), |time| schedule.next(*time));
        let latest = times.take_while(|time| *time <= now).last();
        Ok(Self { since, latest, count })
    }

    pub(super) fn is_too_much(&self) -> bool {
        self.count > MANY
    }
}

/// How long until the next scheduled time; `None` without one. In Kubernetes: `nextScheduleTimeDuration`.
pub(super) fn until_next(cron: &CronJob, now: Timestamp, schedule: &Schedule) -> Option<SignedDuration> {
    let from = match Missed::at(cron, now, schedule, false) {
        Ok(Missed { latest: Some(latest), .. }) => latest,
        Ok(Missed { since, count: 0, .. }) => since,
        Ok(_) | Err(_) => now,
    };
    Some(schedule.next(from)?.duration_since(now).saturating_add(LATER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cron(created: &str, last: Option<&str>, deadline: Option<i64>) -> CronJob {
        let mut cron = CronJob::default();
        cron.metadata.creation_timestamp = Some(created.to_owned());
        cron.status.last_schedule_time = last.map(str::to_owned);
        cron.spec.starting_deadline_seconds = deadline;
        cron
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn of_several_missed_times_the_latest_counts_and_more_than_a_hundred_are_too_many() {
        let hourly = Schedule::parse("0 * * * *").unwrap();
        let now = at("2026-01-10T10:30:00Z");
        let missed = |cron: &CronJob| Missed::at(cron, now, &hourly, true).unwrap();
        assert_eq!(missed(&cron("2026-01-10T10:10:00Z", None, None)).latest, None);
        let some = missed(&cron("2026-01-01T00:00:00Z", Some("2026-01-10T06:00:00Z"), None));
        assert_eq!((some.latest, some.is_too_much()), (Some(at("2026-01-10T10:00:00Z")), false));
        let many = cron("2026-01-01T00:00:00Z", None, None);
        assert!(missed(&many).is_too_much());
        let in_time = cron("2026-01-01T00:00:00Z", None, Some(1200));
        assert_eq!(missed(&in_time).latest, None, "the deadline of the last one is over");
        assert_eq!(until_next(&many, now, &hourly), Some(SignedDuration::from_secs(1800) + LATER));
    }

    #[test]
    fn a_day_that_never_comes_is_an_error_and_mangled_times_are_none() {
        let never = Schedule::parse("59 23 31 2 *").unwrap();
        let now = at("2026-01-10T10:30:00Z");
        assert!(Missed::at(&cron("2026-01-01T00:00:00Z", None, None), now, &never, true).is_err());
        assert_eq!(until_next(&cron("2026-01-01T00:00:00Z", None, None), now, &never), None);
        let hourly = Schedule::parse("0 * * * *").unwrap();
        let mangled = cron("long ago", Some("9999-12-30T20:00:00Z"), Some(i64::MAX));
        assert!(Missed::at(&mangled, now, &hourly, true).is_ok());
        assert!(Missed::at(&cron("long ago", None, None), now, &hourly, true).unwrap().is_too_much());
    }

    proptest! {
        #[test]
        fn the_latest_missed_time_is_the_last_that_has_come(
            since in 1_700_000_000..1_700_100_000_i64, later in 0..200_000_i64,
            text in prop::sample::select(vec!["*/7 * * * *", "30 6-16/4 * * 1-5", "0 0 1,15 * *", "5 3 * * *"]),
        ) {
            let schedule = Schedule::parse(text).unwrap();
            let (since, now) = (Timestamp::from_second(since).unwrap(), Timestamp::from_second(since + later).unwrap());
            let missed = Missed::at(&cron(&since.to_string(), None, None), now, &schedule, true).unwrap();
            let walked = std::iter::successors(schedule.next(since), |time| schedule.next(*time));
            let expected = walked.take_while(|time| *time <= now).last();
            prop_assert!(missed.latest == expected || (missed.latest.is_none() && missed.count > 0));
        }
    }
}
