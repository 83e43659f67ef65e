use crate::core_v1::{Taint, Toleration};

impl Toleration {
    /// Whether it covers a taint. In Kubernetes: `Toleration.ToleratesTaint`.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        (self.effect.is_empty() || self.effect == taint.effect)
            && (self.key.is_empty() || self.key == taint.key)
            && match self.operator.as_str() {
                "Exists" => true,
                _ => self.value == taint.value && !self.key.is_empty(),
            }
    }
}
