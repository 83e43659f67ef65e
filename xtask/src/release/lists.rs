//! The ordered lists of a version: admission plug-ins, plug-ins of the scheduler, controllers.

use std::collections::BTreeMap;
use std::path::Path;

use crate::failure::Failure;

/// Whether a feature gate is on.
type IsOn<'a> = &'a dyn Fn(&str) -> bool;

/// All lists by their names.
pub(crate) fn read(kubernetes: &Path, is_on: IsOn<'_>) -> Result<Vec<(&'static str, Vec<String>)>, Failure> {
    let text = |path: &str| std::fs::read_to_string(kubernetes.join(path));
    let plugins = text("pkg/kubeapiserver/options/plugins.go")?;
    let all = identifiers(section(&plugins, "var AllOrderedPlugins = ", "\n}")?);
    let by_default = identifiers(section(&plugins, "defaultOnPlugins := ", "\n\t)")?);
    let named = commented(section(&plugins, "var AllOrderedPlugins = ", "\n}")?);
    let name = |identifier: &String| named.get(identifier).cloned().unwrap_or_else(|| identifier.clone());
    let default_plugins: Vec<String> = all.iter().filter(|plugin| by_default.contains(plugin)).map(name).collect();
    let controllers = text("cmd/kube-controller-manager/names/controller_names.go")?;
    Ok(vec![
        ("admission-plugins", all.iter().map(name).collect()),
        ("default-admission-plugins", default_plugins),
        ("scheduler-plugins", scheduler(&text("pkg/scheduler/apis/config/v1/default_plugins.go")?, is_on)?),
        ("controllers", self::controllers(&controllers)),
    ])
}

fn section<'a>(text: &'a str, begin: &str, end: &str) -> Result<&'a str, Failure> {
    let rest = text.split_once(begin).ok_or_else(|| format!("the source has no {begin:?}"))?.1;
    Ok(rest.split_once(end).map_or(rest, |(section, _)| section))
}

/// The plug-ins of a list, as the code names them: `lifecycle.PluginName`.
fn identifiers(section: &str) -> Vec<String> {
    let lines = section.lines().map(|line| line.trim().split("//").next().unwrap_or_default().trim());
    lines
        .filter_map(|line| line.strip_suffix(','))
        .filter(|line| line.ends_with("PluginName"))
        .map(str::to_owned)
        .collect()
}

/// The names that the comments of a list say.
fn commented(section: &str) -> BTreeMap<String, String> {
    let lines = section.lines().filter_map(|line| line.trim().split_once(','));
    lines
        .filter_map(|(plugin, comment)| {
            let name = comment.split_once("// ")?.1.split([',', ' ']).next()?;
            Some((plugin.to_owned(), name.to_owned()))
        })
        .collect()
}

/// In Kubernetes: `getDefaultPlugins` and `applyFeatureGates`.
fn scheduler(text: &str, is_on: IsOn<'_>) -> Result<Vec<String>, Failure> {
    let section = section(text, "func getDefaultPlugins()", "\n}")?;
    let names = section.split("names.").skip(1);
    let mut plugins: Vec<String> =
        names.filter_map(|rest| Some(rest.split([',', '}']).next()?.trim().to_owned())).collect();
    if is_on("NodeDeclaredFeatures") {
        plugins.push("NodeDeclaredFeatures".to_owned());
    }
    if is_on("DynamicResourceAllocation") {
        let at = plugins.iter().position(|plugin| plugin == "DefaultPreemption").unwrap_or(plugins.len());
        plugins.insert(at, "DynamicResources".to_owned());
    }
    Ok(plugins)
}

/// In alphabetical order. Those of the cloud provider have their names in another module.
fn controllers(text: &str) -> Vec<String> {
    const OF_CLOUDS: [&str; 3] = ["cloud-node-lifecycle-controller", "node-route-controller", "service-lb-controller"];
    let own = text.lines().filter_map(|line| line.split_once("= \"")?.1.strip_suffix('"'));
    let mut all: Vec<String> = own.chain(OF_CLOUDS).map(str::to_owned).collect();
    all.sort();
    all
}
