//! The images of the simulated registry: which exist, how long a pull takes, and what their programs do.

mod image_name;
mod node_images;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle_meta::{Quantity, parse_duration};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};

pub(crate) use self::image_name::{ImageName, is_reference};
pub(crate) use self::node_images::{NodeImages, Pull, Pulled};

/// An image does not exist if its tag or a part of its path is one of these words.
const MISSING: [&str; 5] = ["doesnotexist", "does-not-exist", "nonexistent", "missing", "404"];

/// The entry of all images that no other entry names.
const ALL: &str = "*";

/// The size of an image without an entry that says it, in bytes.
const SIZE: u64 = 64 << 20;

/// The images of a simulated registry.
///
/// All images exist, except those whose tag, or a part of whose path, is `doesnotexist`, `does-not-exist`,
/// `nonexistent`, `missing` or `404`. An entry for an image, or for all tags of an image, takes precedence. The entry
/// `*` is for all other images.
///
/// An image is on every node already, unless an entry says how long a pull of it takes.
///
/// ```
/// use coracle_kubelet::Images;
///
/// let images: Images = serde_json::from_str(
///     r#"{"*": {"pull": "3s"}, "web:1.1": {"exists": false}, "job": {"exits": "3s"}}"#,
/// )?;
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
pub struct Images(#[schemars(with = "BTreeMap<String, Image>")] Arc<Entries>);

#[derive(Debug, Default, PartialEq, Eq)]
struct Entries {
    named: BTreeMap<ImageName, Image>,
    /// The entry of all other images.
    others: Image,
}

/// What is known about an image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Image {
    /// Whether it can be pulled; if absent, its name decides.
    pub(crate) exists: Option<bool>,
    /// How long a pull of it takes; if no entry says it, the image is on every node.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "String")]
    pub(crate) pull: Option<Duration>,
    /// Its size in bytes.
    #[serde(default, deserialize_with = "bytes")]
    #[schemars(with = "String")]
    pub(crate) size: Option<u64>,
    /// Its program exits with code 0 after this time.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "String")]
    pub(crate) exits: Option<Duration>,
    /// Its program exits with code 1 after this time.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "String")]
    pub(crate) crashes: Option<Duration>,
    /// Its program needs this many bytes of memory.
    #[serde(default, deserialize_with = "bytes")]
    #[schemars(with = "String")]
    pub(crate) needs: Option<u64>,
}

impl Images {
    /// Whether the registry has an image.
    pub(crate) fn has(&self, name: &ImageName) -> bool {
        let said = self.find(name).unwrap_or(&self.0.others).exists;
        said.unwrap_or_else(|| !says_missing(name))
    }

    /// What is known about an image, or about all tags of it.
    pub(crate) fn find(&self, name: &ImageName) -> Option<&Image> {
        self.entries(name).next()
    }

    /// How long a pull of an image takes; none if the image is on every node.
    pub(crate) fn pull_time(&self, name: &ImageName) -> Option<Duration> {
        self.entries(name).chain([&self.0.others]).find_map(|image| image.pull)
    }

    /// The size of an image in bytes.
    pub(crate) fn size(&self, name: &ImageName) -> u64 {
        self.entries(name).chain([&self.0.others]).find_map(|image| image.size).unwrap_or(SIZE)
    }

    /// The entries of an image: that of its tag, and that of all its tags.
    fn entries(&self, name: &ImageName) -> impl Iterator<Item = &Image> {
        let named = &self.0.named;
        named.get(name).into_iter().chain(named.get(&name.of_all_tags()))
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

            fn visit_map<A: MapAccess<'de>>(self, mut written: A) -> Result<Images, A::Error> {
                let mut entries = Entries::default();
                let mut has_others = false;
                while let Some(name) = written.next_key::<String>()? {
                    if name != ALL && !is_reference(&name) {
                        return Err(de::Error::custom(format!("`{name}` is not an image name")));
                    }
                    let image: Image = written.next_value()?;
                    image.check(&name).map_err(de::Error::custom)?;
                    let is_second = if name == ALL {
                        entries.others = image;
                        std::mem::replace(&mut has_others, true)
                    } else {
                        entries.named.insert(ImageName::written(&name), image).is_some()
                    };
                    if is_second {
                        return Err(de::Error::custom(format!("image `{name}` has two entries")));
                    }
                }
                Ok(Images(Arc::new(entries)))
            }
        }

        deserializer.deserialize_map(Read)
    }
}

impl Image {
    /// What contradicts itself in the entry of this name, as a sentence.
    fn check(&self, name: &str) -> Result<(), String> {
        if self.exits.is_some() && self.crashes.is_some() {
            return Err(format!("image `{name}` cannot have both exits and crashes"));
        }
        if self.exists == Some(false) && (self.pull.is_some() || self.size.is_some()) {
            return Err(format!("image `{name}` does not exist, so it cannot have pull or size"));
        }
        if name == ALL && (self.exits.is_some() || self.crashes.is_some() || self.needs.is_some()) {
            return Err(format!("the entry `{ALL}` can have exists, pull and size only"));
        }
        Ok(())
    }
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).map(Some).ok_or_else(|| de::Error::custom(format!("`{text}` is not a duration such as 3s")))
}

fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let amount = Quantity::parse(&text).ok().and_then(|amount| u64::try_from(amount.value()).ok());
    amount.map(Some).ok_or_else(|| de::Error::custom(format!("`{text}` is not an amount of bytes such as 300Mi")))
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
            ("web: {needs: much}", "`much` is not an amount of bytes such as 300Mi"),
            ("web: {exits: 1s, crashes: 1s}", "cannot have both exits and crashes"),
            ("web: {exists: true}\ndocker.io/library/web: {exists: false}", "has two entries"),
            ("web: {pull: 3}", "`3` is not a duration such as 3s"),
            ("web: {pull: soon}", "`soon` is not a duration such as 3s"),
            ("web: {size: large}", "`large` is not an amount of bytes such as 300Mi"),
            ("web: {exists: false, pull: 3s}", "image `web` does not exist, so it cannot have pull or size"),
            ("'*': {crashes: 3s}", "the entry `*` can have exists, pull and size only"),
        ] {
            assert!(refusal(yaml).contains(part), "{}", refusal(yaml));
        }
    }

    #[test]
    fn the_time_of_a_pull_is_that_of_the_tag_or_of_all_tags_or_of_all_images() {
        let yaml = "'*': {pull: 3s}\nweb: {pull: 1m, size: 2Mi}\nweb:1: {exits: 5s}\nweb:2: {pull: 0s, size: 3Mi}";
        let images: Images = serde_saphyr::from_str(yaml).unwrap();
        let known = |image: &str| {
            let name = ImageName::of(image).unwrap();
            (images.pull_time(&name).map(|time| time.as_secs()), images.size(&name))
        };
        assert_eq!(known("web:1"), (Some(60), 2 << 20));
        assert_eq!(known("web:2"), (Some(0), 3 << 20));
        assert_eq!(known("other"), (Some(3), SIZE));
        assert_eq!(Images::default().pull_time(&ImageName::of("web:1").unwrap()), None);
    }

    #[test]
    fn a_registry_can_have_only_the_images_that_have_entries() {
        let images: Images = serde_saphyr::from_str("'*': {exists: false}\nweb:1: {pull: 1s}").unwrap();
        let has = |image: &str| images.has(&ImageName::of(image).unwrap());
        assert!(has("web:1") && !has("web:2") && !has("other"));
    }
}
