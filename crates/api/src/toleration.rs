use crate::core_v1::{Taint, Toleration};

impl Taint {
    /// A taint without a value.
    pub fn new(key: &str, effect: &str) -> Self {
        Self { key: key.to_owned(), effect: effect.to_owned(), ..Self::default() }
    }
}

impl Toleration {
    /// Whether it tolerates a taint. In Kubernetes: `Toleration.ToleratesTaint`.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        (self.effect.is_empty() || self.effect == taint.effect)
            && (self.key.is_empty() || self.key == taint.key)
            && match self.operator.as_str() {
                "Exists" => true,
                _ => self.value == taint.value && !self.key.is_empty(),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toleration_matches_its_key_value_and_effect_and_unset_fields_match_all() {
        let taint = Taint { value: "v".to_owned(), ..Taint::new("k", "NoExecute") };
        let toleration = |key: &str, operator: &str, value: &str, effect: &str| Toleration {
            key: key.to_owned(),
            operator: operator.to_owned(),
            value: value.to_owned(),
            effect: effect.to_owned(),
            ..Toleration::default()
        };
        assert!(toleration("k", "Equal", "v", "NoExecute").tolerates(&taint));
        assert!(toleration("k", "Exists", "", "").tolerates(&taint));
        assert!(toleration("", "Exists", "", "").tolerates(&taint));
        assert!(!toleration("k", "", "w", "").tolerates(&taint));
        assert!(!toleration("", "", "v", "").tolerates(&taint));
        assert!(!toleration("k", "Exists", "", "NoSchedule").tolerates(&taint));
        assert!(!toleration("j", "Exists", "", "").tolerates(&taint));
    }
}
