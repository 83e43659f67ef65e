use std::time::Duration;

use coracle_meta::{Quantity, parse_duration};

/// The unit of an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Billionths, for cores.
    Nano,
    /// Whole units: bytes, processes.
    One,
}

/// The usage of a container by its age, as a step function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UsageProfile {
    first: u64,
    /// The steps: the age from which on an amount applies, in ascending order.
    later: Box<[(Duration, u64)]>,
}

impl UsageProfile {
    /// A constant amount.
    pub(crate) fn constant(amount: u64) -> Self {
        Self { first: amount, later: Box::default() }
    }

    /// Parses `250m` or a list by age, `100m,10s:500m,1m:20m`. Before the first age of a list that begins with one, the
    /// amount is `default`.
    ///
    /// # Errors
    /// Which part cannot be parsed, and why.
    pub(crate) fn parse(text: &str, unit: Unit, default: u64) -> Result<Self, String> {
        let mut profile = Self::constant(default);
        let mut later: Vec<(Duration, u64)> = Vec::new();
        for (at, part) in text.split(',').map(str::trim).enumerate() {
            match part.split_once(':') {
                None if at == 0 => profile.first = amount(part, unit)?,
                None => return Err(format!("{part:?} does not say from which age on")),
                Some((age, rest)) => {
                    let from = parse_duration(age).ok_or_else(|| format!("{age:?} is no duration"))?;
                    if later.last().is_some_and(|(before, _)| *before >= from) {
                        return Err(format!("{age:?} is not after the age before it"));
                    }
                    later.push((from, amount(rest, unit)?));
                }
            }
        }
        if let Some((_, first)) = later.first().copied().filter(|(from, _)| from.is_zero()) {
            profile.first = first;
            later.remove(0);
        }
        profile.later = later.into();
        Ok(profile)
    }

    /// The same profile, capped at a limit.
    pub(crate) fn at_most(&self, limit: u64) -> Self {
        let later = self.later.iter().map(|(from, amount)| (*from, (*amount).min(limit)));
        Self { first: self.first.min(limit), later: later.collect() }
    }

    /// The amount at an age.
    pub(crate) fn at(&self, age: Duration) -> u64 {
        let passed = self.later.iter().rev().find(|(from, _)| *from <= age);
        passed.map_or(self.first, |(_, amount)| *amount)
    }

    /// The first age at which the amount exceeds `limit`.
    pub(crate) fn exceeds(&self, limit: u64) -> Option<Duration> {
        if self.first > limit {
            return Some(Duration::ZERO);
        }
        self.later.iter().find(|(_, amount)| *amount > limit).map(|(from, _)| *from)
    }

    /// The first age after `age` at which the amount changes.
    pub(crate) fn changes_after(&self, age: Duration) -> Option<Duration> {
        self.later.iter().map(|(from, _)| *from).find(|from| *from > age)
    }

    /// The integral up to an age: amount times seconds.
    pub(crate) fn sum(&self, age: Duration) -> u64 {
        let ends = self.later.iter().map(|(from, _)| *from).chain([Duration::MAX]);
        let steps = [(Duration::ZERO, self.first)].into_iter().chain(self.later.iter().copied());
        let sums = steps.zip(ends).map(|((from, amount), end)| {
            let held = end.min(age).saturating_sub(from);
            u128::from(amount) * held.as_nanos() / 1_000_000_000
        });
        u64::try_from(sums.sum::<u128>()).unwrap_or(u64::MAX)
    }
}

fn amount(text: &str, unit: Unit) -> Result<u64, String> {
    let quantity = Quantity::parse(text.trim()).map_err(|error| format!("{text:?} is no quantity: {error}"))?;
    let value = match unit {
        Unit::Nano => quantity.nano_value(),
        Unit::One => quantity.value(),
    };
    u64::try_from(value).map_err(|_| format!("{text:?} is below zero"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn an_amount_holds_from_its_age_on_until_the_next() {
        let profile = UsageProfile::parse("100m, 10s:500m,1m:20m", Unit::Nano, 7).unwrap();
        let at = |age| profile.at(seconds(age)) / 1_000_000;
        assert_eq!([at(0), at(9), at(10), at(59), at(60), at(9999)], [100, 100, 500, 500, 20, 20]);
        assert_eq!(profile.sum(seconds(70)), 1_000_000_000 + 25_000_000_000 + 200_000_000);
        assert_eq!(
            [50, 400, 500].map(|milli| profile.exceeds(milli * 1_000_000)),
            [Some(seconds(0)), Some(seconds(10)), None]
        );
        let waits = UsageProfile::parse("1m:64Mi", Unit::One, 5).unwrap();
        assert_eq!((waits.at(seconds(59)), waits.at(seconds(60))), (5, 64 << 20));
        assert_eq!(UsageProfile::parse("0s:3", Unit::One, 5).unwrap(), UsageProfile::constant(3));
    }

    #[test]
    fn an_invalid_profile_is_reported() {
        let why = |text: &str| UsageProfile::parse(text, Unit::One, 0).unwrap_err();
        assert!(why("much").starts_with("\"much\" is no quantity: "));
        assert_eq!(why("-1"), "\"-1\" is below zero");
        assert_eq!(why("1,2"), "\"2\" does not say from which age on");
        assert_eq!(why("1,soon:2"), "\"soon\" is no duration");
        assert_eq!(why("1,10s:2,10s:3"), "\"10s\" is not after the age before it");
        assert!(why("").contains("is no quantity"));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*", age in any::<u32>()) {
            if let Ok(profile) = UsageProfile::parse(&text, Unit::Nano, 1) {
                profile.sum(seconds(age.into()));
            }
        }

        #[test]
        fn a_sum_never_falls_and_grows_by_the_usage(
            steps in proptest::collection::btree_map(1..1000_u64, 0..1_000_000_u64, 0..5), age in 0..1200_u64,
        ) {
            let list: Vec<String> = steps.iter().map(|(from, amount)| format!("{from}s:{amount}")).collect();
            let text = [vec!["3".to_owned()], list].concat().join(",");
            let profile = UsageProfile::parse(&text, Unit::One, 0).unwrap();
            let grown = profile.sum(seconds(age + 1)) - profile.sum(seconds(age));
            prop_assert_eq!(grown, profile.at(seconds(age)));
        }
    }
}
