use coracle_scenario::ClaimVerdict;
use serde_json::{Value, json};

use crate::exercise::Exercise;

impl Exercise {
    /// The claims, the hints so far, and the explanation if all claims hold. `failures` is how often they did not, and
    /// counts this time.
    pub fn verdict(&self, claims: &[ClaimVerdict], failures: &mut usize) -> Value {
        let holds = claims.iter().all(|claim| claim.holds);
        *failures += usize::from(!holds);
        let hints: Vec<&String> = self.spec.hints.value.iter().take(*failures).collect();
        let explanation = if holds { self.spec.explanation.as_str() } else { "" };
        json!({"name": self.metadata.name, "claims": claims, "hints": hints, "explanation": explanation})
    }
}
