use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_release::Release;
use coracle_yaml::{At, StrictReader};

use super::plugin_sets::PluginSets;
use super::{percentage_of_nodes, plugin_arguments};
use crate::plugins::Point;
use crate::profile::Profile;

/// The profiles of a configuration; the default one if there are none.
pub(super) fn read(
    reader: &mut StrictReader,
    at: Option<&At<'_>>,
    percentage: usize,
    release: &Release,
) -> Vec<Arc<Profile>> {
    let given = reader.list(at);
    if given.is_empty() {
        let profile = Profile { percentage_of_nodes_to_score: percentage, ..Profile::of(&default_name(), release) };
        return vec![Arc::new(profile)];
    }
    let mut names = BTreeMap::new();
    let mut profiles = Vec::new();
    let mut queue_sort = None;
    for (index, at) in given.iter().enumerate() {
        let given_by_all = Common { is_only: given.len() == 1, percentage, release };
        let (profile, sets) = profile(reader, at, &given_by_all);
        if *queue_sort.get_or_insert_with(|| sets.queue_sort.clone()) != sets.queue_sort {
            let path = format!("{}.plugins.queueSort", at.path);
            reader.refuse(&At { path, ..at.clone() }, "must be the same for all profiles");
        }
        if let Some(first) = names.insert(profile.name.clone(), index).filter(|_| !profile.name.is_empty()) {
            let why = format!("Duplicate value: \"profiles[{first}].schedulerName\"");
            reader.refuse(&At { path: format!("{}.schedulerName", at.path), ..at.clone() }, why);
        }
        profiles.push(Arc::new(profile));
    }
    profiles
}

/// What holds for all profiles of a file.
struct Common<'a> {
    is_only: bool,
    percentage: usize,
    release: &'a Release,
}

fn profile(reader: &mut StrictReader, at: &At<'_>, common: &Common<'_>) -> (Profile, PluginSets) {
    let fields = reader.fields(at, &["schedulerName", "percentageOfNodesToScore", "plugins", "pluginConfig"]);
    let name = reader.text(fields.get("schedulerName"));
    let name = name.or_else(|| (common.is_only && !fields.contains_key("schedulerName")).then(default_name));
    if name.as_ref().is_none_or(String::is_empty) {
        reader.refuse(&At { path: format!("{}.schedulerName", at.path), ..at.clone() }, "Required value");
    }
    let own_percentage = percentage_of_nodes(reader, fields.get("percentageOfNodesToScore"));
    let sets = PluginSets::read(reader, at, fields.get("plugins"), common.release);
    let arguments = plugin_arguments::read(reader, fields.get("pluginConfig"));
    let filters = sets.at(Point::Filter).iter().filter_map(|plugin| Some(plugin.filter?(&arguments)));
    let scores = sets
        .at(Point::Score)
        .iter()
        .filter_map(|one| Some((one.score_in(common.release)?(&arguments), sets.weight(one))));
    let profile = Profile {
        name: name.unwrap_or_default(),
        release: common.release.clone(),
        filters: filters.collect(),
        scores: scores.collect(),
        percentage_of_nodes_to_score: own_percentage.unwrap_or(common.percentage),
        heeds_gates: sets.has("SchedulingGates", Point::PreEnqueue),
        binds_volumes: sets.has("VolumeBinding", Point::Filter),
        binds_claims: sets.has("DynamicResources", Point::Filter),
        awaits_claims: sets.has("DynamicResources", Point::PreEnqueue),
        deallocates: sets.has("DynamicResources", Point::PostFilter),
        preemption: sets.has("DefaultPreemption", Point::PostFilter).then_some(arguments.preemption),
        volume_binding: arguments.volume_binding,
    };
    (profile, sets)
}

fn default_name() -> String {
    "default-scheduler".to_owned()
}
