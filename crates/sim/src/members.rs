use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The members of a JSON object in their order, with their serialized values.
pub(crate) struct Members<'j>(Vec<(Cow<'j, str>, &'j RawValue)>);

impl<'j> Members<'j> {
    /// `None` if the text is not a JSON object.
    pub(crate) fn of(json: &'j str) -> Option<Self> {
        coracle_meta::json::from_str(json).ok()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'j RawValue> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The value of a string member; empty if it is not a string.
    pub(crate) fn text(&self, name: &str) -> Cow<'j, str> {
        let text = self.get(name).and_then(|value| coracle_meta::json::from_str::<Text<'_>>(value.get()).ok());
        text.map(|Text(text)| text).unwrap_or_default()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'j RawValue)> {
        self.0.iter().map(|(name, value)| (&**name, *value))
    }

    /// Removes a member.
    pub(crate) fn take(&mut self, name: &str) -> Option<&'j RawValue> {
        let place = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.remove(place).1)
    }

    /// Writes the members as a JSON object; `value` writes each value.
    pub(crate) fn write(&self, out: &mut String, mut value: impl FnMut(&str, &'j RawValue, &mut String)) {
        out.push('{');
        for (name, of_it) in self.iter() {
            member(name, out);
            value(name, of_it, out);
        }
        out.push('}');
    }
}

/// Writes the name of a member, after a comma unless it is the first one.
pub(crate) fn member(name: &str, out: &mut String) {
    if !out.ends_with('{') {
        out.push(',');
    }
    if name.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        out.push('"');
        out.push_str(name);
        out.push('"');
    } else {
        out.push_str(&serde_json::to_string(name).expect("a text can be written"));
    }
    out.push(':');
}

impl<'j> Deserialize<'j> for Members<'j> {
    fn deserialize<D: Deserializer<'j>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EachMember)
    }
}

struct EachMember;

impl<'j> Visitor<'j> for EachMember {
    type Value = Members<'j>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<Members<'j>, A::Error> {
        let mut members = Vec::new();
        while let Some(Text(name)) = map.next_key()? {
            members.push((name, map.next_value()?));
        }
        Ok(Members(members))
    }
}

impl<'j> FromIterator<(String, &'j RawValue)> for Members<'j> {
    fn from_iter<I: IntoIterator<Item = (String, &'j RawValue)>>(members: I) -> Self {
        Self(members.into_iter().map(|(name, value)| (Cow::Owned(name), value)).collect())
    }
}

/// A string, which is copied only if it has escapes.
#[derive(Deserialize)]
struct Text<'j>(#[serde(borrow)] Cow<'j, str>);
