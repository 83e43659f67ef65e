use coracle_ambient::SignedDuration;
use serde_json::Value;

use super::argument_form::ArgumentForm;
use super::fault_kind::{FaultEffect, FaultKind, FaultTarget, duration};
use super::operation::ClusterOperation;

/// The largest skew, so that all times remain valid.
const LARGEST: SignedDuration = SignedDuration::from_hours(100 * 365 * 24);

pub(super) const SKEW: FaultKind = FaultKind {
    word: "skew",
    argument: "`{COMPONENT: DURATION}`",
    forms: &[ArgumentForm::OfComponent(&ArgumentForm::SignedDuration)],
    about: "The wall clock of the component is ahead by this duration, or behind if the duration begins with `-`. The \
            component writes wrong times, and decides by a wrong time. Timers are not affected: a pause takes as long as \
            before. `kubelet` is the clock of all simulated nodes, `kubelet/NODE` that of one node.",
    contract: "The clocks of two machines differ, and may be set forward or back at any time. A component may compare a \
               time that another one wrote with its own clock only if it permits such a difference.",
    target: FaultTarget::Cluster,
    effect: FaultEffect::Cluster(|argument, _| {
        let fields = argument.as_object().filter(|fields| fields.len() == 1);
        let Some((component, by)) = fields.and_then(|fields| fields.iter().next()) else {
            return Err(format!("expected `{{COMPONENT: DURATION}}`, found {argument}"));
        };
        match component.split_once('/') {
            Some((process @ "controller-manager", _)) => {
                Err(format!("`{component}` has the clock of its process: use `{process}`"))
            }
            _ => Ok(ClusterOperation::Skew(component.clone(), signed(by)?)),
        }
    }),
};

/// A duration that may be negative, and not zero.
fn signed(by: &Value) -> Result<SignedDuration, String> {
    let text = by.as_str().unwrap_or_default();
    let length = duration(&Value::from(text.strip_prefix('-').unwrap_or(text)));
    let length = length.ok().and_then(|length| SignedDuration::try_from(length).ok());
    match length {
        None => Err(format!("{by} is not a duration such as `500ms`, `30s` or `-5m`")),
        Some(length) if length.is_zero() => Err(format!("a clock that is ahead by {text} is right")),
        Some(length) if length > LARGEST => {
            Err(format!("{text} is more than a clock can be ahead or behind: 100 years"))
        }
        Some(length) if text.starts_with('-') => Ok(-length),
        Some(length) => Ok(length),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_clock_is_ahead_or_behind_by_a_duration() {
        assert_eq!(signed(&json!("1m30s")), Ok(SignedDuration::from_secs(90)));
        assert_eq!(signed(&json!("-500ms")), Ok(SignedDuration::from_millis(-500)));
        for wrong in [json!("0s"), json!("-0s"), json!("--5s"), json!("soon"), json!(30), json!({}), json!("900000h")] {
            assert!(signed(&wrong).is_err(), "{wrong}");
        }
        for wrong in [json!("scheduler"), json!({}), json!({"scheduler": "1s", "kubelet": "1s"})] {
            assert!(SKEW.check(&wrong).unwrap_err().starts_with("expected `{COMPONENT: DURATION}`"), "{wrong}");
        }
        let controller = SKEW.check(&json!({"controller-manager/cronjob": "1s"})).unwrap_err();
        assert_eq!(controller, "`controller-manager/cronjob` has the clock of its process: use `controller-manager`");
    }
}
