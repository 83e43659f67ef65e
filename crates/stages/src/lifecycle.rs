//! Chooses the next stage. In KWOK: `lifecycle.Lifecycle`.

use std::sync::Arc;

use coracle_ambient::Random;
use serde_json::Value as Json;

use crate::stage::Stage;

/// The stages of one kind.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    stages: Vec<Arc<Stage>>,
}

impl Lifecycle {
    /// A lifecycle with these stages, in this order.
    pub fn new(stages: Vec<Arc<Stage>>) -> Self {
        Self { stages }
    }

    /// The stages that match, and their weights. In KWOK: `ListAllPossible`.
    pub(crate) fn possible(&self, object: &Json) -> Result<Vec<(&Arc<Stage>, i64)>, String> {
        let matching: Vec<&Arc<Stage>> = self.stages.iter().filter(|stage| stage.matches(object)).collect();
        if let [stage] = matching.as_slice() {
            return Ok(vec![(stage, 1)]);
        }
        let mut weights = Vec::new();
        for stage in &matching {
            weights.push(stage.weight(object)?);
        }
        let is_weighted = weights.iter().any(|weight| weight.is_some_and(|weight| weight > 0));
        let none_counts = weights.iter().all(Option::is_none);
        let chosen = matching.into_iter().zip(weights).filter_map(|(stage, weight)| match weight {
            Some(weight) if is_weighted => (weight > 0).then_some((stage, weight)),
            Some(_) => Some((stage, 1)),
            None => none_counts.then_some((stage, 1)),
        });
        Ok(chosen.collect())
    }

    /// The stage that comes next; none if no stage matches.
    pub(crate) fn choose(&self, object: &Json, random: impl FnOnce() -> Random) -> Result<Option<Arc<Stage>>, String> {
        let possible = self.possible(object)?;
        if let [(stage, _)] = possible.as_slice() {
            return Ok(Some(Arc::clone(stage)));
        }
        let total = possible.iter().fold(0_i64, |total, (_, weight)| total.saturating_add(*weight));
        let Ok(total) = u64::try_from(total) else { return Ok(None) };
        if total == 0 {
            return Ok(None);
        }
        let mut left = i64::try_from(random().below(total)).unwrap_or(i64::MAX);
        for (stage, weight) in &possible {
            left = left.saturating_sub(*weight);
            if left < 0 {
                return Ok(Some(Arc::clone(stage)));
            }
        }
        Ok(possible.last().map(|(stage, _)| Arc::clone(stage)))
    }
}
