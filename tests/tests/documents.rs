//! What the documents name exists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use coracle_tests::{files_below, root};

/// The documents of `docs`; what is in its folders is written by tests.
fn guides() -> impl Iterator<Item = std::path::PathBuf> {
    let all = std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.is_file())
}

/// The words between backquotes, in order.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The numbered steps of a document, each with its continuation lines.
fn steps(text: &str) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    let mut is_in_step = false;
    for line in text.lines() {
        if line.starts_with(|sign: char| sign.is_ascii_digit()) {
            steps.push(line.to_owned());
            is_in_step = true;
        } else if !line.starts_with(' ') {
            is_in_step = false;
        } else if let Some(step) = steps.last_mut().filter(|_| is_in_step) {
            step.push(' ');
            step.push_str(line.trim_start());
        }
    }
    steps
}

#[test]
fn the_files_and_functions_of_the_walk_exist() {
    let text = std::fs::read_to_string(root().join("docs/walk.md")).unwrap();
    let (mut files, mut functions) = (0, 0);
    for step in steps(&text) {
        let mut source = String::new();
        for word in quoted(&step) {
            if word.starts_with("crates/") {
                source = std::fs::read_to_string(root().join(word)).unwrap_or_else(|_| panic!("no file {word}"));
                files += 1;
            } else if word.chars().all(|sign| sign.is_ascii_lowercase() || sign == '_') {
                let defined = [format!("fn {word}("), format!("fn {word}<")];
                let exists = defined.iter().any(|text| source.contains(text)) || named_before(word);
                assert!(exists, "no function {word} where the walk names it: {step}");
                functions += 1;
            }
        }
    }
    assert!(files >= 20 && functions >= 20, "{files} files, {functions} functions");
}

#[test]
fn the_files_and_folders_that_the_documents_name_exist() {
    const FOLDERS: [&str; 9] = [".ci", "crates", "docs", "examples", "fuzz", "lessons", "scenarios", "tests", "xtask"];
    let guides = guides();
    let documents = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name));
    let mut named = 0;
    for document in documents.into_iter().chain(guides) {
        let text = std::fs::read_to_string(&document).unwrap();
        for word in quoted(&text).into_iter().filter(|word| !word.contains(char::is_whitespace)) {
            let Some((folder, _)) = word.split_once('/') else { continue };
            // `NAME` is for the reader to choose.
            let fixed = word.split("NAME").next().unwrap_or(word);
            if FOLDERS.contains(&folder) {
                assert!(root().join(fixed).exists(), "{} names {word}", document.display());
                named += 1;
            }
        }
    }
    assert!(named >= 60, "{named} paths");
}

#[test]
fn the_pages_and_links_that_the_documents_name_exist() {
    let guides = guides();
    let documents = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name));
    let mut named = 0;
    for document in documents.into_iter().chain(guides) {
        let text = std::fs::read_to_string(&document).unwrap();
        // A word like `.md` is the end of a name.
        let is_name = |word: &str| !word.contains(['/', ' ']) && !word.starts_with('.');
        let is_page = |word: &&str| is_name(word) && (word.ends_with(".md") || word.ends_with(".toml"));
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        // What `make demo` writes is there once it has run.
        let links = links.filter(|link| !link.is_empty() && !link.contains("://") && !link.starts_with("../target/"));
        for name in quoted(&text).into_iter().filter(is_page).chain(links) {
            let exists = root().join(name).exists() || document.with_file_name(name).exists();
            assert!(exists, "{} names {name}", document.display());
            named += 1;
        }
    }
    assert!(named >= 2, "{named} pages");
}

/// Step 17 speaks of the function that step 16 named with its file.
fn named_before(function: &str) -> bool {
    let file = root().join("crates/kubelet/src/pod/lifecycle.rs");
    std::fs::read_to_string(file).is_ok_and(|source| source.contains(&format!("fn {function}(")))
}

#[test]
fn the_scenarios_that_the_guide_teaches_exist_and_every_scenario_is_taught() {
    let guide = std::fs::read_to_string(root().join("docs/scenarios.md")).unwrap();
    let taught = guide.split("## The scenarios").nth(1).unwrap();
    for entry in std::fs::read_dir(root().join("scenarios")).unwrap() {
        let name = entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(taught.contains(&format!("`{name}`")), "{name} is not in docs/scenarios.md");
    }
    for line in taught.lines().filter(|line| line.starts_with("| `")) {
        let name = quoted(line)[0];
        assert!(root().join("scenarios").join(format!("{name}.yaml")).exists(), "no scenario {name}");
    }
}

#[test]
fn the_controller_that_the_guide_shows_is_the_one_that_runs() {
    let guide = std::fs::read_to_string(root().join("docs/adding-a-controller.md")).unwrap();
    let shown = guide.split("```rust\n").nth(1).and_then(|rest| rest.split("\n```").next()).unwrap();
    let source = std::fs::read_to_string(root().join("crates/controllers/src/node_ttl.rs")).unwrap();
    assert!(shown.lines().count() > 40 && source.starts_with(shown), "docs/adding-a-controller.md shows another one");
}

#[test]
fn the_documents_name_the_number_of_controllers() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let (built, names) = (read("crates/controllers/src/controllers.rs"), read("crates/controllers/src/names.rs"));
    let built = built.lines().filter(|line| line.starts_with("    (\"") && line.contains("-controller\"")).count();
    let is_entry = |line: &&str| ["name(", "missing("].iter().any(|entry| line.trim_start().starts_with(entry));
    let all = names.lines().filter(is_entry).count();
    // Without a cloud, Kubernetes does not run service-lb.
    let by_default = format!("The {} controllers that Kubernetes", built - 1);
    assert!(read("README.md").contains(&by_default), "{by_default}");
    assert!(read("CHANGELOG.md").contains(&by_default), "{by_default}");
    let differences = read("docs/differences.md");
    let numbers = format!("Coracle builds {built}: the {} that act by default, and service-lb", built - 1);
    assert!(differences.contains(&numbers), "{numbers}");
    assert!(differences.contains(&format!("has {all} controllers")), "{all}");
}

#[test]
fn the_table_of_crates_names_every_crate() {
    let text = std::fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().to_str().unwrap().to_owned();
        assert!(text.contains(&format!("`{name}`")), "docs/architecture.md does not name {name}");
    }
}

#[test]
fn every_example_is_short_says_how_it_is_run_and_stands_in_the_guide_and_in_the_tests() {
    let guide = std::fs::read_to_string(root().join("docs/testing-in-rust.md")).unwrap();
    let tests = std::fs::read_to_string(root().join("examples/lib.rs")).unwrap();
    let mut examples = 0;
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap();
        if name == "lib" || file.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let command = text.lines().find_map(|line| line.strip_prefix("//! Run it: "));
        assert!(text.lines().count() < 80, "{name} is too long to be read at once");
        assert!(command.is_some_and(|command| command.contains(name)), "{name} does not say how it is run");
        assert!(guide.contains(&format!("`examples/{name}.rs`")), "docs/testing-in-rust.md does not name {name}");
        assert!(tests.contains(&format!("mod {name};")), "{name} does not run in the tests");
        examples += 1;
    }
    assert_eq!(examples, 7);
}

#[test]
fn every_example_in_the_documentation_of_the_crates_is_run() {
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let not_run = text.lines().find(|line| {
                    let fence = line.trim_start().trim_start_matches(['/', '!']).trim_start();
                    fence.strip_prefix("```").is_some_and(|words| words.contains("ignore") || words.contains("no_run"))
                });
                assert_eq!(not_run, None, "{}", path.display());
            }
        }
    }
}

/// The Markdown files of the repository that readers open, the files of GitHub included.
fn pages() -> Vec<PathBuf> {
    let top = std::fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    let top = top.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    top.chain([".github", "crates", "docs", "tests"].iter().flat_map(|folder| files_below(&root().join(folder), ".md")))
        .filter(|path| !path.components().any(|part| part.as_os_str() == "target"))
        .collect()
}

/// The lines of a page that are no code, each with whether it is a heading.
fn prose(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut fence = None;
    text.lines().filter_map(move |line| {
        let marks = line.trim_start();
        if let Some(open) = ["```", "~~~"].into_iter().find(|open| marks.starts_with(open)) {
            fence = if fence == Some(open) { None } else { fence.or(Some(open)) };
            return None;
        }
        let heading = line.strip_prefix('#').map(|rest| rest.trim_start_matches('#').trim());
        fence.is_none().then_some((line, heading))
    })
}

/// The anchors of the headings of a page, as GitHub makes them: of equal headings, the second gets `-1`.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose(text).filter_map(|(_, heading)| heading);
    headings
        .map(|heading| {
            let kept = heading.chars().filter(|sign| sign.is_alphanumeric() || [' ', '-', '_'].contains(sign));
            let name: String =
                kept.flat_map(char::to_lowercase).map(|sign| if sign == ' ' { '-' } else { sign }).collect();
            let count = seen.entry(name.clone()).or_default();
            *count += 1;
            if *count == 1 { name } else { format!("{name}-{}", *count - 1) }
        })
        .collect()
}

/// The targets of the links of a page.
fn links(text: &str) -> Vec<String> {
    let prose: Vec<&str> = prose(text).map(|(line, _)| line).collect();
    let prose = prose.join("\n");
    let mut links = Vec::new();
    // What is between backquotes is code.
    for outside in prose.split('`').step_by(2) {
        let targets = outside.split("](").skip(1).filter_map(|rest| rest.split([')', ' ', '\n']).next());
        links.extend(targets.map(str::to_owned));
        let defined = outside.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: "));
        links.extend(defined.map(|(_, target)| target.trim().to_owned()));
    }
    links
}

#[test]
fn every_link_between_documents_leads_to_a_file_and_to_a_heading_of_it() {
    let mut followed = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in links(&text).iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { page.clone() } else { page.with_file_name("").join(path) };
            assert!(target.exists(), "{} links to {link}, which does not exist", page.display());
            if !anchor.is_empty() && target.extension().is_some_and(|extension| extension == "md") {
                let anchors = anchors(&std::fs::read_to_string(&target).unwrap());
                assert!(anchors.contains(anchor), "{} links to {link}: no such heading", page.display());
            }
            followed += 1;
        }
    }
    assert!(followed >= 200, "{followed} links");
}

#[test]
fn a_link_to_a_heading_is_compared_with_what_github_makes_of_it() {
    let text = "# The `first` one\n\n```\n# no heading [a](gone.md)\n```\n\n## Limits, and more\n## Limits, and more\n";
    let expected = ["the-first-one", "limits-and-more", "limits-and-more-1"].map(str::to_owned);
    assert_eq!(anchors(text), BTreeSet::from(expected));
    assert_eq!(links(text), Vec::<String>::new());
    assert_eq!(links("[a](b.md#c \"title\") `[d](e.md)` [f\ng](h.md)\n[i]: j.md"), ["b.md#c", "h.md", "j.md"]);
}

#[test]
fn every_document_is_in_the_summary_of_the_book_once() {
    let docs = root().join("docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed: Vec<PathBuf> = links(&summary.replace('`', "")).iter().map(|link| docs.join(link)).collect();
    let unique: BTreeSet<&Path> = listed.iter().map(PathBuf::as_path).collect();
    assert_eq!(unique.len(), listed.len(), "a document is listed twice");
    for page in files_below(&docs, ".md").into_iter().filter(|page| !page.ends_with("SUMMARY.md")) {
        assert!(unique.contains(page.as_path()), "docs/SUMMARY.md does not list {}", page.display());
    }
    let index = std::fs::read_to_string(docs.join("README.md")).unwrap();
    let index: BTreeSet<String> = links(&index).into_iter().collect();
    let guides = guides().filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    for guide in guides {
        let name = guide.file_name().unwrap().to_str().unwrap();
        let is_list = matches!(name, "README.md" | "SUMMARY.md");
        assert!(is_list || index.contains(name), "docs/README.md does not list {name}");
    }
}
