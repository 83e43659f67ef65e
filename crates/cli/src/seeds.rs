use std::ops::RangeInclusive;
use std::str::FromStr;

/// The most seeds of one command.
const MOST: u64 = 1_000_000;

/// The seeds of `--seeds`: `1..100`, with both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seeds(RangeInclusive<u64>);

impl Seeds {
    /// The seeds, in order.
    pub(crate) fn each(&self) -> impl Iterator<Item = u64> + use<> {
        self.0.clone()
    }
}

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("`{text}` is not a range of seeds such as 1..100");
        let (first, last) = text.split_once("..").ok_or_else(expected)?;
        let number = |word: &str| word.parse::<u64>().map_err(|_| expected());
        let (first, last) = (number(first)?, number(last)?);
        match last.checked_sub(first) {
            None => Err(format!("`{text}` has no seed: the first is larger than the last")),
            Some(more) if more >= MOST => Err(format!("`{text}` has more than {MOST} seeds")),
            Some(_) => Ok(Self(first..=last)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_range_has_both_of_its_ends() {
        assert_eq!("3..5".parse::<Seeds>().unwrap().each().collect::<Vec<_>>(), [3, 4, 5]);
        assert_eq!("7..7".parse::<Seeds>().unwrap().each().collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "5", "5..", "..5", "5..3", "a..b", "-1..3", "0..18446744073709551615"] {
            assert!(text.parse::<Seeds>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[0-9.a]{0,30}") {
            let _ = text.parse::<Seeds>();
        }
    }
}
