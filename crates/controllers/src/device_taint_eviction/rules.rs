use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Clock;
use coracle_api::meta_v1::Condition;
use coracle_api::resource_v1::DeviceTaintRule;
use coracle_client::{Patch, WriteParams};
use coracle_controller_runtime::{Action, Pass, ReconcileError, unless_gone};
use coracle_meta::{ObjectKey, Resource, format_time, parse_time};
use serde_json::json;

use super::caches::Caches;
use super::condition::{EVICTION_IN_PROGRESS, RuleCounts, condition_of};
use super::timers::EvictedPods;
use super::{NAME, STATUS_PERIOD};
use crate::conditions::find;

/// The worker of rules: their condition.
pub(super) struct Rules {
    pub(super) caches: Caches,
    pub(super) evicted: Arc<EvictedPods>,
    pub(super) clock: Clock,
}

impl Rules {
    /// In Kubernetes: `maybeUpdateRuleStatus`. There, too, each change of the condition changes its transition time,
    /// which thus is the time of the last write.
    pub(super) async fn sync(&self, pass: &Pass, name: &str) -> Result<Action, ReconcileError> {
        let key = ObjectKey::cluster(name);
        let Some(rule) = self.caches.rules.as_ref().and_then(|rules| rules.get(&key)) else { return pass.gone() };
        let before = find(&rule.status.conditions, EVICTION_IN_PROGRESS);
        let now = self.clock.now();
        let written = before.filter(|before| Some(before.observed_generation) == rule.metadata.generation);
        if let Some(time) = written.and_then(|before| parse_time(before.last_transition_time.as_deref()?)) {
            let age = Duration::try_from(now.duration_since(time)).unwrap_or_default();
            if age < STATUS_PERIOD {
                pass.decided(|| "its condition is recent: write it later");
                return Ok(Action::RequeueAfter(STATUS_PERIOD - age));
            }
        }
        let evicted = self.evicted.of_rule(rule.metadata.uid.as_deref().unwrap_or_default());
        let condition = condition_of(&rule, RuleCounts { evicted, ..self.caches.counts(&rule) });
        let last_transition_time = before.and_then(|before| before.last_transition_time.clone());
        if before.is_some_and(|before| *before == Condition { last_transition_time, ..condition.clone() }) {
            return pass.done(|| "its condition is as it has to be");
        }
        pass.decided(|| format!("its condition: {}", condition.reason));
        let condition = Condition { last_transition_time: Some(format_time(now)), ..condition };
        let object = json!({
            "apiVersion": DeviceTaintRule::api_version(),
            "kind": DeviceTaintRule::KIND,
            "metadata": {"name": name, "uid": rule.metadata.uid},
            "status": {"conditions": [condition]},
        });
        let write = WriteParams { field_manager: NAME.to_owned(), ..WriteParams::default() };
        let api = pass.api::<DeviceTaintRule>().writing(write);
        unless_gone(api.patch_status(&key, &Patch::Apply { object, force: true }).await)?;
        Ok(Action::Done)
    }
}
