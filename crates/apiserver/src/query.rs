use std::borrow::Cow;

use coracle_meta::{FieldSelector, Status};
use percent_encoding::percent_decode_str;

/// The parameters of a request's query, decoded, in the order given.
///
/// Values are read as by Go's `url.Values` and apimachinery's conversions: the first value of a name counts, a flag is
/// true for every value except `0` and `false`, and an invalid number is an error of the client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Reads the part of a URL after `?`. Invalid escapes are left as they are.
    pub(crate) fn parse(text: &str) -> Self {
        let pairs = text
            .split('&')
            .filter(|pair| !pair.is_empty() && !pair.contains(';'))
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                (percent_decode(name, Plus::IsSpace), percent_decode(value, Plus::IsSpace))
            })
            .collect();
        Self { pairs }
    }

    /// All names and values.
    pub(crate) fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }

    /// The first value of `name`.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The first value of `name`, or an empty text.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or("")
    }

    /// All values of `name`.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A flag: `None` if absent, true for every value except `0` and `false`.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).map(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// An integer.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let quoted = coracle_meta::go_quote(value);
        let digits = value.strip_prefix(['-', '+']).unwrap_or(value);
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(Status::bad_request(format!("strconv.ParseInt: parsing {quoted}: invalid syntax")));
        }
        match value.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(Status::bad_request(format!("strconv.ParseInt: parsing {quoted}: value out of range"))),
        }
    }

    /// Whether the request is a watch.
    pub(crate) fn is_watch(&self) -> bool {
        self.flag("watch").unwrap_or(false)
    }

    /// The name that the field selector requires, if it is valid as a name in a path.
    pub(crate) fn selected_name(&self) -> Option<String> {
        let selector = FieldSelector::parse(self.get("fieldSelector")?).ok()?;
        let name = selector.exact("metadata.name")?;
        let fits_a_path = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '%']);
        fits_a_path.then(|| name.to_owned())
    }
}

/// The meaning of a plus sign: a space in a query, itself in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plus {
    /// As in a query.
    IsSpace,
    /// As in a path.
    IsItself,
}

/// Decodes `%41`; a percent sign without two hexadecimal digits is left as it is.
pub(crate) fn percent_decode(text: &str, plus: Plus) -> String {
    let spaced = match plus {
        Plus::IsSpace => Cow::Owned(text.replace('+', " ")),
        Plus::IsItself => Cow::Borrowed(text),
    };
    percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn flags_are_true_for_everything_but_zero_and_false() {
        let query = Query::parse("a&b=0&c=False&d=no&e=1");
        assert_eq!(query.flag("a"), Some(true));
        assert_eq!(query.flag("b"), Some(false));
        assert_eq!(query.flag("c"), Some(false));
        assert_eq!(query.flag("d"), Some(true));
        assert_eq!(query.flag("missing"), None);
    }

    #[test]
    fn invalid_numbers_have_gos_errors() {
        let query = Query::parse("limit=x&big=99999999999999999999&n=-4");
        assert_eq!(query.number("limit").unwrap_err().message, "strconv.ParseInt: parsing \"x\": invalid syntax");
        assert!(query.number("big").unwrap_err().message.ends_with("value out of range"));
        assert_eq!(query.number("n").unwrap(), Some(-4));
    }

    #[test]
    fn a_plus_is_a_space_in_a_query_only() {
        assert_eq!(Query::parse("l=a+in+%28b%29").get("l"), Some("a in (b)"));
        assert_eq!(percent_decode("a+b%2Fc", Plus::IsItself), "a+b/c");
        assert_eq!(percent_decode("%zz+100%+%4", Plus::IsSpace), "%zz 100% %4");
    }

    proptest! {
        #[test]
        fn no_query_panics(text in "[ -~é%&=+;]{0,60}") {
            let query = Query::parse(&text);
            let _ = (query.selected_name(), query.is_watch(), query.number("limit").is_ok());
        }
    }
}
