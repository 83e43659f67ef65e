use coracle_meta::SelectorError;

use crate::meta_v1::LabelSelector;

impl LabelSelector {
    /// The selector, ready to match; an empty one matches everything.
    ///
    /// In Kubernetes: `metav1.LabelSelectorAsSelector`.
    pub fn to_selector(&self) -> Result<coracle_meta::LabelSelector, SelectorError> {
        let labels = self.match_labels.iter().map(|(key, value)| (key.clone(), value.clone()));
        let expressions = self.match_expressions.iter();
        let expressions = expressions.map(|one| (one.key.clone(), one.operator.clone(), one.values.clone()));
        coracle_meta::LabelSelector::of_parts(labels, expressions)
    }
}
