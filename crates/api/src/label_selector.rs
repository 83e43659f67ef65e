use std::fmt::Write;

use coracle_meta::SelectorError;

use crate::meta_v1::LabelSelector;

impl LabelSelector {
    /// A selector as Go prints it, which is how messages show it.
    ///
    /// ```
    /// use coracle_api::meta_v1::LabelSelector;
    ///
    /// let printed = "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{},}";
    /// assert_eq!(LabelSelector::print(Some(&LabelSelector::default())), printed);
    /// assert_eq!(LabelSelector::print(None), "nil");
    /// ```
    pub fn print(selector: Option<&Self>) -> String {
        let Some(selector) = selector else { return "nil".to_owned() };
        let mut text = "&LabelSelector{MatchLabels:map[string]string{".to_owned();
        for (key, value) in &selector.match_labels {
            let _ = write!(text, "{key}: {value},");
        }
        text.push_str("},MatchExpressions:[]LabelSelectorRequirement{");
        for one in &selector.match_expressions {
            let (key, operator, values) = (&one.key, &one.operator, one.values.join(" "));
            let _ = write!(text, "LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},");
        }
        text.push_str("},}");
        text
    }

    /// The selector, ready to match; an empty one matches everything.
    ///
    /// In Kubernetes: `metav1.LabelSelectorAsSelector`.
    pub fn to_selector(&self) -> Result<coracle_meta::LabelSelector, SelectorError> {
        let labels = self.match_labels.iter().map(|(key, value)| (key.clone(), value.clone()));
        let expressions = self.match_expressions.iter();
        let expressions = expressions.map(|one| (one.key.clone(), one.operator.clone(), one.values.clone()));
        coracle_meta::LabelSelector::of_parts(labels, expressions)
    }

    /// The selector of an object for matching; a missing or invalid selector selects nothing.
    pub fn of_object(selector: Option<&Self>) -> coracle_meta::LabelSelector {
        let selector = selector.and_then(|selector| selector.to_selector().ok());
        selector.unwrap_or_else(coracle_meta::LabelSelector::nothing)
    }
}
