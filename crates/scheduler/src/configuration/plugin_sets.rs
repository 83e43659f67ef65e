use std::collections::{BTreeMap, BTreeSet};

use coracle_release::Release;
use coracle_yaml::{At, KnownFields, StrictReader};

use crate::plugins::{OFF, PLUGINS, Plugin, Point, REMOVED, enabled};

/// Which plug-ins run at which extension point, in order, and the weights of their scores.
pub(super) struct PluginSets {
    by_point: BTreeMap<Point, Vec<&'static Plugin>>,
    weights: BTreeMap<&'static str, i64>,
    /// The configured `queueSort`; all profiles must agree on it.
    pub(super) queue_sort: (Vec<String>, Vec<String>),
}

/// One plug-in set of the file. In Kubernetes: `PluginSet`.
#[derive(Default)]
struct Set {
    enabled: Vec<(&'static Plugin, Option<i64>)>,
    disabled: BTreeSet<String>,
}

impl Set {
    fn enables(&self, plugin: &Plugin) -> bool {
        self.enabled.iter().any(|(one, _)| one.name == plugin.name)
    }
}

/// The highest sum of weights times scores. In Kubernetes: `MaxTotalScore`.
const MOST: i64 = i64::MAX / 100;

impl PluginSets {
    /// In Kubernetes: `mergePlugins` and `expandMultiPointPlugins`.
    pub(super) fn read(reader: &mut StrictReader, profile: &At<'_>, at: Option<&At<'_>>, release: &Release) -> Self {
        let known: Vec<_> = Point::ALL.map(Point::field).into_iter().chain(["multiPoint"]).collect();
        let fields = at.map(|at| reader.fields(at, &known)).unwrap_or_default();
        let at = at.unwrap_or(profile);
        let everywhere = everywhere(&set(reader, &fields, "multiPoint", None), release);
        let mut weights = BTreeMap::new();
        let mut by_point = BTreeMap::new();
        let mut queue_sort = (Vec::new(), Vec::new());
        for point in Point::ALL {
            let set = set(reader, &fields, point.field(), Some(point));
            let expanded = expand(&set, &everywhere, point);
            if point == Point::Score {
                let all = set.enabled.iter().chain(&everywhere).filter(|(one, _)| one.points.contains(&point));
                // Zero means one, as in Kubernetes; the extension point's own entry takes precedence.
                for (plugin, weight) in all {
                    weights.entry(plugin.name).or_insert(weight.filter(|weight| *weight != 0).unwrap_or(1));
                }
            }
            if point == Point::QueueSort {
                let enabled = set.enabled.iter().map(|(plugin, _)| plugin.name.to_owned()).collect();
                queue_sort = (enabled, set.disabled.iter().cloned().collect());
            }
            by_point.insert(point, expanded);
        }
        let sets = Self { by_point, weights, queue_sort };
        sets.check(reader, at);
        sets
    }

    pub(super) fn at(&self, point: Point) -> &[&'static Plugin] {
        self.by_point.get(&point).map_or(&[], Vec::as_slice)
    }

    pub(super) fn weight(&self, plugin: &Plugin) -> i64 {
        self.weights.get(plugin.name).copied().unwrap_or(1)
    }

    pub(super) fn has(&self, name: &str, point: Point) -> bool {
        self.at(point).iter().any(|plugin| plugin.name == name)
    }

    fn check(&self, reader: &mut StrictReader, at: &At<'_>) {
        let sorts = self.at(Point::QueueSort).len();
        if sorts != 1 {
            reader.refuse(at, format!("one queue sort plugin is required, and there are {sorts}"));
        }
        if self.at(Point::Bind).is_empty() {
            reader.refuse(at, "at least one bind plugin is needed");
        }
        if self.at(Point::Score).iter().try_fold(0_i64, |sum, one| sum.checked_add(self.weight(one))) > Some(MOST) {
            reader.refuse(at, "total score of Score plugins could overflow");
        }
        for plugin in PLUGINS {
            let has = |point| self.has(plugin.name, point);
            for (one, other) in
                [(Point::PreFilter, Point::Filter), (Point::Filter, Point::Reserve), (Point::Filter, Point::PreBind)]
            {
                let both = plugin.points.contains(&one) && plugin.points.contains(&other);
                if both && has(one) != has(other) {
                    let (one, other) = (one.field(), other.field());
                    let name = plugin.name;
                    reader.refuse(at, format!("{name}: {one} and {other} are one thing here: both, or neither"));
                }
            }
            // In Kubernetes each pod would fail with an error.
            let lacks = plugin.filter.is_some() && has(Point::Score) && !has(Point::PreScore);
            if lacks && matches!(plugin.name, "PodTopologySpread" | "InterPodAffinity") {
                reader.refuse(at, format!("{}: score does not work without preScore", plugin.name));
            }
        }
    }
}

fn set(reader: &mut StrictReader, fields: &KnownFields<'_>, name: &str, point: Option<Point>) -> Set {
    let mut set = Set::default();
    let Some(at) = fields.get(name) else { return set };
    let lists = reader.fields(at, &["enabled", "disabled"]);
    for element in reader.list(lists.get("enabled")) {
        let fields = reader.fields(&element, &["name", "weight"]);
        let weight = reader.within(
            fields.get("weight"),
            i64::from(i32::MIN),
            i64::from(i32::MAX),
            "must be an integer of 32 bits",
        );
        let Some(name) = name_of(reader, &element, &fields) else { continue };
        match find(&name, point) {
            Ok(plugin) if set.enables(plugin) => {
                reader.refuse(&element, format!("plugin {name:?} already registered"));
            }
            Ok(plugin) => set.enabled.push((plugin, weight)),
            Err(why) => reader.refuse(&element, why),
        }
    }
    for element in reader.list(lists.get("disabled")) {
        let fields = reader.fields(&element, &["name", "weight"]);
        set.disabled.extend(name_of(reader, &element, &fields));
    }
    set
}

fn name_of(reader: &mut StrictReader, at: &At<'_>, fields: &KnownFields<'_>) -> Option<String> {
    if !fields.contains_key("name") {
        reader.refuse(at, "a plugin has a name");
    }
    reader.text(fields.get("name"))
}

/// # Errors
/// Why the plug-in cannot be enabled there.
fn find(name: &str, point: Option<Point>) -> Result<&'static Plugin, String> {
    if REMOVED.contains(&name) {
        return Err(format!("Invalid value: {name:?}: was invalid in version \"kubescheduler.config.k8s.io/v1\""));
    }
    if OFF.contains(&name) {
        return Err(format!("plugin {name:?} is off by default in Kubernetes, and is not built"));
    }
    let plugin = Plugin::named(name)
        .ok_or_else(|| format!("plugin {name:?} does not exist; plug-ins from elsewhere are not built"))?;
    match point.filter(|point| !plugin.points.contains(point)) {
        Some(point) => Err(format!("plugin {name:?} does not extend {}", point.field())),
        None => Ok(plugin),
    }
}

/// The default plug-ins that are not disabled, with their new weights, followed by the other enabled ones.
fn everywhere(set: &Set, release: &Release) -> Vec<(&'static Plugin, Option<i64>)> {
    let mut plugins = Vec::new();
    if !set.disabled.contains("*") {
        for plugin in enabled(release).filter(|plugin| !set.disabled.contains(plugin.name)) {
            let reconfigured = set.enabled.iter().find(|(one, _)| one.name == plugin.name);
            plugins.push(reconfigured.copied().unwrap_or((plugin, Some(plugin.weight))));
        }
    }
    let replacing: BTreeSet<_> = plugins.iter().map(|(plugin, _)| plugin.name).collect();
    plugins.extend(set.enabled.iter().filter(|(plugin, _)| !replacing.contains(plugin.name)));
    plugins
}

/// The plug-ins of an extension point: first `multiPoint` plug-ins that the point reconfigures, then the other
/// `multiPoint` plug-ins, then the point's own.
fn expand(set: &Set, everywhere: &[(&'static Plugin, Option<i64>)], point: Point) -> Vec<&'static Plugin> {
    let own = set.enabled.iter().map(|(plugin, _)| *plugin);
    if set.disabled.contains("*") {
        return own.collect();
    }
    let allowed = everywhere.iter().map(|(plugin, _)| *plugin);
    let allowed: Vec<_> =
        allowed.filter(|one| one.points.contains(&point) && !set.disabled.contains(one.name)).collect();
    let (over, alone): (Vec<_>, Vec<_>) = own.partition(|plugin| allowed.iter().any(|one| one.name == plugin.name));
    let others = allowed.into_iter().filter(|plugin| !set.enables(plugin));
    over.into_iter().chain(others).chain(alone).collect()
}
