use std::str::FromStr;
use std::time::Duration;

use coracle_meta::parse_duration;

/// When a search ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Budget {
    /// After a number of plans.
    Plans(usize),
    /// After a time.
    Time(Duration),
}

impl Budget {
    /// How many plans are tried.
    pub(crate) fn plans(self) -> usize {
        match self {
            Self::Plans(plans) => plans,
            Self::Time(_) => usize::MAX,
        }
    }

    /// How long the search lasts.
    pub(crate) fn time(self) -> Option<Duration> {
        match self {
            Self::Plans(_) => None,
            Self::Time(time) => Some(time),
        }
    }
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plans = text.parse::<usize>().ok().filter(|plans| *plans > 0).map(Self::Plans);
        let time = || parse_duration(text).filter(|time| !time.is_zero()).map(Self::Time);
        plans.or_else(time).ok_or_else(|| "expected a number of plans, as in 60, or a time, as in 90s".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_a_number_of_plans_or_a_time() {
        assert_eq!("60".parse(), Ok(Budget::Plans(60)));
        assert_eq!("1m30s".parse(), Ok(Budget::Time(Duration::from_secs(90))));
        for text in ["", "0", "0s", "-1", "many"] {
            assert!(text.parse::<Budget>().is_err(), "{text}");
        }
    }
}
