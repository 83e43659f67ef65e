use std::fmt;

use serde::{Deserialize, Serialize};

/// A number or a text, such as a port by number or name, or a count or a percentage. In Kubernetes: `intstr.IntOrString`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IntOrString {
    /// A number.
    Int(i32),
    /// A text.
    String(String),
}

impl IntOrString {
    /// A number stands for itself, a percentage for that part of `total`, rounded up or down. `None` for other texts.
    ///
    /// In Kubernetes: `intstr.GetScaledValueFromIntOrPercent`.
    pub fn scaled(&self, total: i32, rounding: Rounding) -> Option<i32> {
        let percent = match self {
            Self::Int(value) => return Some(*value),
            Self::String(text) => i64::from(text.strip_suffix('%')?.parse::<i32>().ok()?),
        };
        let product = percent * i64::from(total);
        let part = match rounding {
            Rounding::Up => product.div_euclid(100) + i64::from(product.rem_euclid(100) != 0),
            Rounding::Down => product.div_euclid(100),
        };
        i32::try_from(part).ok()
    }
}

/// Which way a part of a whole is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the next larger number.
    Up,
    /// To the next smaller number.
    Down,
}

impl Default for IntOrString {
    fn default() -> Self {
        Self::Int(0)
    }
}

impl From<i32> for IntOrString {
    fn from(value: i32) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for IntOrString {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl fmt::Display for IntOrString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::String(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_rounded_the_way_it_is_asked_to_be() {
        let quarter = IntOrString::from("25%");
        assert_eq!((quarter.scaled(10, Rounding::Up), quarter.scaled(10, Rounding::Down)), (Some(3), Some(2)));
        assert_eq!(IntOrString::from(7).scaled(10, Rounding::Up), Some(7));
        assert_eq!(IntOrString::from("http").scaled(10, Rounding::Up), None);
    }
}
