//! Parses and prints times like Go. `jiff` ends a day before the end of the year 9999 and accepts more than RFC 3339,
//! so neither its range nor its parser match the API.
//!
//! In Kubernetes: `metav1.Time` and `metav1.MicroTime` with Go's `time.Parse`.

use std::fmt::Write as _;

/// The format of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Whole seconds; a fraction is parsed and dropped. In Kubernetes: `metav1.Time`.
    Seconds,
    /// Exactly six digits of a second. In Kubernetes: `metav1.MicroTime`.
    Micros,
}

/// Whether a text is a time in UTC that is printed as it is, for certain: a usual time, as this server writes it. Cheaper
/// than parsing and printing.
pub(crate) fn is_plain(text: &str, layout: Layout) -> bool {
    let bytes = text.as_bytes();
    let pattern: &[u8] = match layout {
        Layout::Seconds => b"0000-00-00T00:00:00Z",
        Layout::Micros => b"0000-00-00T00:00:00.000000Z",
    };
    let has_form = bytes.len() == pattern.len()
        && bytes
            .iter()
            .zip(pattern)
            .all(|(byte, form)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form });
    let two = |at: usize| (bytes[at] - b'0') * 10 + (bytes[at + 1] - b'0');
    // Every month has 28 days.
    has_form
        && bytes[0] != b'0'
        && (1..=12).contains(&two(5))
        && (1..=28).contains(&two(8))
        && two(11) < 24
        && two(14) < 60
        && two(17) < 60
}

impl Layout {
    fn as_str(self) -> &'static str {
        match self {
            Self::Seconds => "2006-01-02T15:04:05Z07:00",
            Self::Micros => "2006-01-02T15:04:05.000000Z07:00",
        }
    }
}

/// A moment: seconds since 1970 and microseconds within the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GoTime {
    seconds: i64,
    micros: u32,
}

/// 0001-01-01T00:00:00Z, which Go prints as null.
const ZERO_SECONDS: i64 = -62_135_596_800;
/// The maximum year that can be printed, far beyond what Go parses.
const MOST_YEARS: i64 = 999_999;
const DAY: i64 = 86_400;
/// The days of 400 years, after which the calendar repeats.
const DAYS_OF_CYCLE: i64 = 146_097;

impl GoTime {
    /// The time in a protobuf message; `None` outside the years that can be printed.
    pub(crate) fn new(seconds: i64, nanos: i32, layout: Layout) -> Option<Self> {
        let seconds = seconds.checked_add(i64::from(nanos.div_euclid(1_000_000_000)))?;
        let micros = match layout {
            Layout::Seconds => 0,
            Layout::Micros => u32::try_from(nanos.rem_euclid(1_000_000_000) / 1000).ok()?,
        };
        let most = MOST_YEARS * 365 * DAY;
        (-most..most).contains(&seconds).then_some(Self { seconds, micros })
    }

    /// Parses a text like Go.
    ///
    /// # Errors
    /// The words of Go's `time.ParseError`.
    pub(crate) fn parse(text: &str, layout: Layout) -> Result<Self, String> {
        Reader { text, rest: text.as_bytes(), layout }.time()
    }

    /// Parses the output of [`print`](Self::print), including years that Go does not parse.
    pub(crate) fn read_printed(text: &str, layout: Layout) -> Option<Self> {
        let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
        let (year, rest) = digits.split_once('-')?;
        if !(4..=6).contains(&year.len()) || !year.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        if sign > 0 && year.len() == 4 {
            return Self::parse(text, layout).ok();
        }
        let year = sign * year.parse::<i64>().ok()?;
        let (cycles, within) = (year.div_euclid(400), year.rem_euclid(400));
        let known = Self::parse(&format!("{within:04}-{rest}"), layout).ok()?;
        Some(Self { seconds: known.seconds + cycles * DAYS_OF_CYCLE * DAY, ..known })
    }

    /// Seconds since 1970, rounded down.
    pub(crate) fn seconds(self) -> i64 {
        self.seconds
    }

    /// Nanoseconds within the second, in whole microseconds.
    pub(crate) fn nanos(self) -> u32 {
        self.micros * 1000
    }

    /// The time in UTC; `None` for Go's zero time, which is printed as null.
    pub(crate) fn print(self, layout: Layout) -> Option<String> {
        let micros = if layout == Layout::Micros { self.micros } else { 0 };
        if (self.seconds, micros) == (ZERO_SECONDS, 0) {
            return None;
        }
        let (year, month, day) = civil(self.seconds.div_euclid(DAY));
        let second = self.seconds.rem_euclid(DAY);
        let mut text = String::with_capacity(27);
        if year < 0 {
            text.push('-');
        }
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let _ = write!(text, "{:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}", year.abs());
        if layout == Layout::Micros {
            let _ = write!(text, ".{micros:06}");
        }
        text.push('Z');
        Some(text)
    }
}

/// Year, month and day of a day since 1970, in the proleptic Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    // Years start in March, so that the leap day is the last day of its year.
    let days = days + 719_468;
    let (cycle, day_of_cycle) = (days.div_euclid(DAYS_OF_CYCLE), days.rem_euclid(DAYS_OF_CYCLE));
    let year = (day_of_cycle - day_of_cycle / 1460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (cycle * 400 + year + i64::from(month <= 2), month, day)
}

/// The day since 1970 of a year, month and day.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (cycle, year) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    cycle * DAYS_OF_CYCLE + year * 365 + year / 4 - year / 100 + day_of_year - 719_468
}

fn days_in(month: i64, year: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Why an element of a layout cannot be parsed.
enum Misfit {
    /// It has another format.
    Form,
    /// Its number is too large or too small.
    Range(&'static str),
}

/// A text that is parsed element by element.
struct Reader<'t> {
    text: &'t str,
    rest: &'t [u8],
    layout: Layout,
}

impl<'t> Reader<'t> {
    fn time(mut self) -> Result<GoTime, String> {
        let year = self.element("2006", Self::year)?;
        self.sign("-")?;
        let month = self.element("01", |reader| reader.within(true, 1..=12, "month"))?;
        self.sign("-")?;
        let day = self.element("02", |reader| reader.number(true).ok_or(Misfit::Form))?;
        self.sign("T")?;
        let hour = self.element("15", |reader| reader.within(false, 0..=23, "hour"))?;
        self.sign(":")?;
        let minute = self.element("04", |reader| reader.within(true, 0..=59, "minute"))?;
        self.sign(":")?;
        let second = self.element("05", |reader| reader.within(true, 0..=59, "second"))?;
        let micros = match self.layout {
            Layout::Seconds => self.any_fraction(),
            Layout::Micros => self.element(".000000", Self::six_digits)?,
        };
        let offset = self.element("Z07:00", Self::offset)?;
        if !self.rest.is_empty() {
            return Err(format!("parsing time {}: extra text: {}", quote(self.text.as_bytes()), quote(self.rest)));
        }
        if !(1..=days_in(month, year)).contains(&day) {
            return Err(self.out_of_range("day"));
        }
        let of_day = hour * 3600 + minute * 60 + second;
        Ok(GoTime { seconds: days_since_1970(year, month, day) * DAY + of_day - offset, micros })
    }

    /// Parses an element; the error shows the text from its beginning.
    fn element<T>(&mut self, element: &str, read: impl FnOnce(&mut Self) -> Result<T, Misfit>) -> Result<T, String> {
        let before = self.rest;
        read(self).map_err(|misfit| match misfit {
            Misfit::Form => format!(
                "parsing time {} as {}: cannot parse {} as {}",
                quote(self.text.as_bytes()),
                quote(self.layout.as_str().as_bytes()),
                quote(before),
                quote(element.as_bytes())
            ),
            Misfit::Range(what) => self.out_of_range(what),
        })
    }

    fn out_of_range(&self, what: &str) -> String {
        format!("parsing time {}: {what} out of range", quote(self.text.as_bytes()))
    }

    fn sign(&mut self, sign: &str) -> Result<(), String> {
        self.element(sign, |reader| {
            reader.rest = reader.rest.strip_prefix(sign.as_bytes()).ok_or(Misfit::Form)?;
            Ok(())
        })
    }

    fn year(&mut self) -> Result<i64, Misfit> {
        let (year, rest) = self.rest.split_at_checked(4).ok_or(Misfit::Form)?;
        let year = digits(year).ok_or(Misfit::Form)?;
        self.rest = rest;
        Ok(year)
    }

    /// One or two digits, or exactly two.
    fn number(&mut self, is_fixed: bool) -> Option<i64> {
        let length = match *self.rest {
            [first, second, ..] if first.is_ascii_digit() && second.is_ascii_digit() => 2,
            [first, ..] if first.is_ascii_digit() && !is_fixed => 1,
            _ => return None,
        };
        let (number, rest) = self.rest.split_at(length);
        self.rest = rest;
        digits(number)
    }

    fn within(
        &mut self,
        is_fixed: bool,
        range: std::ops::RangeInclusive<i64>,
        what: &'static str,
    ) -> Result<i64, Misfit> {
        let number = self.number(is_fixed).ok_or(Misfit::Form)?;
        if range.contains(&number) { Ok(number) } else { Err(Misfit::Range(what)) }
    }

    /// Go accepts a fraction after the seconds even if the layout has none.
    fn any_fraction(&mut self) -> u32 {
        let [b'.' | b',', fraction @ ..] = self.rest else { return 0 };
        let length = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if length > 0 {
            self.rest = &fraction[length..];
        }
        0
    }

    fn six_digits(&mut self) -> Result<u32, Misfit> {
        let (fraction, rest) = self.rest.split_at_checked(7).ok_or(Misfit::Form)?;
        let (point, number) = fraction.split_at(1);
        if !matches!(point, b"." | b",") {
            return Err(Misfit::Form);
        }
        // Go parses the digits as a number, which can have a sign.
        let number = match number {
            [b'-', number @ ..] if digits(number).is_some_and(|number| number > 0) => {
                return Err(Misfit::Range("fractional second"));
            }
            [b'+' | b'-', number @ ..] | number => digits(number).ok_or(Misfit::Form)?,
        };
        self.rest = rest;
        u32::try_from(number).map_err(|_| Misfit::Form)
    }

    /// The offset from UTC in seconds. Go accepts 24 hours and 60 minutes.
    fn offset(&mut self) -> Result<i64, Misfit> {
        if let Some(rest) = self.rest.strip_prefix(b"Z") {
            self.rest = rest;
            return Ok(0);
        }
        let (offset, rest) =
            self.rest.split_at_checked(6).filter(|(offset, _)| offset[3] == b':').ok_or(Misfit::Form)?;
        self.rest = rest;
        let hours = digits(&offset[1..3]);
        let minutes = hours.and_then(|_| digits(&offset[4..6]));
        if hours.is_some_and(|hours| hours > 24) {
            return Err(Misfit::Range("time zone offset hour"));
        }
        if minutes.is_some_and(|minutes| minutes > 60) {
            return Err(Misfit::Range("time zone offset minute"));
        }
        let (Some(hours), Some(minutes)) = (hours, minutes) else { return Err(Misfit::Form) };
        match offset[0] {
            b'+' => Ok((hours * 60 + minutes) * 60),
            b'-' => Ok(-(hours * 60 + minutes) * 60),
            _ => Err(Misfit::Form),
        }
    }
}

/// The number of some digits.
fn digits(text: &[u8]) -> Option<i64> {
    let all = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    all.then(|| text.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
}

/// Quotes a text like Go's `time`: byte by byte where it is not ASCII.
fn quote(text: &[u8]) -> String {
    let mut quoted = String::from("\"");
    for byte in text {
        match byte {
            b'"' | b'\\' => {
                quoted.push('\\');
                quoted.push(char::from(*byte));
            }
            b' '..=0x7f => quoted.push(char::from(*byte)),
            _ => {
                let _ = write!(quoted, "\\x{byte:02x}");
            }
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn printed(text: &str, layout: Layout) -> Result<Option<String>, String> {
        GoTime::parse(text, layout).map(|time| time.print(layout))
    }

    #[test]
    fn usual_times_are_plain() {
        assert!(is_plain("2026-01-02T03:04:05Z", Layout::Seconds));
        assert!(is_plain("2026-12-28T23:59:59.000001Z", Layout::Micros));
        assert!(!is_plain("2026-01-02T03:04:05.000001Z", Layout::Seconds));
        assert!(!is_plain("2026-01-02T03:04:05Z", Layout::Micros));
    }

    proptest! {
        #[test]
        fn a_plain_time_is_printed_as_it_was_read(
            text in "[0-2][0-9]{3}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{5,7})?[Zz+]"
        ) {
            for layout in [Layout::Seconds, Layout::Micros] {
                if is_plain(&text, layout) {
                    prop_assert_eq!(printed(&text, layout), Ok(Some(text.clone())));
                    let read = GoTime::read_printed(&text, layout).and_then(|time| time.print(layout));
                    prop_assert_eq!(read.as_ref(), Some(&text));
                }
            }
        }
    }

    #[test]
    fn times_are_read_and_printed_as_go_does() {
        for (text, expected) in [
            ("2026-01-02T03:04:05Z", Some("2026-01-02T03:04:05Z")),
            ("2026-01-02T3:04:05Z", Some("2026-01-02T03:04:05Z")),
            ("2026-01-02T03:04:05,1234567890123Z", Some("2026-01-02T03:04:05Z")),
            ("1969-12-31T23:59:59.9Z", Some("1969-12-31T23:59:59Z")),
            ("2026-01-02T03:04:05+24:00", Some("2026-01-01T03:04:05Z")),
            ("2026-01-02T03:04:05+01:60", Some("2026-01-02T01:04:05Z")),
            ("0000-01-01T00:00:00+01:00", Some("-0001-12-31T23:00:00Z")),
            ("0001-01-01T01:00:00.000001+01:00", None),
            ("9999-12-31T23:59:59-01:00", Some("10000-01-01T00:59:59Z")),
        ] {
            assert_eq!(printed(text, Layout::Seconds), Ok(expected.map(str::to_owned)), "{text}");
        }
        for (text, expected) in [
            ("2026-01-02T03:04:05.000000Z", Some("2026-01-02T03:04:05.000000Z")),
            ("2026-01-02T03:04:05,+12345+01:00", Some("2026-01-02T02:04:05.012345Z")),
            ("0001-01-01T00:00:00.000000Z", None),
            ("0001-01-01T00:00:00.000001Z", Some("0001-01-01T00:00:00.000001Z")),
        ] {
            assert_eq!(printed(text, Layout::Micros), Ok(expected.map(str::to_owned)), "{text}");
        }
    }

    #[test]
    fn errors_have_the_words_of_go() {
        let shown = |element: &str, rest: &str| format!(": cannot parse {rest:?} as {element:?}");
        for (text, expected) in [
            ("yesterday", shown("2006", "yesterday")),
            ("2026-1-02", shown("01", "1-02")),
            ("2026-01-02", shown("T", "")),
            ("2026-01-02T03:04:05", shown("Z07:00", "")),
            ("2026-01-02T03:04:05z", shown("Z07:00", "z")),
            ("2026-01-02T03:04:05+0100", shown("Z07:00", "+0100")),
            ("2026-13-01T00:00:00Z", ": month out of range".to_owned()),
            ("2026-02-30T00:00:00Z", ": day out of range".to_owned()),
            ("2026-01-02T24:00:00Z", ": hour out of range".to_owned()),
            ("2026-01-02T23:59:60Z", ": second out of range".to_owned()),
            ("2026-01-02T03:04:05+25:00", ": time zone offset hour out of range".to_owned()),
            ("2026-01-02T03:04:05Zx", ": extra text: \"x\"".to_owned()),
            ("\u{e9}", ": cannot parse \"\\xc3\\xa9\" as \"2006\"".to_owned()),
        ] {
            let error = GoTime::parse(text, Layout::Seconds).unwrap_err();
            assert!(error.ends_with(&expected), "{error}");
        }
        for (text, expected) in [
            ("2026-01-01T00:00:00Z", shown(".000000", "Z")),
            ("2026-01-01T00:00:00.123Z", shown(".000000", ".123Z")),
            ("2026-01-01T00:00:00.123456789Z", shown("Z07:00", "789Z")),
            ("2026-01-01T00:00:00.-12345Z", ": fractional second out of range".to_owned()),
        ] {
            let error = GoTime::parse(text, Layout::Micros).unwrap_err();
            assert!(error.ends_with(&expected), "{error}");
        }
    }

    proptest! {
        #[test]
        fn printed_times_are_parsed_again(seconds in -100_000_000_000_000_i64..100_000_000_000_000, nanos in 0..1_000_000_000_i32) {
            for layout in [Layout::Seconds, Layout::Micros] {
                if let Some(time) = GoTime::new(seconds, nanos, layout) && let Some(text) = time.print(layout) {
                    prop_assert_eq!(GoTime::read_printed(&text, layout), Some(time), "{}", text);
                }
            }
        }

        #[test]
        fn four_digit_years_are_those_of_jiff(seconds in -62_135_596_799_i64..253_402_200_000) {
            let expected = jiff::Timestamp::from_second(seconds).unwrap().to_string();
            let time = GoTime::new(seconds, 0, Layout::Seconds).unwrap();
            prop_assert_eq!(time.print(Layout::Seconds), Some(expected.clone()));
            prop_assert_eq!(GoTime::parse(&expected, Layout::Seconds), Ok(time));
        }

        #[test]
        fn no_text_panics(text in "[0-9TZ:.,+ \u{e9}-]{0,30}") {
            for layout in [Layout::Seconds, Layout::Micros] {
                let _ = GoTime::parse(&text, layout);
                let _ = GoTime::read_printed(&text, layout);
            }
        }
    }
}
