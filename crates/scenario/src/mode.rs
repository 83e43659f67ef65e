use std::fmt;
use std::str::FromStr;

/// The mode of a cluster's clock while a scenario runs.
///
/// ```
/// use coracle_scenario::Mode;
///
/// assert_eq!("scaled=60".parse(), Ok(Mode::Scaled(60.0)));
/// assert!("fast".parse::<Mode>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// Like the machine's clock.
    Real,
    /// This many times as fast.
    Scaled(f64),
    /// Jumps to the next timer whenever all tasks are idle; equal seeds give equal logs.
    Virtual,
}

/// The text is not a mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a mode; expected `real`, `virtual`, or `scaled=N` with N greater than 0")]
pub struct NotAMode(String);

impl FromStr for Mode {
    type Err = NotAMode;

    fn from_str(text: &str) -> Result<Self, NotAMode> {
        match text.split_once('=') {
            None if text == "real" => Ok(Self::Real),
            None if text == "virtual" => Ok(Self::Virtual),
            Some(("scaled", factor)) => match factor.parse::<f64>() {
                Ok(factor) if factor > 0.0 && factor.is_finite() => Ok(Self::Scaled(factor)),
                _ => Err(NotAMode(text.to_owned())),
            },
            _ => Err(NotAMode(text.to_owned())),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Real => f.write_str("real"),
            Self::Scaled(factor) => write!(f, "scaled={factor}"),
            Self::Virtual => f.write_str("virtual"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_read_back_as_they_print() {
        for text in ["real", "virtual", "scaled=60", "scaled=0.5"] {
            assert_eq!(text.parse::<Mode>().unwrap().to_string(), text);
        }
        for text in ["", "fast", "scaled", "scaled=0", "scaled=-1", "scaled=inf", "scaled=x"] {
            assert!(text.parse::<Mode>().is_err(), "{text}");
        }
    }
}
