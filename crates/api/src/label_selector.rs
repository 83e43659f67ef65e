use coracle_meta::SelectorError;

use crate::meta_v1::LabelSelector;

impl LabelSelector {
    /// The selector, ready to match; an empty one matches everything.
    ///
    /// In Kubernetes: `metav1.LabelSelectorAsSelector`.
    pub fn to_selector(&self) -> Result<coracle_meta::LabelSelector, SelectorError> {
        let json = serde_json::to_value(self).map_err(|error| SelectorError(error.to_string()))?;
        coracle_meta::LabelSelector::from_json(Some(&json))
    }
}
