use std::str::FromStr;

use anyhow::Result;
use coracle_control::ClusterTime;
use tokio::runtime::Handle;

/// The value of `--time`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum TimeFlag {
    /// The machine's time.
    #[default]
    Real,
    /// It stands still until it is advanced.
    Stepped,
    /// This many times as fast as the machine's.
    Scaled(f64),
}

impl FromStr for TimeFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let factor = |text: &str| text.parse::<f64>().ok().filter(|factor| factor.is_finite() && *factor > 0.0);
        match text {
            "real" => Ok(Self::Real),
            "stepped" => Ok(Self::Stepped),
            _ => text
                .strip_prefix("scaled=")
                .and_then(factor)
                .map(Self::Scaled)
                .ok_or_else(|| "expected real, stepped, or scaled=N as in scaled=60".to_owned()),
        }
    }
}

impl TimeFlag {
    /// Starts a clock; real time runs on the runtime of the caller.
    pub(crate) fn start(self) -> Result<ClusterTime> {
        Ok(match self {
            Self::Real => ClusterTime::Real(Handle::current()),
            Self::Stepped => ClusterTime::stepped()?,
            Self::Scaled(factor) => ClusterTime::scaled(factor)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_real_stepped_or_scaled_by_a_positive_number() {
        assert_eq!("stepped".parse(), Ok(TimeFlag::Stepped));
        assert_eq!("scaled=0.5".parse(), Ok(TimeFlag::Scaled(0.5)));
        for wrong in ["", "virtual", "scaled", "scaled=0", "scaled=-1", "scaled=inf", "scaled=fast"] {
            assert!(wrong.parse::<TimeFlag>().unwrap_err().contains("scaled=N"), "{wrong}");
        }
    }
}
