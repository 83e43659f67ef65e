/// What a refusal of the API server says of a webhook that it cannot call, and what to do about it.
const HINTS: [(&str, &str); 2] = [
    (
        "conversion webhook for",
        "the webhooks of the controller are not called: give a sample of the stored version, or a definition without \
         `spec.conversion`",
    ),
    ("failed calling webhook", "the webhooks of the controller are not called: give no configuration of webhooks"),
];

/// A refusal, with what to do if it is about a webhook.
pub(crate) fn with_hint(why: String) -> String {
    match HINTS.iter().find(|(text, _)| why.contains(text)) {
        Some((_, hint)) => format!("{why}; {hint}"),
        None => why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_that_cannot_be_called_is_explained_and_nothing_else_is() {
        let refusal = "conversion webhook for example.com/v2, Kind=Foo failed: services \"webhook\" not found";
        assert!(with_hint(refusal.to_owned()).starts_with(&format!("{refusal}; the webhooks of the controller")));
        assert!(with_hint("failed calling webhook \"v\"".to_owned()).ends_with("give no configuration of webhooks"));
        assert_eq!(with_hint("it is invalid".to_owned()), "it is invalid");
    }
}
