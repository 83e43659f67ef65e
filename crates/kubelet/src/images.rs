//! The images of the simulated registry: which exist, and what their programs do.

mod image_name;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle_meta::{Quantity, parse_duration};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};

pub(crate) use self::image_name::{ImageName, is_reference};

/// An image does not exist if its tag or a part of its path is one of these words.
const MISSING: [&str; 5] = ["doesnotexist", "does-not-exist", "nonexistent", "missing", "404"];

/// The images of a simulated registry.
///
/// All images exist, except those whose tag, or a part of whose path, is `doesnotexist`, `does-not-exist`,
/// `nonexistent`, `missing` or `404`. An entry for an image, or for all tags of an image, takes precedence.
///
/// ```
/// use coracle_kubelet::Images;
///
/// let images: Images = serde_json::from_str(r#"{"web:1.1": {"exists": false}, "job": {"exits": "3s"}}"#)?;
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Images(Arc<BTreeMap<ImageName, Image>>);

/// What is known about an image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Image {
    /// Whether it can be pulled; if absent, its name decides.
    pub(crate) exists: Option<bool>,
    /// Its program exits with code 0 after this time.
    #[serde(default, deserialize_with = "duration")]
    pub(crate) exits: Option<Duration>,
    /// Its program exits with code 1 after this time.
    #[serde(default, deserialize_with = "duration")]
    pub(crate) crashes: Option<Duration>,
    /// Its program needs this many bytes of memory.
    #[serde(default, deserialize_with = "bytes")]
    pub(crate) needs: Option<u64>,
}

impl Images {
    /// Whether an image can be pulled.
    pub(crate) fn has(&self, name: &ImageName) -> bool {
        self.find(name).and_then(|image| image.exists).unwrap_or_else(|| !says_missing(name))
    }

    /// What is known about an image, or about all tags of it.
    pub(crate) fn find(&self, name: &ImageName) -> Option<&Image> {
        self.0.get(name).or_else(|| self.0.get(&name.of_all_tags()))
    }
}

fn says_missing(name: &ImageName) -> bool {
    name.path.split('/').chain(name.tag.as_deref()).any(|part| MISSING.contains(&part))
}

impl<'de> Deserialize<'de> for Images {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;

        impl<'de> Visitor<'de> for Read {
            type Value = Images;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a mapping of image names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Images, A::Error> {
                let mut all = BTreeMap::new();
                while let Some(written) = entries.next_key::<String>()? {
                    if !is_reference(&written) {
                        return Err(de::Error::custom(format!("`{written}` is not an image name")));
                    }
                    let image: Image = entries.next_value()?;
                    if image.exits.is_some() && image.crashes.is_some() {
                        return Err(de::Error::custom(format!("image `{written}` cannot have both exits and crashes")));
                    }
                    if all.insert(ImageName::written(&written), image).is_some() {
                        return Err(de::Error::custom(format!("image `{written}` has two entries")));
                    }
                }
                Ok(Images(Arc::new(all)))
            }
        }

        deserializer.deserialize_map(Read)
    }
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).map(Some).ok_or_else(|| de::Error::custom(format!("`{text}` is not a duration such as 3s")))
}

fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let amount = Quantity::parse(&text).ok().and_then(|amount| u64::try_from(amount.value()).ok());
    amount.map(Some).ok_or_else(|| de::Error::custom(format!("`{text}` is not an amount of memory such as 300Mi")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_entries_are_refused_by_name() {
        let refusal = |yaml| serde_saphyr::from_str::<Images>(yaml).unwrap_err().to_string();
        for (yaml, part) in [
            ("web: {exist: false}", "unknown field `exist`"),
            ("Web Server: {exists: false}", "`Web Server` is not an image name"),
            ("web: {exits: soon}", "`soon` is not a duration such as 3s"),
            ("web: {needs: much}", "`much` is not an amount of memory such as 300Mi"),
            ("web: {exits: 1s, crashes: 1s}", "cannot have both exits and crashes"),
            ("web: {exists: true}\ndocker.io/library/web: {exists: false}", "has two entries"),
        ] {
            assert!(refusal(yaml).contains(part), "{}", refusal(yaml));
        }
    }
}
