use crate::resource_v1::{DeviceTaint, DeviceTaintSelector, DeviceToleration};

impl DeviceToleration {
    /// Whether it tolerates a taint. In Kubernetes: `resourceclaim.ToleratesTaint`.
    pub fn tolerates(&self, taint: &DeviceTaint) -> bool {
        (self.effect.is_empty() || self.effect == taint.effect)
            && (self.key.is_empty() || self.key == taint.key)
            && match self.operator.as_str() {
                "" | "Equal" => self.value == taint.value,
                "Exists" => true,
                _ => false,
            }
    }
}

impl DeviceTaintSelector {
    /// Whether it selects a device; unset fields select all. In Kubernetes: `ruleMatchesDevice`.
    pub fn selects(&self, driver: &str, pool: &str, device: &str) -> bool {
        let fits = |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|wanted| wanted == name);
        fits(&self.driver, driver) && fits(&self.pool, pool) && fits(&self.device, device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toleration_matches_its_key_value_and_effect_and_unset_fields_match_all() {
        let text = str::to_owned;
        let taint =
            DeviceTaint { key: text("k"), value: text("v"), effect: text("NoExecute"), ..DeviceTaint::default() };
        let tolerates = |key: &str, operator: &str, value: &str, effect: &str| {
            let toleration = DeviceToleration {
                key: text(key),
                operator: text(operator),
                value: text(value),
                effect: text(effect),
                ..DeviceToleration::default()
            };
            toleration.tolerates(&taint)
        };
        assert!(tolerates("k", "Equal", "v", "NoExecute"));
        assert!(tolerates("k", "", "v", ""));
        assert!(tolerates("", "Exists", "", ""));
        assert!(tolerates("", "Equal", "v", ""), "unlike a toleration of a node's taint");
        assert!(!tolerates("k", "Equal", "w", "") && !tolerates("j", "Exists", "", ""));
        assert!(!tolerates("k", "Exists", "", "NoSchedule") && !tolerates("k", "Unlike", "v", ""));
    }

    #[test]
    fn a_selector_selects_the_devices_that_have_all_its_names() {
        let selector = |driver: Option<&str>, device: Option<&str>| DeviceTaintSelector {
            driver: driver.map(str::to_owned),
            device: device.map(str::to_owned),
            ..DeviceTaintSelector::default()
        };
        assert!(selector(None, None).selects("d", "p", "one"));
        assert!(selector(Some("d"), Some("one")).selects("d", "p", "one"));
        assert!(!selector(Some("d"), Some("two")).selects("d", "p", "one"));
        assert!(!selector(Some("e"), None).selects("d", "p", "one"));
    }
}
