//! The types of values that several flags share. Each parser returns what the value must be.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use coracle_meta::{Cidr, NotACidr};

/// Parses a duration in Go's syntax.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    coracle_meta::parse_duration(text).ok_or_else(|| "not a duration such as 15s or 1m30s".to_owned())
}

/// Parses a duration that is longer than zero.
pub(crate) fn positive_duration(text: &str) -> Result<Duration, String> {
    let span = duration(text)?;
    if span.is_zero() { Err("must be longer than zero".to_owned()) } else { Ok(span) }
}

/// CIDRs, separated by commas; an empty value is an empty list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cidrs(pub(crate) Vec<Cidr>);

impl FromStr for Cidrs {
    type Err = NotACidr;

    fn from_str(text: &str) -> Result<Self, NotACidr> {
        let blocks = text.split(',').filter(|block| !block.trim().is_empty());
        blocks.map(|block| Cidr::parse_sloppy(block.trim())).collect::<Result<_, _>>().map(Self)
    }
}

/// Checks CIDRs, separated by commas, and returns the text.
pub(crate) fn cidrs(text: &str) -> Result<String, NotACidr> {
    text.parse::<Cidrs>().map(|_| text.to_owned())
}

/// The name of a file; `None` for an empty value, as in Kubernetes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileName(pub(crate) Option<PathBuf>);

impl From<OsString> for FileName {
    fn from(text: OsString) -> Self {
        Self(Some(PathBuf::from(text)).filter(|path| !path.as_os_str().is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_parsed_as_kubernetes_parses_them() {
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert!(["", "5", "m", "5 m", "-5m", "5y", "soon"].into_iter().all(|text| duration(text).is_err()));
        assert!(positive_duration("0s").is_err() && positive_duration("5m").is_ok());
        assert_eq!("".parse::<Cidrs>().unwrap(), Cidrs::default());
        assert_eq!("10.0.0.0/8, fd00::/48".parse::<Cidrs>().unwrap().0.len(), 2);
        assert!("nowhere".parse::<Cidrs>().is_err());
        assert_eq!(FileName::from(OsString::new()).0, None);
    }
}
