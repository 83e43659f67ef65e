//! Semantic versions. In Kubernetes: `library.SemverLib`.

use std::cmp::Ordering;

use crate::fault::Fault;
use crate::value::{Opaque, Semver, Value};

use super::function::Function;

pub(super) fn find(name: &str) -> Option<Function> {
    Some(match name {
        "semver" => |arguments, _| match read(arguments)? {
            Ok(version) => Ok(Value::opaque(Opaque::Semver(version))),
            Err(why) => Err(Fault::new(why)),
        },
        "isSemver" => |arguments, _| Ok(Value::Bool(read(arguments)?.is_ok())),
        "major" => |arguments, _| number(only(arguments)?.major),
        "minor" => |arguments, _| number(only(arguments)?.minor),
        "patch" => |arguments, _| number(only(arguments)?.patch),
        _ => return None,
    })
}

fn only<'a>(arguments: &'a [Value<'_>]) -> Result<&'a Semver, Fault> {
    match arguments {
        [Value::Opaque(opaque)] => match &**opaque {
            Opaque::Semver(version) => Ok(version),
            _ => Err(Fault::no_overload()),
        },
        _ => Err(Fault::no_overload()),
    }
}

fn number<'v>(value: u64) -> Result<Value<'v>, Fault> {
    Ok(Value::Int(i64::try_from(value).unwrap_or(i64::MAX)))
}

pub(super) fn compare(one: &Value<'_>, other: &Value<'_>) -> Result<Ordering, Fault> {
    Ok(only(std::slice::from_ref(one))?.compare(only(std::slice::from_ref(other))?))
}

/// Parses a version; the inner error explains why it is invalid.
fn read(arguments: &[Value<'_>]) -> Result<Result<Semver, String>, Fault> {
    match arguments {
        [Value::String(text)] => Ok(parse(text)),
        [Value::String(text), Value::Bool(normalize)] => {
            Ok(if *normalize { normalized(text).and_then(|text| parse(&text)) } else { parse(text) })
        }
        _ => Err(Fault::no_overload()),
    }
}

/// The text without `v` and leading zeros, with three numbers.
fn normalized(text: &str) -> Result<String, String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text.splitn(3, '.').map(str::to_owned).collect();
    for part in parts.iter_mut().filter(|part| part.len() > 1) {
        let short = part.trim_start_matches('0');
        *part =
            if short.starts_with(|sign: char| sign.is_ascii_digit()) { short.to_owned() } else { format!("0{short}") };
    }
    if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
        return Err("short version cannot contain PreRelease/Build meta data".to_owned());
    }
    parts.resize(3, "0".to_owned());
    Ok(parts.join("."))
}

fn parse(text: &str) -> Result<Semver, String> {
    if text.is_empty() {
        return Err("Version string empty".to_owned());
    }
    let parts: Vec<&str> = text.splitn(3, '.').collect();
    let [major, minor, rest] = parts[..] else { return Err("No Major.Minor.Patch elements found".to_owned()) };
    let (rest, build) = rest.split_once('+').map_or((rest, None), |(rest, build)| (rest, Some(build)));
    let (patch, pre) = rest.split_once('-').map_or((rest, None), |(patch, pre)| (patch, Some(pre)));
    let words = |text: Option<&str>, is_pre: bool| {
        let words = text.into_iter().flat_map(|text| text.split('.'));
        words.map(|word| check_word(word, is_pre).map(|()| word.to_owned())).collect::<Result<Vec<_>, _>>()
    };
    Ok(Semver {
        major: digits(major, "Major")?,
        minor: digits(minor, "Minor")?,
        patch: digits(patch, "Patch")?,
        pre: words(pre, true)?,
        build: words(build, false)?,
    })
}

fn digits(text: &str, which: &str) -> Result<u64, String> {
    if !text.bytes().all(|sign| sign.is_ascii_digit()) {
        return Err(format!("Invalid character(s) found in {} number \"{text}\"", which.to_lowercase()));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!("{which} number must not contain leading zeroes \"{text}\""));
    }
    text.parse().map_err(|_| format!("strconv.ParseUint: parsing \"{text}\": invalid syntax"))
}

fn check_word(word: &str, is_pre: bool) -> Result<(), String> {
    let what = if is_pre { "Prerelease" } else { "Build meta data" };
    if word.is_empty() {
        return Err(format!("{what} is empty"));
    }
    let is_number = word.bytes().all(|sign| sign.is_ascii_digit());
    if is_pre && is_number && word.len() > 1 && word.starts_with('0') {
        return Err(format!("Numeric PreRelease version must not contain leading zeroes \"{word}\""));
    }
    if word.bytes().any(|sign| !sign.is_ascii_alphanumeric() && sign != b'-') {
        return Err(format!("Invalid character(s) found in {} \"{word}\"", what.to_lowercase()));
    }
    Ok(())
}

impl std::str::FromStr for Semver {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse(text)
    }
}

impl Semver {
    /// Compares two versions; build metadata is ignored.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let numbers = (self.major, self.minor, self.patch).cmp(&(other.major, other.minor, other.patch));
        numbers.then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => {
                let words = self.pre.iter().zip(&other.pre).map(|(one, other)| compare_words(one, other));
                words.fold(Ordering::Equal, Ordering::then).then(self.pre.len().cmp(&other.pre.len()))
            }
        })
    }
}

fn compare_words(one: &str, other: &str) -> Ordering {
    match (one.parse::<u64>(), other.parse::<u64>()) {
        (Ok(one), Ok(other)) => one.cmp(&other),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => one.cmp(other),
    }
}
