use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// How many of the smallest unit (one nano) make one.
const NANOS: i128 = 1_000_000_000;

/// The largest whole amount; larger texts are cut to it, as Kubernetes cuts them.
const MOST: i128 = (i64::MAX as i128) * NANOS;

/// An amount of a resource: `100m`, `1.5Gi`, `2e3`. In Kubernetes: `resource.Quantity`.
///
/// Amounts compare and add exactly, down to one nano (finer ones round up). Printing gives the canonical form: the
/// largest suffix of the family that leaves no fraction.
///
/// ```
/// use coracle_meta::Quantity;
///
/// assert_eq!(Quantity::parse("1.5").unwrap().milli_value(), 1500);
/// assert_eq!(Quantity::parse("64Mi").unwrap().value(), 64 << 20);
/// assert!(Quantity::parse("many").is_err());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

/// The family of suffixes that a quantity was written with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Format {
    /// `n`, `u`, `m`, none, `k`, `M`, `G`, `T`, `P`, `E`
    #[default]
    DecimalSi,
    /// `Ki`, `Mi`, `Gi`, `Ti`, `Pi`, `Ei`
    BinarySi,
    /// `e3`, `E6`
    DecimalExponent,
}

/// The text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// It does not have the form of a quantity at all.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Malformed,
    /// The suffix is unknown.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

impl Quantity {
    /// A whole amount, in the decimal family.
    pub fn of(value: i64) -> Self {
        Self { nanos: i128::from(value) * NANOS, format: Format::DecimalSi }
    }

    /// An amount in thousandths, in the decimal family.
    pub fn of_milli(value: i64) -> Self {
        Self { nanos: i128::from(value) * (NANOS / 1000), format: Format::DecimalSi }
    }

    /// An amount in billionths, in the decimal family.
    pub fn of_nano(value: i64) -> Self {
        Self { nanos: i128::from(value), format: Format::DecimalSi }
    }

    /// The same amount in the binary family.
    #[must_use]
    pub fn in_binary(self) -> Self {
        Self { format: Format::BinarySi, ..self }
    }

    /// Reads the text form.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let (sign, rest) = match text.as_bytes().first() {
            Some(b'-') => (-1, &text[1..]),
            Some(b'+') => (1, &text[1..]),
            Some(_) => (1, text),
            None => return Err(QuantityError::Malformed),
        };
        let end = rest.find(|sign: char| !sign.is_ascii_digit() && sign != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(QuantityError::Malformed);
        }
        let (base, format) = suffix_of(suffix)?;
        let magnitude = base.scale(whole, fraction);
        Ok(Self { nanos: sign * magnitude, format })
    }

    /// The amount, rounded up to a whole number. In Kubernetes: `Quantity.Value`.
    pub fn value(self) -> i64 {
        clamp(div_up(self.nanos, NANOS))
    }

    /// The amount in thousandths, rounded up. In Kubernetes: `Quantity.MilliValue`.
    pub fn milli_value(self) -> i64 {
        clamp(div_up(self.nanos, NANOS / 1000))
    }

    /// The amount in billionths, limited to the range of the type.
    pub fn nano_value(self) -> i64 {
        clamp(self.nanos)
    }

    /// The amount as a floating-point number. In Kubernetes: `Quantity.AsApproximateFloat64`.
    pub fn approximate(self) -> f64 {
        self.nanos as f64 / NANOS as f64
    }

    /// Whether the amount is zero.
    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// Whether the amount is below zero.
    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }
}

/// The factor of a suffix.
enum Base {
    Ten(i32),
    Two(u32),
}

impl Base {
    /// `whole.fraction` times this base, in nanos, rounded up, at most [`MOST`].
    fn scale(&self, whole: &str, fraction: &str) -> i128 {
        let whole = whole.trim_start_matches('0');
        let fraction = fraction.trim_end_matches('0');
        // 20 digits before the point are above the largest amount whatever follows, unless the exponent is negative.
        let digits: String = whole.chars().chain(fraction.chars()).take(34).collect();
        if digits.is_empty() {
            return 0;
        }
        let dropped = whole.len() + fraction.len() - digits.len();
        let mantissa: i128 = digits.parse().expect("at most 34 digits fit 128 bits");
        let mut exponent = 9 + dropped as i64 - fraction.len() as i64;
        let mut mantissa = mantissa;
        match *self {
            Self::Ten(power) => exponent += i64::from(power),
            Self::Two(power) => match mantissa.checked_shl(power).filter(|shifted| shifted >> power == mantissa) {
                Some(shifted) => mantissa = shifted,
                None => return if exponent < -30 { 1 } else { MOST },
            },
        }
        if exponent >= 0 {
            let power = u32::try_from(exponent).ok().and_then(|exponent| 10_i128.checked_pow(exponent));
            power.and_then(|power| mantissa.checked_mul(power)).unwrap_or(MOST).min(MOST)
        } else {
            let power = u32::try_from(-exponent).ok().and_then(|exponent| 10_i128.checked_pow(exponent));
            power.map_or(1, |power| div_up(mantissa, power)).min(MOST)
        }
    }
}

fn suffix_of(suffix: &str) -> Result<(Base, Format), QuantityError> {
    if let Some((_, power)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        return Ok((Base::Two(*power), Format::BinarySi));
    }
    if let Some((_, power)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Ok((Base::Ten(*power), Format::DecimalSi));
    }
    if let Some(exponent) = suffix.strip_prefix(['e', 'E']) {
        let exponent: i32 = exponent.parse().map_err(|_| QuantityError::Suffix)?;
        return Ok((Base::Ten(exponent), Format::DecimalExponent));
    }
    let known = |sign: char| "eEinumkKMGTP+-".contains(sign) || sign.is_ascii_digit();
    Err(if suffix.chars().all(known) { QuantityError::Suffix } else { QuantityError::Malformed })
}

fn div_up(value: i128, by: i128) -> i128 {
    value.div_euclid(by) + i128::from(value.rem_euclid(by) != 0)
}

fn clamp(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        // Below 1024, or with a fraction, the binary family has nothing to say.
        let binary = self.format == Format::BinarySi && self.nanos % NANOS == 0 && (self.nanos / NANOS).abs() >= 1024;
        if binary {
            let value = self.nanos / NANOS;
            let fits = BINARY.iter().rev().find(|(_, power)| value % (1_i128 << power) == 0);
            return match fits {
                Some((name, power)) => write!(f, "{}{name}", value >> power),
                None => write!(f, "{value}"),
            };
        }
        let fits = DECIMAL.iter().rev().find(|(_, power)| self.nanos % 10_i128.pow((power + 9).unsigned_abs()) == 0);
        let (name, power) = fits.expect("every amount is a whole number of nanos");
        let count = self.nanos / 10_i128.pow((power + 9).unsigned_abs());
        match (self.format, power) {
            (Format::DecimalExponent, 0) => write!(f, "{count}"),
            (Format::DecimalExponent, power) => write!(f, "{count}e{power}"),
            _ => write!(f, "{count}{name}"),
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl Add for Quantity {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        // As in Kubernetes, a sum that starts at zero takes the format of the added quantity.
        let format = if self.nanos == 0 { other.format } else { self.format };
        Self { nanos: self.nanos.saturating_add(other.nanos), format }
    }
}

impl AddAssign for Quantity {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Quantity {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        let format = if self.nanos == 0 { other.format } else { self.format };
        Self { nanos: self.nanos.saturating_sub(other.nanos), format }
    }
}

impl SubAssign for Quantity {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl std::str::FromStr for Quantity {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Self::parse(text)
    }
}

impl serde::Serialize for Quantity {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Quantity {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Amount;
        impl serde::de::Visitor<'_> for Amount {
            type Value = Quantity;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Quantity, E> {
                Quantity::parse(text).map_err(E::custom)
            }
            fn visit_i64<E>(self, value: i64) -> Result<Quantity, E> {
                Ok(Quantity::of(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Quantity, E> {
                Ok(Quantity::of(i64::try_from(value).unwrap_or(i64::MAX)))
            }
            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Quantity, E> {
                Quantity::parse(&value.to_string()).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn canonical(text: &str) -> String {
        Quantity::parse(text).unwrap().to_string()
    }

    #[test]
    fn quantities_print_in_the_largest_suffix_that_leaves_no_fraction() {
        for (text, want) in [
            ("0", "0"),
            ("0.0Gi", "0"),
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1500", "1500"),
            ("100000", "100k"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("0.5Ki", "512"),
            ("1000Ki", "1000Ki"),
            ("-1.50", "-1500m"),
            ("1e3", "1e3"),
            ("1E3", "1e3"),
            ("12e-1", "1200e-3"),
            ("+2", "2"),
            (".5", "500m"),
            ("5.", "5"),
            ("1n", "1n"),
            ("0.1n", "1n"),
            ("9999999999999999999999", "9223372036854775807"),
            ("1E", "1E"),
        ] {
            assert_eq!(canonical(text), want, "{text}");
        }
    }

    #[test]
    fn values_round_up() {
        let quantity = Quantity::parse("1001u").unwrap();
        assert_eq!((quantity.value(), quantity.milli_value()), (1, 2));
        assert_eq!(Quantity::parse("2Gi").unwrap().value(), 2 << 30);
    }

    #[test]
    fn invalid_quantities_are_refused() {
        for text in ["", "-", "x", ".", "1.2.3", "1 Gi", "1gi", "1KiB", "1e", "1ee3", "e3"] {
            assert!(Quantity::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_canonical_form_is_read_back_as_the_same_amount(value in -1_000_000_000_000_i64..1_000_000_000_000, suffix in "|n|u|m|k|M|Ki|Mi|Gi|e3|e-3") {
            let quantity = Quantity::parse(&format!("{value}{suffix}")).unwrap();
            let text = quantity.to_string();
            prop_assert_eq!(Quantity::parse(&text).unwrap(), quantity);
            prop_assert_eq!(canonical(&text), text);
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,40}") {
            let _ = Quantity::parse(&text);
        }

        #[test]
        fn no_number_makes_the_parser_panic(text in "[-+]?[0-9]{0,60}\\.?[0-9]{0,60}(|[numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]{0,11})") {
            let _ = Quantity::parse(&text).map(|quantity| quantity.to_string());
        }
    }
}
