//! What the documents call part of the library can be called with the crate `coracle` alone.
//!
//! ```text
//! callable! { name => code } --the compiler--> the code is valid
//!                            --this test-----> every name in the documents is in the list, and is in its code
//! ```
//! A name that is missing here: add a line to [`callable`]. If it does not compile, correct the document.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use coracle::api::core_v1::Pod;
use coracle::meta::ObjectKey;
use coracle::prelude::*;
use coracle::{
    ApiServerOptions, AuditSink, Builder, Cluster, Component, Delays, ManifestSource, ManifestsOnDisk, MemoryManifests,
    NodeSpec, Scenario, ServiceRoutes, SignedDuration, Transport, cluster,
};

/// Documents about packages in other languages, whose names may be those of the library.
const OF_OTHER_LANGUAGES: &[&str] =
    &["testing-in-go.md", "testing-in-java.md", "testing-in-javascript.md", "testing-in-python.md"];

/// Documents for contributors: they name items that no other program can use.
const FOR_CONTRIBUTORS: [&str; 8] = [
    "adding-a-controller.md",
    "adding-a-fault.md",
    "adding-a-kind.md",
    "architecture.md",
    "console.md",
    "glossary.md",
    "own-controllers.md",
    "walk.md",
];

/// Types of other crates in the Rust code of the documents.
const OF_OTHERS: [&str; 1] = ["Api"];

/// Lists names with code that uses them. The code is compiled, and never called.
macro_rules! callable {
    ($($name:literal => $code:expr,)*) => {
        fn callable() -> Vec<(&'static str, &'static str)> {
            $(let _ = $code;)*
            vec![$(($name, stringify!($code))),*]
        }
    };
}

callable! {
    "ApiServerOptions::token_webhook" => |options: ApiServerOptions| options.token_webhook,
    "AuditSink" => |_: &dyn AuditSink| (),
    "Builder::api_server_only" => Builder::api_server_only,
    "Builder::csi_driver" => Builder::csi_driver,
    "Builder::images" => Builder::images,
    "Builder::kept_store" => Builder::kept_store,
    "Builder::kubernetes" => Builder::kubernetes,
    "Builder::latency" => <Builder as BuilderExt>::latency,
    "Builder::metrics_server" => Builder::metrics_server,
    "Builder::nodes" => Builder::nodes,
    "Builder::recorder" => Builder::recorder,
    "Builder::report_on_failure" => |builder: Builder, path: PathBuf| builder.report_on_failure(path),
    "Builder::scheduler_configuration" => Builder::scheduler_configuration,
    "Builder::seed" => Builder::seed,
    "Builder::service_routes" => Builder::service_routes,
    "Builder::stages" => Builder::stages,
    "Builder::start" => Builder::start,
    "Cluster" => |_: &Cluster| (),
    "Cluster::ambient" => Cluster::ambient,
    "Cluster::ambient_of" => |cluster: Cluster| cluster.ambient_of("my-operator"),
    "Cluster::builder" => Cluster::builder,
    "Cluster::keep_store" => Cluster::keep_store,
    "Cluster::kill_component" => |cluster: Cluster| cluster.kill_component("my-operator"),
    "Cluster::kubelet" => Cluster::kubelet,
    "Cluster::pause_component" => |cluster: Cluster| cluster.pause_component("my-operator"),
    "Cluster::service" => Cluster::service,
    "Cluster::service_as" => Cluster::service_as,
    "Cluster::shift_clock" => |cluster: Cluster| cluster.shift_clock("scheduler", SignedDuration::from_secs(20)),
    "Cluster::settle" => |cluster: Cluster| async move { cluster.settle().await.is_ok() },
    "Cluster::settle_with" => |cluster: Cluster, options| async move { cluster.settle_with(options).await.is_ok() },
    "Cluster::until" => |cluster: Cluster| async move {
        cluster.until(Duration::ZERO, async || Ok::<(), String>(())).await.is_ok()
    },
    "Cluster::until_object" => |cluster: Cluster, key: ObjectKey| async move {
        cluster.until_object::<Pod>(&key, Duration::ZERO, |pod| pod.is_none()).await.is_ok()
    },
    "Component::ControllerManager" => Component::ControllerManager,
    "Delays" => Delays::zero,
    "Kubelet::kill_node" => cluster::Kubelet::kill_node,
    "Kubelet::partition_node" => cluster::Kubelet::partition_node,
    "Kubelet::start_node" => cluster::Kubelet::start_node,
    "Kubelet::stop_node" => cluster::Kubelet::stop_node,
    "ManifestSource" => |_: &dyn ManifestSource| (),
    "ManifestsOnDisk" => |_: ManifestsOnDisk| (),
    "MemoryManifests" => |_: MemoryManifests| (),
    "NodeSpec::with_own_informers" => NodeSpec::with_own_informers,
    "NodeSpec::with_static_pods" => NodeSpec::with_static_pods,
    "Options::change" => |options: coracle::scenario::Options| options.change,
    "Release::named" => coracle::cluster::Release::named,
    "Report::write" => coracle::scenario::Report::write,
    "Report::write_html" => coracle::scenario::Report::write_html,
    "Scenario" => |_: &Scenario| (),
    "ServiceRoutes::answer_for_url" => ServiceRoutes::answer_for_url,
    "ServiceRoutes::default" => ServiceRoutes::default,
    "Transport::to" => |service: Transport| Transport::to::<_, coracle::cluster::Body>(service),
    "check" => || coracle::check(|_| std::future::pending()),
    "journal" => coracle::journal::Recorder::off,
    "prelude" => |builder: Builder, latency| coracle::prelude::BuilderExt::latency(builder, latency),
    "rerun" => |scenario: &Scenario, path: &Path, options, change| {
        coracle::scenario::rerun(scenario, path, options, change, None, |_| coracle::journal::Recorder::off()).is_ok()
    },
    "run_virtual" => || coracle::run_virtual(1, async |_| ()),
    "run_virtual_or_report" => || coracle::run_virtual_or_report(1, "a.html", async |_| ()),
    "runtime" => |_: coracle::runtime::Client| (),
}

#[cfg(feature = "kube")]
const KUBE: [(&str, &str); 1] = {
    let _: fn(&Cluster) -> kube::Client = <Cluster as ClusterExt>::client;
    [("Cluster::client", "client")]
};
#[cfg(not(feature = "kube"))]
const KUBE: [(&str, &str); 1] = [("Cluster::client", "client")];

/// The names of a document: a path, or the last part of one.
#[derive(Default)]
struct Named(BTreeSet<String>);

impl Named {
    /// A path such as `Builder::stages`, `coracle::Cluster` or `Cluster::builder().seed(7)`.
    fn path(&mut self, word: &str) {
        let path = word.split(|sign: char| !is_of_name(sign) && sign != ':').next().unwrap_or_default();
        let parts: Vec<_> = path.split("::").filter(|part| !part.is_empty()).collect();
        let is_type = |first: &&str| first.starts_with(|sign: char| sign.is_ascii_uppercase());
        let is_of_library = parts.first().is_some_and(is_type) && !OF_OTHERS.contains(&parts[0]);
        match parts[..] {
            ["coracle", ref items @ ..] if !items.is_empty() => drop(self.0.insert(items.join("::"))),
            [_, _, ..] if is_of_library => drop(self.0.insert(parts.join("::"))),
            _ => {}
        }
    }

    /// `cluster.settle()`, and the calls on `Cluster::builder()` up to `start`.
    fn calls(&mut self, code: &str) {
        for (at, _) in code.match_indices("cluster.") {
            if !code[..at].ends_with(|sign: char| is_of_name(sign) || sign == '/') {
                self.method("Cluster", &code[at + "cluster.".len()..]);
            }
        }
        for (at, start) in code.match_indices("Cluster::builder()") {
            self.0.insert("Cluster::builder".to_owned());
            for call in code[at + start.len()..].split(';').next().unwrap_or_default().split('.').skip(1) {
                self.method("Builder", call);
                if call.starts_with("start(") {
                    break;
                }
            }
        }
    }

    fn method(&mut self, of: &str, rest: &str) {
        let name: String = rest.chars().take_while(|sign| is_of_name(*sign)).collect();
        if rest[name.len()..].starts_with(['(', ':']) && !name.is_empty() {
            self.0.insert(format!("{of}::{name}"));
        }
    }

    /// A method or a type without its owner: `start_node`, `MemoryManifests`, `report.write_html(path)`.
    fn last_part(&mut self, word: &str) {
        let before = word.split('(').next().unwrap_or_default();
        let name = before.rsplit('.').next().unwrap_or_default();
        let is_type = name.starts_with(|sign: char| sign.is_ascii_uppercase()) && name.contains(char::is_lowercase);
        let is_name = !name.is_empty() && name.chars().all(is_of_name);
        if is_name && (is_type || name.contains('_') || word.contains('(') || word == name) {
            self.0.insert(name.to_owned());
        }
    }
}

fn is_of_name(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || sign == '_'
}

/// A document's prose, and its Rust code.
fn parts(text: &str) -> (String, Vec<String>) {
    let (mut prose, mut blocks, mut fence) = (String::new(), Vec::new(), None);
    for line in text.lines() {
        match (line.strip_prefix("```"), fence) {
            (Some(_), Some(_)) => fence = None,
            (Some(language), None) => {
                fence = Some(language == "rust");
                if language == "rust" {
                    blocks.push(String::new());
                }
            }
            (None, Some(true)) => {
                if let Some(block) = blocks.last_mut() {
                    block.push_str(line);
                    block.push('\n');
                }
            }
            (None, Some(false)) => {}
            (None, None) => {
                prose.push_str(line);
                prose.push('\n');
            }
        }
    }
    (prose, blocks)
}

/// The words between backquotes.
fn quoted(prose: &str) -> Vec<String> {
    prose.split('`').skip(1).step_by(2).map(|word| word.replace('\n', " ")).collect()
}

/// The sentences and table rows that name parts of the library without their types.
fn of_library(prose: &str) -> Vec<String> {
    let paragraphs = prose.split("\n\n").flat_map(|paragraph| -> Vec<String> {
        if paragraph.trim_start().starts_with('|') {
            return paragraph.lines().map(str::to_owned).collect();
        }
        paragraph.replace('\n', " ").split(". ").map(str::to_owned).collect()
    });
    let speaks = |text: &String| {
        let text = text.to_lowercase();
        text.contains("in the library") || text.contains("the library has") || text.starts_with("| library")
    };
    paragraphs.filter(speaks).collect()
}

/// The names in a document that a program must be able to use.
fn names(text: &str, is_about_tests: bool) -> BTreeSet<String> {
    let mut named = Named::default();
    let (prose, blocks) = parts(text);
    for word in quoted(&prose) {
        word.split('(').for_each(|part| named.path(part));
        named.calls(&word);
        if is_about_tests && word.contains('(') {
            named.last_part(&word);
        }
    }
    for sentence in of_library(&prose) {
        quoted(&sentence).iter().for_each(|word| named.last_part(word));
    }
    for block in blocks {
        named.calls(&block);
        block.split(|sign: char| !is_of_name(sign) && sign != ':').for_each(|path| named.path(path));
    }
    named.0
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The documents for users, by their names.
fn documents() -> Vec<(String, PathBuf)> {
    let guides = std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let named = |path: PathBuf| (path.file_name().unwrap().to_str().unwrap().to_owned(), path.clone());
    let is_for_users = |(name, _): &(String, PathBuf)| {
        let is_left_out = FOR_CONTRIBUTORS.contains(&&**name) || OF_OTHER_LANGUAGES.contains(&&**name);
        name.ends_with(".md") && !is_left_out
    };
    let mut documents: Vec<_> = guides.map(named).filter(is_for_users).collect();
    documents.push(("README.md".to_owned(), root().join("README.md")));
    documents.sort();
    documents
}

/// Whether the list has the path, or a path that ends with this part.
fn has(listed: &[(&str, &str)], name: &str) -> bool {
    listed.iter().any(|(path, _)| *path == name || (!name.contains("::") && path.rsplit("::").next() == Some(name)))
}

#[test]
fn what_the_documents_call_part_of_the_library_compiles_with_coracle_alone() {
    let listed: Vec<_> = callable().into_iter().chain(KUBE).collect();
    for (name, code) in &listed {
        let last = name.rsplit("::").next().unwrap();
        assert!(code.contains(last), "the code of {name} does not use it: {code}");
    }
    let (mut missing, mut unused) = (Vec::new(), listed.clone());
    for (document, path) in documents() {
        let names = names(&std::fs::read_to_string(path).unwrap(), document == "testing-in-rust.md");
        unused.retain(|(path, _)| !names.iter().any(|name| has(&[(*path, "")], name)));
        missing.extend(names.iter().filter(|name| !has(&listed, name)).map(|name| format!("{document}: {name}")));
    }
    assert!(missing.is_empty(), "names that are not in `callable`:\n{}", missing.join("\n"));
    let unused: Vec<_> = unused.iter().map(|(name, _)| *name).collect();
    assert!(unused.is_empty(), "no document names {unused:?}");
}

#[test]
fn names_are_found_in_prose_in_tables_and_in_code() {
    let text = "Use `Builder::stages(Stage::New)` and `coracle::runtime`, not `kube::Client::new(cluster.service(), 1)`.\n\n\
                | library | `fly_away` |\n\n```rust\nuse coracle::prelude::*;\nlet a = Cluster::builder()\n    \
                .nodes(2)\n    .start().await.unwrap();\ncluster.sink();\n```\n\n```go\ncluster.ignored()\n```\n";
    let found = names(text, false);
    let expected = [
        "Builder::nodes",
        "Builder::stages",
        "Builder::start",
        "Cluster::builder",
        "Cluster::service",
        "Cluster::sink",
        "Stage::New",
        "fly_away",
        "prelude",
        "runtime",
    ];
    assert_eq!(found, expected.map(str::to_owned).into());
    assert!(has(&[("Kubelet::fly_away", "")], "fly_away") && !has(&[("Kubelet::fly", "")], "fly_away"));
    assert!(!has(&[("Cluster::service", "")], "Builder::service"), "a path must have the right owner");
}
