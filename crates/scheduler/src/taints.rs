/// A taint of a node. In Kubernetes: `core/v1.Taint`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taint {
    /// The key.
    pub key: String,
    /// The value; may be empty.
    pub value: String,
    /// Its effect on pods that do not tolerate it.
    pub effect: String,
}

/// A toleration of a pod. In Kubernetes: `core/v1.Toleration`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toleration {
    /// The key; empty means every key.
    pub key: String,
    /// Whether any value matches (`operator: Exists`).
    pub any_value: bool,
    /// The value, unless any value matches.
    pub value: String,
    /// The effect; empty means every effect.
    pub effect: String,
}

impl Taint {
    /// A taint without a value.
    pub fn new(key: &str, effect: &str) -> Self {
        Self { key: key.to_owned(), value: String::new(), effect: effect.to_owned() }
    }

    /// Whether its effect is `NoSchedule` or `NoExecute`.
    pub fn keeps_off(&self) -> bool {
        self.effect == "NoSchedule" || self.effect == "NoExecute"
    }
}

impl Toleration {
    /// Whether a taint is tolerated.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        (self.effect.is_empty() || self.effect == taint.effect)
            && (self.key.is_empty() || self.key == taint.key)
            && (self.any_value || (self.value == taint.value && !self.key.is_empty()))
    }
}

/// Whether all taints with effect `NoSchedule` or `NoExecute` are tolerated.
pub(crate) fn tolerated(taints: &[Taint], tolerations: &[Toleration]) -> bool {
    let is_tolerated = |taint: &Taint| tolerations.iter().any(|toleration| toleration.tolerates(taint));
    taints.iter().all(|taint| !taint.keeps_off() || is_tolerated(taint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toleration_matches_its_key_value_and_effect_and_unset_fields_match_all() {
        let taint = Taint { key: "k".to_owned(), value: "v".to_owned(), effect: "NoExecute".to_owned() };
        let toleration = |key: &str, any_value, value: &str, effect: &str| Toleration {
            key: key.to_owned(),
            any_value,
            value: value.to_owned(),
            effect: effect.to_owned(),
        };
        assert!(toleration("k", false, "v", "NoExecute").tolerates(&taint));
        assert!(toleration("k", true, "", "").tolerates(&taint));
        assert!(toleration("", true, "", "").tolerates(&taint));
        assert!(!toleration("k", false, "w", "").tolerates(&taint));
        assert!(!toleration("k", true, "", "NoSchedule").tolerates(&taint));
        assert!(!toleration("j", true, "", "").tolerates(&taint));
    }
}
