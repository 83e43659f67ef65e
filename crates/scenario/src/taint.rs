use std::str::FromStr;

use serde_json::{Value, json};

/// A change of a node's taints, in the format of `kubectl taint`: `key=value:Effect`, or `key:Effect-`, or `key-`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaintChange {
    pub(crate) key: String,
    pub(crate) value: String,
    /// Empty if all effects of a key are removed.
    pub(crate) effect: String,
    pub(crate) removes: bool,
}

impl FromStr for TaintChange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let removes = text.ends_with('-');
        let (rest, effect) = match text.strip_suffix('-').unwrap_or(text).rsplit_once(':') {
            Some((rest, effect)) => (rest, effect),
            None if removes => (text.strip_suffix('-').unwrap_or(text), ""),
            None => return Err(format!("`{text}` is not a taint such as `key=value:NoSchedule` or `key:NoExecute-`")),
        };
        let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
        let is_effect =
            matches!(effect, "NoSchedule" | "PreferNoSchedule" | "NoExecute") || removes && effect.is_empty();
        if is_effect && !key.is_empty() {
            Ok(Self { key: key.to_owned(), value: value.to_owned(), effect: effect.to_owned(), removes })
        } else {
            Err(format!(
                "`{text}` is not a taint: its effect has to be NoSchedule, PreferNoSchedule or NoExecute, after a key"
            ))
        }
    }
}

/// A taint of the API, from a text such as `key=value:NoSchedule`.
///
/// # Errors
/// What is wrong with the text, as a sentence.
pub fn new_taint(text: &str) -> Result<Value, String> {
    let change: TaintChange = text.parse()?;
    if change.removes {
        Err(format!("`{text}` takes a taint off; nothing has it yet"))
    } else {
        Ok(change.applied(&[]).remove(0))
    }
}

impl TaintChange {
    /// The taints after this change.
    pub(crate) fn applied(&self, taints: &[Value]) -> Vec<Value> {
        let is_same = |taint: &Value| {
            taint["key"] == self.key.as_str() && (self.effect.is_empty() || taint["effect"] == self.effect.as_str())
        };
        let mut after: Vec<_> = taints.iter().filter(|taint| !is_same(taint)).cloned().collect();
        if !self.removes {
            let mut taint = json!({"key": self.key, "effect": self.effect});
            if !self.value.is_empty() {
                taint["value"] = self.value.as_str().into();
            }
            after.push(taint);
        }
        after
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn after(changes: &[&str]) -> Vec<Value> {
        changes.iter().fold(Vec::new(), |taints, text| text.parse::<TaintChange>().unwrap().applied(&taints))
    }

    #[test]
    fn taints_are_put_on_replaced_and_taken_off_as_kubectl_does() {
        let gpu = json!({"key": "gpu", "value": "yes", "effect": "NoSchedule"});
        assert_eq!(after(&["gpu=yes:NoSchedule"]), std::slice::from_ref(&gpu));
        assert_eq!(after(&["gpu=no:NoSchedule", "gpu=yes:NoSchedule"]), std::slice::from_ref(&gpu));
        assert_eq!(after(&["gpu=yes:NoSchedule", "gpu:NoExecute", "gpu:NoExecute-"]), [gpu]);
        assert!(after(&["gpu=yes:NoSchedule", "gpu:NoExecute", "gpu-"]).is_empty());
        for wrong in ["gpu", "gpu:Sometimes", ":NoSchedule", "-", ""] {
            assert!(wrong.parse::<TaintChange>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn an_added_taint_is_there_once_and_no_text_panics(text in "[a-z=:-]{0,8}(:NoSchedule|:NoExecute)?-?") {
            if let Ok(change) = text.parse::<TaintChange>() {
                let once = change.applied(&[]);
                prop_assert_eq!(change.applied(&once), once);
            }
        }
    }
}
