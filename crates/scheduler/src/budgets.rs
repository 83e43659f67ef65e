use coracle_api::policy_v1::PodDisruptionBudget;
use coracle_informer::{InformerFactory, Lister};
use coracle_meta::LabelSelector;

use crate::preemption::Budget;

/// The PodDisruptionBudgets that preemption respects where possible.
#[derive(Clone)]
pub(crate) struct Budgets(Lister<PodDisruptionBudget>);

pub(crate) fn lister(informers: &InformerFactory) -> Budgets {
    Budgets(informers.informer().lister())
}

impl Budgets {
    pub(crate) fn list(&self) -> Vec<Budget> {
        let budget = |budget: &PodDisruptionBudget| Budget {
            namespace: budget.metadata.namespace.clone().unwrap_or_default(),
            selector: budget
                .spec
                .selector
                .as_deref()
                .and_then(|selector| selector.to_selector().ok())
                .unwrap_or_else(LabelSelector::nothing),
            allowed: i64::from(budget.status.disruptions_allowed),
        };
        self.0.list().iter().map(|one| budget(one)).collect()
    }
}
