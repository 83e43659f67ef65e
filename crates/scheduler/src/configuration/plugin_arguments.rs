//! `pluginConfig`, checked as in Kubernetes' `validation_pluginargs.go`.

use std::collections::BTreeSet;
use std::time::Duration;

use coracle_meta::names::qualified_name;
use coracle_yaml::{At, KnownFields, StrictReader};

use super::{API_VERSION, node_affinity, spread_defaults};
use crate::arguments::{
    Arguments, BalancedArguments, FitArguments, PodAffinityArguments, PreemptionArguments, ScoringStrategy, Shape,
    VolumeBindingArguments,
};
use crate::framework::MAX_SCORE;
use crate::plugins::{OFF, Plugin, REMOVED};
use crate::resources::ResourceName;

/// The highest score in a shape. In Kubernetes: `MaxCustomPriorityScore`.
const MOST_OF_SHAPE: i64 = 10;
const INT32: i64 = i32::MAX as i64;

/// The arguments of plug-ins; the defaults where a field is missing.
pub(super) fn read(reader: &mut StrictReader, at: Option<&At<'_>>) -> Arguments {
    let mut arguments = Arguments::default();
    let mut seen = BTreeSet::new();
    for at in reader.list(at) {
        let fields = reader.fields(&at, &["name", "args"]);
        let Some(name) = reader.text(fields.get("name")) else {
            reader.refuse(&at, "name: Required value");
            continue;
        };
        if !seen.insert(name.clone()) {
            reader.refuse(&at, format!("Duplicate value: {name:?}"));
        }
        match fields.get("args") {
            Some(args) => of_plugin(reader, &name, args, &mut arguments),
            None if Plugin::named(&name).is_none() => unknown(reader, &name, &at),
            None => {}
        }
    }
    arguments
}

fn unknown(reader: &mut StrictReader, name: &str, at: &At<'_>) {
    let why = if REMOVED.contains(&name) {
        format!("Invalid value: {name:?}: was invalid in version {API_VERSION:?}")
    } else if OFF.contains(&name) {
        format!("plugin {name:?} is off by default in Kubernetes, and is not built")
    } else {
        format!("plugin {name:?} does not exist; plug-ins from elsewhere are not built")
    };
    reader.refuse(at, why);
}

fn of_plugin(reader: &mut StrictReader, name: &str, at: &At<'_>, into: &mut Arguments) {
    let known: &[&str] = match name {
        "NodeResourcesFit" => &["ignoredResources", "ignoredResourceGroups", "scoringStrategy"],
        "NodeResourcesBalancedAllocation" => &["resources"],
        "NodeAffinity" => &["addedAffinity"],
        "PodTopologySpread" => &["defaultConstraints", "defaultingType"],
        "InterPodAffinity" => &["hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods"],
        "DefaultPreemption" => &["minCandidateNodesPercentage", "minCandidateNodesAbsolute"],
        "VolumeBinding" => &["bindTimeoutSeconds", "shape"],
        "DynamicResources" => &["filterTimeout", "bindingTimeout"],
        _ if Plugin::named(name).is_none() => return unknown(reader, name, at),
        _ => return reader.refuse(at, format!("plugin {name:?} takes no arguments")),
    };
    let fields = fields(reader, name, at, known);
    match name {
        "NodeResourcesFit" => into.fit = fit(reader, &fields),
        "NodeResourcesBalancedAllocation" => into.balanced = balanced(reader, &fields),
        "NodeAffinity" => into.node_affinity = node_affinity::read(reader, fields.get("addedAffinity")),
        "PodTopologySpread" => into.spread = spread_defaults::read(reader, at, &fields),
        "InterPodAffinity" => into.pod_affinity = pod_affinity(reader, &fields),
        "DefaultPreemption" => into.preemption = preemption(reader, at, &fields),
        "VolumeBinding" => into.volume_binding = volume_binding(reader, &fields),
        _ => dynamic_resources(reader, &fields),
    }
}

fn fields<'a>(reader: &mut StrictReader, plugin: &str, at: &At<'a>, known: &[&str]) -> KnownFields<'a> {
    let fields = reader.fields(at, &[&["apiVersion", "kind"], known].concat());
    let kind = format!("{plugin}Args");
    for (field, expected) in [("apiVersion", API_VERSION), ("kind", &kind)] {
        if reader.text(fields.get(field)).is_some_and(|found| found != expected)
            && let Some(at) = fields.get(field)
        {
            reader.invalid(at, &format!("must be {expected}"));
        }
    }
    fields
}

fn fit(reader: &mut StrictReader, fields: &KnownFields<'_>) -> FitArguments {
    let mut ignored = [BTreeSet::new(), BTreeSet::new()];
    for (field, into) in ["ignoredResources", "ignoredResourceGroups"].into_iter().zip(&mut ignored) {
        for at in reader.list(fields.get(field)) {
            let Some(name) = reader.text(Some(&at)) else { continue };
            if field == "ignoredResourceGroups" && name.contains('/') {
                reader.invalid(&at, "resource group name can't contain '/'");
            }
            qualified_name(&name).into_iter().for_each(|why| reader.invalid(&at, &why));
            into.insert(name);
        }
    }
    let [ignored, ignored_groups] = ignored;
    let default = FitArguments { ignored, ignored_groups, ..FitArguments::default() };
    let Some(at) = fields.get("scoringStrategy") else { return default };
    let fields = reader.fields(at, &["type", "resources", "requestedToCapacityRatio"]);
    let mut resources = Vec::new();
    for (name, weight, at) in resource_specs(reader, fields.get("resources")) {
        if !(1..=100).contains(&weight) {
            reader.refuse(&at, format!("weight: resource weight of {name} not in valid range (0, 100]"));
        }
        resources.push((ResourceName::of(&name), weight));
    }
    let shape = fields.get("requestedToCapacityRatio").map(|at| {
        let fields = reader.fields(at, &["shape"]);
        shape(reader, at, fields.get("shape"))
    });
    let strategy = match reader.text(fields.get("type")).unwrap_or_default().as_str() {
        "LeastAllocated" => ScoringStrategy::LeastAllocated,
        "MostAllocated" => ScoringStrategy::MostAllocated,
        "RequestedToCapacityRatio" => {
            if shape.is_none() {
                reader.refuse(at, "requestedToCapacityRatio: Required value");
            }
            ScoringStrategy::RequestedToCapacityRatio(shape.unwrap_or(Shape(Vec::new())))
        }
        other => {
            let why = "supported values: \"LeastAllocated\", \"MostAllocated\", \"RequestedToCapacityRatio\"";
            reader.refuse(fields.get("type").unwrap_or(at), format!("Unsupported value: {other:?}: {why}"));
            ScoringStrategy::LeastAllocated
        }
    };
    let resources = if resources.is_empty() { default.resources.clone() } else { resources };
    FitArguments { strategy, resources, ..default }
}

/// In Kubernetes: `validateFunctionShape`.
fn shape(reader: &mut StrictReader, parent: &At<'_>, at: Option<&At<'_>>) -> Shape {
    let mut points: Vec<(i64, i64)> = Vec::new();
    for at in reader.list(at) {
        let fields = reader.fields(&at, &["utilization", "score"]);
        let utilization = reader.within(fields.get("utilization"), 0, 100, "not in valid range [0, 100]").unwrap_or(0);
        let score = reader.within(fields.get("score"), 0, MOST_OF_SHAPE, "not in valid range [0, 10]").unwrap_or(0);
        if points.last().is_some_and(|(before, _)| *before >= utilization) {
            reader.refuse(&at, "utilization: values must be sorted in increasing order");
        }
        points.push((utilization, score * (MAX_SCORE / MOST_OF_SHAPE)));
    }
    if points.is_empty() {
        reader.refuse(at.unwrap_or(parent), "shape: Required value: at least one point must be specified");
    }
    Shape(points)
}

fn resource_specs<'a>(reader: &mut StrictReader, at: Option<&At<'a>>) -> Vec<(String, i64, At<'a>)> {
    let mut specs = Vec::new();
    for at in reader.list(at) {
        let fields = reader.fields(&at, &["name", "weight"]);
        let name = reader.text(fields.get("name")).unwrap_or_default();
        // Zero means one, as in Kubernetes.
        let weight = reader.integer(fields.get("weight")).filter(|weight| *weight != 0).unwrap_or(1);
        specs.push((name, weight, at));
    }
    specs
}

fn balanced(reader: &mut StrictReader, fields: &KnownFields<'_>) -> BalancedArguments {
    let mut seen = BTreeSet::new();
    let mut resources = Vec::new();
    for (name, weight, at) in resource_specs(reader, fields.get("resources")) {
        if weight != 1 {
            reader.refuse(&at, format!("weight: Invalid value: {weight}: must be 1"));
        }
        resources.push(ResourceName::of(&name));
        if !seen.insert(name.clone()) {
            reader.refuse(&at, format!("name: Duplicate value: {name:?}"));
        }
    }
    if resources.is_empty() { BalancedArguments::default() } else { BalancedArguments { resources } }
}

fn pod_affinity(reader: &mut StrictReader, fields: &KnownFields<'_>) -> PodAffinityArguments {
    let weight = reader.within(fields.get("hardPodAffinityWeight"), 0, 100, "not in valid range [0, 100]");
    PodAffinityArguments {
        hard_weight: weight.unwrap_or(1),
        ignores_preferred: reader.bool(fields.get("ignorePreferredTermsOfExistingPods")).unwrap_or(false),
    }
}

fn preemption(reader: &mut StrictReader, at: &At<'_>, fields: &KnownFields<'_>) -> PreemptionArguments {
    let default = PreemptionArguments::default();
    let mut count = |field: &str, most: i64, why: &str, default: usize| {
        let value = reader.within(fields.get(field), 0, most, why);
        value.and_then(|value| usize::try_from(value).ok()).unwrap_or(default)
    };
    let percentage = count("minCandidateNodesPercentage", 100, "not in valid range [0, 100]", default.percentage);
    let absolute = count("minCandidateNodesAbsolute", INT32, "not in valid range [0, inf)", default.absolute);
    if percentage == 0 && absolute == 0 {
        let why = "minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute";
        reader.refuse(at, why);
    }
    PreemptionArguments { percentage, absolute }
}

fn volume_binding(reader: &mut StrictReader, fields: &KnownFields<'_>) -> VolumeBindingArguments {
    let why = "invalid BindTimeoutSeconds, should not be a negative value";
    let timeout = reader.within(fields.get("bindTimeoutSeconds"), 0, i64::MAX, why);
    if let Some(at) = fields.get("shape") {
        reader.refuse(at, "unexpected field `shape`: StorageCapacityScoring has its default shape here");
    }
    let default = VolumeBindingArguments::default();
    VolumeBindingArguments {
        timeout: timeout.map_or(default.timeout, |seconds| Duration::from_secs(seconds.unsigned_abs())),
    }
}

fn dynamic_resources(reader: &mut StrictReader, fields: &KnownFields<'_>) {
    if reader.duration(fields.get("filterTimeout")).is_some()
        && let Some(at) = fields.get("filterTimeout")
    {
        reader.note(at, "has no meaning here: a search for devices is limited by steps, not by time");
    }
    if let Some(at) = fields.get("bindingTimeout") {
        let why = "Forbidden: DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled";
        reader.refuse(at, why);
    }
}
