use std::time::Duration;

use coracle_ambient::Timestamp;

use crate::reading::ContainerReading;
use crate::usage::Usage;

/// The usage of one run of a container: a counter that continues when its usage changes, and that can be read for a
/// past moment.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    pub(crate) container: Box<str>,
    began: Timestamp,
    ended: Option<Timestamp>,
    /// Its usage over time; the oldest span first.
    spans: Vec<Span>,
}

/// A time in which the usage settings of a container did not change.
#[derive(Clone, Debug)]
struct Span {
    from: Timestamp,
    /// The counter at the start of the span: billionths of a core, times seconds.
    counted: u64,
    usage: Usage,
}

impl Meter {
    pub(crate) fn new(container: &str, began: Timestamp, usage: Usage) -> Self {
        let spans = vec![Span { from: began, counted: 0, usage }];
        Self { container: container.into(), began, ended: None, spans }
    }

    /// Whether it counts the running container that started then.
    pub(crate) fn counts(&self, began: Timestamp) -> bool {
        self.began == began && self.ended.is_none()
    }

    /// Sets the usage from now on.
    pub(crate) fn change(&mut self, usage: &Usage, now: Timestamp) {
        if self.last().usage != *usage {
            let counted = self.cpu(now);
            self.spans.push(Span { from: now, counted, usage: usage.clone() });
        }
    }

    /// Ends the run.
    pub(crate) fn end(&mut self, at: Timestamp) {
        self.ended.get_or_insert(at.max(self.began));
    }

    /// Forgets spans that are only needed for moments before this one.
    pub(crate) fn forget_before(&mut self, then: Timestamp) {
        let needed = self.spans.iter().rposition(|span| span.from <= then).unwrap_or(0);
        self.spans.drain(..needed);
    }

    /// Whether it ended before this moment; then only its last count is needed.
    pub(crate) fn ended_before(&self, then: Timestamp) -> bool {
        self.ended.is_some_and(|ended| ended < then)
    }

    /// The counter at a moment: billionths of a core, times seconds.
    pub(crate) fn cpu(&self, at: Timestamp) -> u64 {
        let at = self.ended.map_or(at, |ended| ended.min(at)).max(self.began);
        let span = self.span(at);
        let grown = span.usage.cpu.sum(self.age(at)).saturating_sub(span.usage.cpu.sum(self.age(span.from)));
        span.counted.saturating_add(grown)
    }

    /// The reading at a moment; none if the container does not run then.
    pub(crate) fn read(&self, at: Timestamp) -> Option<ContainerReading> {
        if at < self.began || self.ended.is_some_and(|ended| ended <= at) {
            return None;
        }
        let (usage, age) = (&self.span(at).usage, self.age(at));
        Some(ContainerReading {
            name: self.container.to_string(),
            started: self.began,
            cpu: self.cpu(at),
            cpu_now: usage.cpu.at(age),
            memory: usage.memory.at(age),
            storage: usage.storage.at(age),
            pids: usage.pids.at(age),
        })
    }

    /// Its current usage setting.
    pub(crate) fn usage(&self) -> &Usage {
        &self.last().usage
    }

    /// When its usage of anything except CPU time changes next.
    pub(crate) fn changes_after(&self, now: Timestamp) -> Option<Timestamp> {
        let (usage, age) = (self.usage(), self.age(now));
        let courses = [&usage.memory, &usage.storage, &usage.pids];
        let next = courses.into_iter().filter_map(|profile| profile.changes_after(age)).min()?;
        self.began.checked_add(next).ok().filter(|_| self.ended.is_none())
    }

    fn last(&self) -> &Span {
        self.span(Timestamp::MAX)
    }

    fn span(&self, at: Timestamp) -> &Span {
        // The first span always exists and covers all earlier moments.
        self.spans.iter().rev().find(|span| span.from <= at).unwrap_or(&self.spans[0])
    }

    fn age(&self, at: Timestamp) -> Duration {
        Duration::try_from(at.duration_since(self.began)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::Usage;
    use crate::usage_profile::UsageProfile;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_767_225_600 + second).unwrap()
    }

    fn usage(cpu: u64, memory: u64) -> Usage {
        let [cpu, memory] = [cpu, memory].map(UsageProfile::constant);
        Usage { cpu, memory, storage: UsageProfile::constant(0), pids: UsageProfile::constant(1) }
    }

    #[test]
    fn a_counter_continues_when_usage_changes_and_the_past_stays() {
        let mut meter = Meter::new("c", at(0), usage(100, 1));
        meter.change(&usage(100, 1), at(5));
        meter.change(&usage(10, 2), at(10));
        assert_eq!([meter.cpu(at(5)), meter.cpu(at(10)), meter.cpu(at(20))], [500, 1000, 1100]);
        assert_eq!((meter.read(at(9)).unwrap().memory, meter.read(at(10)).unwrap().memory), (1, 2));
        meter.forget_before(at(15));
        assert_eq!((meter.cpu(at(20)), meter.spans.len()), (1100, 1));
        meter.end(at(30));
        assert_eq!((meter.cpu(at(99)), meter.read(at(30)).is_none()), (1200, true));
        assert!(meter.read(at(29)).is_some() && meter.read(at(-1)).is_none());
    }
}
