use coracle_meta::fields::Fields;
use serde_json::Value;

/// A file of a volume, and what it comes from where that is worth saying.
#[derive(PartialEq)]
struct File {
    path: String,
    source: String,
}

impl File {
    fn new(path: &str, source: &str) -> Self {
        Self { path: path.trim_end_matches('/').to_owned(), source: source.to_owned() }
    }

    fn shown(&self) -> String {
        if self.source.is_empty() { format!("{:?}", self.path) } else { format!("{:?} ({})", self.path, self.source) }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let (own, others) = (format!("{}/", self.path), format!("{}/", other.path));
        !self.path.is_empty() && !other.path.is_empty() && (own.starts_with(&others) || others.starts_with(&own))
    }
}

/// Files of one volume of which one would stand in the place of another, or inside it.
/// In Kubernetes: `warningsForOverlappingVirtualPaths`.
pub(super) fn overlapping_paths(spec: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    for volume in spec.list("volumes") {
        let name = volume.text("name");
        for (kind, field, title) in [("configMap", "name", "ConfigMap"), ("secret", "secretName", "Secret")] {
            let source = volume.at(kind);
            let title = format!("{title} {:?}", source.text(field));
            warnings.extend(of_files(name, &title, files(source, "")));
        }
        warnings.extend(of_files(name, "DownwardAPI", files(volume.at("downwardAPI"), "")));
        let mut projected = Vec::new();
        for source in volume.list("projected.sources") {
            if source.as_object().is_some_and(|source| source.values().all(Value::is_null)) {
                warnings.push(format!("volume {name:?} (Projected) has no sources provided"));
            }
            projected.extend(projected_files(source));
        }
        warnings.extend(of_files(name, "Projected", projected));
    }
    warnings
}

fn files(source: &Value, title: &str) -> Vec<File> {
    source.list("items").iter().map(|item| File::new(item.text("path"), title)).collect()
}

fn projected_files(source: &Value) -> Vec<File> {
    let named = |kind: &str, title: &str| format!("{title} {:?}", source.at(kind).text("name"));
    if source.has("configMap.items") {
        files(source.at("configMap"), &named("configMap", "ConfigMap"))
    } else if source.has("secret.items") {
        files(source.at("secret"), &named("secret", "Secret"))
    } else if source.has("downwardAPI.items") {
        files(source.at("downwardAPI"), "DownwardAPI")
    } else if source.has("serviceAccountToken") {
        vec![File::new(source.text("serviceAccountToken.path"), "ServiceAccountToken")]
    } else {
        Vec::new()
    }
}

fn of_files(volume: &str, title: &str, files: Vec<File>) -> Vec<String> {
    let mut warnings = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let earlier = files[..at].iter().filter(|earlier| earlier.overlaps(file));
        warnings.extend(earlier.map(|earlier| {
            format!("volume {volume:?} ({title}): overlapping paths: {} with {}", file.shown(), earlier.shown())
        }));
    }
    warnings
}
