use coracle_meta::parse_duration;
use serde_json::{Value, json};

use crate::plan::Plan;

/// The durations that a fault is tried with, shortest first.
const SHORTER: [&str; 5] = ["20ms", "300ms", "1s", "5s", "20s"];

/// The plans that are a little shorter than a plan: without one of its faults, or with one shorter duration.
pub(crate) fn shorter(plan: &Plan) -> Vec<Plan> {
    let mut plans = Vec::new();
    if plan.faults.len() > 1 {
        for index in 0..plan.faults.len() {
            let mut faults = plan.faults.clone();
            faults.remove(index);
            plans.push(Plan { faults });
        }
    }
    for (index, fault) in plan.faults.iter().enumerate() {
        for changed in shorter_fault(fault) {
            let mut faults = plan.faults.clone();
            faults[index] = changed;
            plans.push(Plan { faults });
        }
    }
    plans
}

fn shorter_fault(fault: &Value) -> Vec<Value> {
    let mut faults = Vec::new();
    for pointer in ["/do/slow", "/do/slow/answer", "/do/lag", "/for"] {
        let Some(duration) = fault.pointer(pointer).and_then(Value::as_str).and_then(parse_duration) else { continue };
        let is_shorter = |text: &&str| parse_duration(text).is_some_and(|shorter| shorter < duration);
        for text in SHORTER.into_iter().filter(is_shorter) {
            let mut changed = fault.clone();
            if let Some(place) = changed.pointer_mut(pointer) {
                *place = json!(text);
            }
            faults.push(changed);
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_loses_faults_first_and_then_time() {
        let one = json!({"do": {"lag": "1s", "kind": "Pod", "to": "a"}, "for": "5s"});
        let other = json!({"do": {"lose": "answer"}});
        let found = shorter(&Plan::of([one.clone(), other.clone()]));
        assert_eq!(found[0], Plan::of([other.clone()]));
        assert_eq!(found[1], Plan::of([one.clone()]));
        let texts: Vec<(String, String)> = found[2..]
            .iter()
            .map(|plan| (plan.faults[0]["do"]["lag"].to_string(), plan.faults[0]["for"].to_string()))
            .collect();
        let pair = |lag: &str, lasts: &str| (format!("{lag:?}"), format!("{lasts:?}"));
        let expected =
            [pair("20ms", "5s"), pair("300ms", "5s"), pair("1s", "20ms"), pair("1s", "300ms"), pair("1s", "1s")];
        assert_eq!(texts, expected);
        assert!(shorter(&Plan::of([other])).is_empty());
    }
}
