use coracle_sim::checks::Finding;

/// A deviation that is no fault of the component: Kubernetes does the same, or the scenario does not permit the fault.
#[derive(Clone, Copy, Debug)]
pub struct Accepted {
    /// The name of the scenario; `*` for all.
    pub scenario: &'static str,
    /// The word of the check.
    pub word: &'static str,
    /// A part of what is wrong; it may be empty.
    pub part: &'static str,
    /// Why.
    pub reason: &'static str,
}

impl Accepted {
    /// Whether it is about this deviation in this scenario.
    pub(crate) fn covers(&self, scenario: &str, deviation: &Finding) -> bool {
        let is_there = self.scenario == "*" || self.scenario == scenario;
        is_there && self.word == deviation.check.word && deviation.violation.what.contains(self.part)
    }
}

#[cfg(test)]
mod tests {
    use coracle_sim::checks::{BREAKS_PROPERTY, Violation};

    use super::*;

    #[test]
    fn an_accepted_deviation_is_of_its_scenario_its_check_and_its_text() {
        let accepted = |scenario, word, part| Accepted { scenario, word, part, reason: "as in Kubernetes" };
        let violation = Violation { what: "at most three pods".to_owned(), entry: None };
        let found = Finding { check: &BREAKS_PROPERTY, component: String::new(), violation };
        for (one, covers) in [
            (accepted("web", "breaks-property", "three pods"), true),
            (accepted("*", "breaks-property", ""), true),
            (accepted("other", "breaks-property", ""), false),
            (accepted("web", "panics", ""), false),
            (accepted("web", "breaks-property", "four pods"), false),
        ] {
            assert_eq!(one.covers("web", &found), covers, "{one:?}");
        }
    }
}
