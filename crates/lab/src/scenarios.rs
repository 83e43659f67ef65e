use crate::error::LabError;

/// The scenarios that are built in, by their names; one line each.
pub(crate) const SCENARIOS: &[(&str, &str)] = &[
    ("adopt-and-release", include_str!("../scenarios/adopt-and-release.yaml")),
    ("autoscaling", include_str!("../scenarios/autoscaling.yaml")),
    ("back-off-ladder", include_str!("../scenarios/back-off-ladder.yaml")),
    ("bad-image", include_str!("../scenarios/bad-image.yaml")),
    ("conflict", include_str!("../scenarios/conflict.yaml")),
    ("cron-day", include_str!("../scenarios/cron-day.yaml")),
    ("daemonset-new-node", include_str!("../scenarios/daemonset-new-node.yaml")),
    ("delete-a-pod", include_str!("../scenarios/delete-a-pod.yaml")),
    ("delete-all-pods", include_str!("../scenarios/delete-all-pods.yaml")),
    ("deletion-policies", include_str!("../scenarios/deletion-policies.yaml")),
    ("device-claims", include_str!("../scenarios/device-claims.yaml")),
    ("drain-and-budget", include_str!("../scenarios/drain-and-budget.yaml")),
    ("endpoints-while-a-pod-ends", include_str!("../scenarios/endpoints-while-a-pod-ends.yaml")),
    ("eviction-under-pressure", include_str!("../scenarios/eviction-under-pressure.yaml")),
    ("indexed-job", include_str!("../scenarios/indexed-job.yaml")),
    ("job-backs-off", include_str!("../scenarios/job-backs-off.yaml")),
    ("killed-after-a-write", include_str!("../scenarios/killed-after-a-write.yaml")),
    ("late-watch", include_str!("../scenarios/late-watch.yaml")),
    ("level-not-edge", include_str!("../scenarios/level-not-edge.yaml")),
    ("lost-answer", include_str!("../scenarios/lost-answer.yaml")),
    ("missing-configuration", include_str!("../scenarios/missing-configuration.yaml")),
    ("node-lost-and-found", include_str!("../scenarios/node-lost-and-found.yaml")),
    ("node-stops", include_str!("../scenarios/node-stops.yaml")),
    ("partition", include_str!("../scenarios/partition.yaml")),
    ("preemption", include_str!("../scenarios/preemption.yaml")),
    ("protected-claim", include_str!("../scenarios/protected-claim.yaml")),
    ("quota-exhausted", include_str!("../scenarios/quota-exhausted.yaml")),
    ("rolling-update", include_str!("../scenarios/rolling-update.yaml")),
    ("scale-up-and-down", include_str!("../scenarios/scale-up-and-down.yaml")),
    ("scheduler-cut-off", include_str!("../scenarios/scheduler-cut-off.yaml")),
    ("sidecar-outlives", include_str!("../scenarios/sidecar-outlives.yaml")),
    ("spread-over-zones", include_str!("../scenarios/spread-over-zones.yaml")),
    ("statefulset-moves-with-claims", include_str!("../scenarios/statefulset-moves-with-claims.yaml")),
    ("statefulset-order", include_str!("../scenarios/statefulset-order.yaml")),
    ("store-compacted", include_str!("../scenarios/store-compacted.yaml")),
    ("store-dies", include_str!("../scenarios/store-dies.yaml")),
    ("stuck-namespace", include_str!("../scenarios/stuck-namespace.yaml")),
    ("stuck-rollout", include_str!("../scenarios/stuck-rollout.yaml")),
    ("two-schedulers", include_str!("../scenarios/two-schedulers.yaml")),
    ("volume-after-node-lost", include_str!("../scenarios/volume-after-node-lost.yaml")),
    ("watch-expires", include_str!("../scenarios/watch-expires.yaml")),
];

/// The text of the scenario with a name.
pub(crate) fn scenario_named(name: &str) -> Result<&'static str, LabError> {
    let found = SCENARIOS.iter().find(|(known, _)| *known == name);
    let unknown = || LabError::unknown("scenario", name, SCENARIOS.iter().map(|(known, _)| *known));
    found.map(|(_, text)| *text).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_scenarios_of_the_folder_are_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios");
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|file| Some(file.unwrap().file_name().to_str()?.strip_suffix(".yaml")?.to_owned()))
            .collect();
        names.sort();
        assert_eq!(SCENARIOS.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names);
    }
}
