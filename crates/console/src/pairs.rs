//! Arguments that are changes: `KEY=VALUE` and `KEY-`, after the arguments that name objects.
//!
//! In Kubernetes: `cmdutil.GetResourcesAndPairs` and `cmdutil.ParsePairs`.

use std::collections::BTreeMap;

use crate::failure::Failure;

/// The arguments that name objects, and those that are changes.
pub(crate) fn split(args: &[String], what: &str) -> Result<(Vec<String>, Vec<String>), Failure> {
    let (mut resources, mut pairs) = (Vec::new(), Vec::new());
    for arg in args {
        let is_pair = (arg.contains('=') && !arg.starts_with('=')) || (arg.ends_with('-') && arg != "-");
        if is_pair {
            pairs.push(arg.clone());
        } else if pairs.is_empty() {
            resources.push(arg.clone());
        } else {
            return Err(Failure::text(format!("all resources must be specified before {what} changes: {arg}")));
        }
    }
    Ok((resources, pairs))
}

/// The values to set, and the keys to remove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) set: BTreeMap<String, String>,
    pub(crate) removed: Vec<String>,
}

impl Changes {
    /// Reads changes; `removes` says whether `KEY-` is one.
    pub(crate) fn parse(pairs: &[String], what: &str, removes: bool) -> Result<Self, Failure> {
        let mut changes = Self::default();
        let mut wrong = Vec::new();
        for pair in pairs {
            match pair.split_once('=').filter(|(key, _)| !key.is_empty()) {
                Some((key, value)) => {
                    changes.set.insert(key.to_owned(), value.to_owned());
                }
                None => match pair.strip_suffix('-').filter(|key| removes && !key.is_empty()) {
                    Some(key) => changes.removed.push(key.to_owned()),
                    None => wrong.push(pair.as_str()),
                },
            }
        }
        if wrong.is_empty() {
            return Ok(changes);
        }
        Err(Failure::text(format!("invalid {what} format: {}", wrong.join(", "))))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.removed.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn changes_follow_the_names_of_objects() {
        let (resources, pairs) = split(&words("pod web a=b c-"), "label").unwrap();
        assert_eq!((resources, pairs.clone()), (words("pod web"), words("a=b c-")));
        let changes = Changes::parse(&pairs, "label", true).unwrap();
        assert_eq!(changes.set["a"], "b");
        assert_eq!(changes.removed, ["c"]);
        assert!(split(&words("a=b pod"), "label").is_err());
        let wrong = Changes::parse(&words("c-"), "image", false).unwrap_err().message();
        assert_eq!(wrong, "error: invalid image format: c-\n");
    }

    proptest! {
        #[test]
        fn no_arguments_panic(args in prop::collection::vec("[a=-]{0,4}", 0..5)) {
            if let Ok((_, pairs)) = split(&args, "label") {
                let _ = Changes::parse(&pairs, "label", true);
            }
        }
    }
}
