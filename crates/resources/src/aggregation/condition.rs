use coracle_meta::fields::Fields;
use serde_json::{Value, json};

/// The desired condition `Available`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) is_true: bool,
    reason: &'static str,
    message: String,
}

impl Condition {
    pub(super) fn local() -> Self {
        Self { is_true: true, reason: "Local", message: "Local APIServices are always available".to_owned() }
    }

    pub(super) fn passed() -> Self {
        Self { is_true: true, reason: "Passed", message: "all checks passed".to_owned() }
    }

    pub(super) fn no(reason: &'static str, message: String) -> Self {
        Self { is_true: false, reason, message }
    }

    /// The conditions with this one; its transition time stays if its status does.
    pub(super) fn among(&self, conditions: &[Value], now: &str) -> Value {
        let status = if self.is_true { "True" } else { "False" };
        let is_this = |condition: &&Value| condition.text("type") == "Available";
        let before = conditions.iter().find(is_this).filter(|condition| condition.text("status") == status);
        let since = before.map_or(now, |condition| condition.text("lastTransitionTime"));
        let this = json!({
            "type": "Available", "status": status, "lastTransitionTime": since,
            "reason": self.reason, "message": self.message,
        });
        let others = conditions.iter().filter(|condition| !is_this(condition)).cloned();
        others.chain([this]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_condition_stays_while_its_status_does() {
        let before = json!([{"type": "Available", "status": "False", "lastTransitionTime": "then", "reason": "A"}]);
        let before = before.as_array().unwrap();
        let still_not = Condition::no("B", String::new()).among(before, "now");
        assert_eq!(still_not[0].text("lastTransitionTime"), "then");
        assert_eq!(still_not[0].text("reason"), "B");
        assert_eq!(Condition::local().among(before, "now")[0].text("lastTransitionTime"), "now");
    }
}
