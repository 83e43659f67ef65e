//! The files and the folders of a crate have no circular dependencies.
//!
//! Files: a circle in which one module contains all others is allowed, because a parent uses its children, and they use
//! what it defines. Folders: for each module, its child modules are compared, each with everything below it. Child `a`
//! uses child `b` if any file of `a` uses any file of `b`, and children must not use each other in a circle. The file of
//! the parent itself is not compared. So `a/x.rs` may not use `b.rs` if `b.rs` uses `a/y.rs`, although no file reaches
//! itself. An item that `lib.rs` re-exports counts as used where it is defined. Tests may use anything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use coracle_tests::{files_below, is_for_tests, root};
use syn::visit::{self, Visit};

/// A module's steps from the root of its crate, which is the empty path.
type ModulePath = Vec<String>;

/// A file as the others see it.
#[derive(Default)]
struct Module {
    /// The items it defines, and its inline modules.
    defines: BTreeSet<String>,
    /// What its `use` declarations call by which name, as written.
    imports: BTreeMap<String, Written>,
    /// The modules that it takes everything from.
    globs: Vec<Written>,
    /// All paths in its code.
    mentions: BTreeSet<Written>,
    /// Child modules for tests alone.
    tests: BTreeSet<String>,
}

/// A path as it stands in a file, and in which inline modules it stands there.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Written {
    inline: Vec<String>,
    steps: Vec<String>,
}

/// Reads one file.
#[derive(Default)]
struct Reader {
    module: Module,
    inline: Vec<String>,
}

impl Reader {
    fn written(&self, steps: Vec<String>) -> Written {
        Written { inline: self.inline.clone(), steps }
    }

    fn read_use(&mut self, tree: &syn::UseTree, before: &[String]) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.read_use(&path.tree, &with(&path.ident)),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.read_use(tree, before)),
            syn::UseTree::Glob(_) => self.module.globs.push(self.written(before.to_vec())),
            syn::UseTree::Name(name) if name.ident == "self" => self.import(before.last(), before.to_vec()),
            syn::UseTree::Name(name) => self.import(Some(&name.ident.to_string()), with(&name.ident)),
            syn::UseTree::Rename(name) => self.import(Some(&name.rename.to_string()), with(&name.ident)),
        }
    }

    fn import(&mut self, name: Option<&String>, steps: Vec<String>) {
        let written = self.written(steps);
        self.module.mentions.insert(written.clone());
        self.module.imports.extend(name.map(|name| (name.clone(), written)));
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let (attributes, name) = match item {
            syn::Item::Const(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Enum(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
            syn::Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
            syn::Item::Mod(item) => (&item.attrs, item.content.as_ref().map(|_| &item.ident)),
            syn::Item::Static(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Struct(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Trait(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Type(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Impl(item) => (&item.attrs, None),
            syn::Item::Use(item) => (&item.attrs, None),
            _ => return visit::visit_item(self, item),
        };
        match item {
            _ if !is_for_tests(attributes) => {
                self.module.defines.extend(name.filter(|_| self.inline.is_empty()).map(ToString::to_string));
                visit::visit_item(self, item);
            }
            syn::Item::Mod(item) => self.module.tests.extend([item.ident.to_string()]),
            _ => {}
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.inline.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.inline.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.read_use(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let steps = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.module.mentions.insert(self.written(steps));
        visit::visit_path(self, path);
    }

    /// What stands in a macro is no syntax yet: there, names with two colons between them are a path.
    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.visit_path(&item.path);
        let text = item.tokens.to_string();
        let words = text.replace("::", " :: ");
        let mut steps: Vec<String> = Vec::new();
        let mut goes_on = false;
        for word in words.split_whitespace().chain([""]) {
            let is_name = word.starts_with(|sign: char| sign.is_alphabetic() || sign == '_');
            if is_name && goes_on {
                steps.push(word.to_owned());
            } else if word != "::" {
                let path = std::mem::replace(&mut steps, if is_name { vec![word.to_owned()] } else { Vec::new() });
                self.module.mentions.insert(self.written(path));
            }
            goes_on = word == "::";
        }
    }
}

/// The files of a crate.
struct Crate {
    modules: BTreeMap<ModulePath, Module>,
}

impl Crate {
    fn read(source: &Path) -> Self {
        let mut modules = BTreeMap::new();
        for file in files_below(source, ".rs") {
            let text = std::fs::read_to_string(&file).unwrap();
            let tree = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let mut reader = Reader::default();
            reader.visit_file(&tree);
            let inside = file.strip_prefix(source).unwrap().with_extension("");
            let mut path: ModulePath = inside.iter().map(|step| step.to_str().unwrap().to_owned()).collect();
            path.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
            modules.insert(path, reader.module);
        }
        let for_tests: Vec<ModulePath> = modules
            .iter()
            .flat_map(|(path, module)| {
                module.tests.iter().map(|name| [path.as_slice(), std::slice::from_ref(name)].concat())
            })
            .collect();
        modules.retain(|path, _| !for_tests.iter().any(|tests| path.starts_with(tests)));
        Self { modules }
    }

    /// A path of the file `from`, from the root of the crate; `None` for what is of another crate, or local.
    fn absolute(&self, from: &ModulePath, written: &Written) -> Option<Vec<String>> {
        let scope = [from.as_slice(), &written.inline].concat();
        let (first, rest) = written.steps.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([scope.as_slice(), rest].concat()),
            "super" => {
                let ups = written.steps.iter().take_while(|step| *step == "super").count();
                let base = scope.get(..scope.len().checked_sub(ups)?)?;
                Some([base, &written.steps[ups..]].concat())
            }
            _ if self.modules.contains_key(&[from.as_slice(), std::slice::from_ref(first)].concat()) => {
                Some([from.as_slice(), &written.steps].concat())
            }
            _ => {
                let import = self.modules[from].imports.get(first).filter(|import| import.steps[0] != *first)?;
                Some([self.absolute(from, import)?.as_slice(), rest].concat())
            }
        }
    }

    /// The file that defines what a path from the root names; one that only hands it on is passed by.
    fn home(&self, path: &[String], hops: usize) -> ModulePath {
        let known = (0..=path.len()).rev().find(|end| self.modules.contains_key(&path[..*end])).unwrap_or_default();
        let (at, rest) = (path[..known].to_vec(), &path[known..]);
        let (Some(name), Some(module)) = (rest.first(), self.modules.get(&at)) else { return at };
        if hops == 0 || module.defines.contains(name) {
            return at;
        }
        if let Some(target) = module.imports.get(name).and_then(|import| self.absolute(&at, import)) {
            return self.home(&[target.as_slice(), &rest[1..]].concat(), hops - 1);
        }
        let from_glob = module.globs.iter().filter_map(|glob| {
            let home = self.home(&[self.absolute(&at, glob)?.as_slice(), rest].concat(), hops - 1);
            self.modules.get(&home)?.defines.contains(name).then_some(home)
        });
        from_glob.into_iter().next().unwrap_or(at)
    }

    /// Which files each file uses.
    fn uses(&self) -> BTreeMap<&ModulePath, BTreeSet<&ModulePath>> {
        let all = self.modules.iter().map(|(path, module)| {
            let used = module.mentions.iter().chain(&module.globs).filter_map(|written| {
                let home = self.home(&self.absolute(path, written)?, 8);
                self.modules.get_key_value(&home).map(|(home, _)| home).filter(|home| *home != path)
            });
            (path, used.collect())
        });
        all.collect()
    }

    /// The circles of files: files that reach each other through files that no common module of theirs contains.
    fn file_circles(&self) -> Vec<BTreeSet<&ModulePath>> {
        let uses = self.uses();
        let mut circles: Vec<BTreeSet<&ModulePath>> = Vec::new();
        for parent in self.modules.keys() {
            let inside = |path: &ModulePath| path.len() > parent.len() && path.starts_with(parent);
            for circle in mutual(&uses, &inside) {
                let children: BTreeSet<&String> = circle.iter().map(|path| &path[parent.len()]).collect();
                if children.len() > 1 && !circles.contains(&circle) {
                    circles.push(circle);
                }
            }
        }
        circles
    }

    /// The circles of folders: child modules of one module that reach each other, each with all its files.
    fn folder_circles(&self) -> Vec<BTreeSet<ModulePath>> {
        let uses = self.uses();
        let mut circles: Vec<BTreeSet<ModulePath>> = Vec::new();
        for parent in self.modules.keys() {
            let child_of = |path: &ModulePath| {
                (path.len() > parent.len() && path.starts_with(parent)).then(|| path[..=parent.len()].to_vec())
            };
            let mut children: BTreeMap<ModulePath, BTreeSet<ModulePath>> = BTreeMap::new();
            for (path, used) in &uses {
                let Some(child) = child_of(path) else { continue };
                let others = used.iter().filter_map(|path| child_of(path)).filter(|other| *other != child);
                children.entry(child.clone()).or_default().extend(others);
            }
            let children: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
                children.iter().map(|(child, used)| (child, used.iter().collect())).collect();
            circles
                .extend(mutual(&children, &|_| true).into_iter().map(|circle| circle.into_iter().cloned().collect()));
        }
        circles
    }

    /// Which files of one folder use which files of another.
    fn uses_between(&self, from: &ModulePath, to: &ModulePath) -> Vec<String> {
        let mut lines = Vec::new();
        for (path, used) in self.uses().iter().filter(|(path, _)| path.starts_with(from)) {
            for used in used.iter().filter(|used| used.starts_with(to)) {
                lines.push(format!("{} uses {}", path.join("/"), used.join("/")));
            }
        }
        lines
    }
}

/// Nodes that reach each other, without single ones.
fn mutual<'a>(
    uses: &BTreeMap<&'a ModulePath, BTreeSet<&'a ModulePath>>,
    inside: &dyn Fn(&ModulePath) -> bool,
) -> BTreeSet<BTreeSet<&'a ModulePath>> {
    let reached: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
        uses.keys().filter(|path| inside(path)).map(|path| (*path, reach(uses, path, inside))).collect();
    let circles = reached.iter().map(|(path, from_here)| {
        from_here.iter().filter(|other| reached[*other].contains(path)).copied().collect::<BTreeSet<&ModulePath>>()
    });
    circles.filter(|circle| circle.len() > 1).collect()
}

fn reach<'a>(
    uses: &BTreeMap<&'a ModulePath, BTreeSet<&'a ModulePath>>,
    from: &ModulePath,
    inside: &dyn Fn(&ModulePath) -> bool,
) -> BTreeSet<&'a ModulePath> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(path) = next.pop() {
        for used in uses[path].iter().filter(|used| inside(used)) {
            if reached.insert(*used) {
                next.push(used);
            }
        }
    }
    reached
}

/// The crates of the product, by name.
fn crates() -> Vec<(String, Crate)> {
    let folders = std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    folders
        .map(|folder| (folder.file_name().unwrap().to_str().unwrap().to_owned(), Crate::read(&folder.join("src"))))
        .collect()
}

#[test]
fn the_files_of_a_crate_use_each_other_in_no_circle() {
    let mut report = String::new();
    for (name, files) in crates() {
        let uses = files.uses();
        for circle in &files.file_circles() {
            report += &format!("{name}: {} files\n", circle.len());
            for path in circle {
                let used = uses[path].intersection(circle).map(|path| path.join("/"));
                report += &format!("  {} uses {}\n", path.join("/"), used.collect::<Vec<_>>().join(", "));
            }
        }
    }
    assert!(report.is_empty(), "files that use each other in a circle:\n{report}");
}

#[test]
fn the_folders_of_a_crate_use_each_other_in_no_circle() {
    let mut report = String::new();
    for (name, files) in crates() {
        for circle in &files.folder_circles() {
            report += &format!("{name}: {} folders\n", circle.len());
            for from in circle {
                for to in circle.iter().filter(|to| *to != from) {
                    let lines = files.uses_between(from, to);
                    report.extend(lines.iter().map(|line| format!("  {line}\n")));
                }
            }
        }
    }
    assert!(report.is_empty(), "folders that use each other in a circle:\n{report}");
}

/// A crate of these files: its path, and its text.
fn made_up(files: &[(&str, &str)]) -> Crate {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    Crate::read(folder.path())
}

#[test]
fn a_circle_is_seen_behind_re_exports_modules_and_macros_and_in_no_tests() {
    let circles = |files: &[(&str, &str)]| made_up(files).file_circles().len();
    let lib = ("lib.rs", "mod a; mod b; pub use a::A; pub use b::*;");
    assert_eq!(circles(&[lib, ("a.rs", "use crate::B; pub struct A;"), ("b.rs", "use crate::A; pub struct B;")]), 1);
    assert_eq!(circles(&[lib, ("a.rs", "pub struct A;"), ("b.rs", "use crate::A; pub struct B;")]), 0);
    let through_a_module = "use super::b; pub struct A; fn f() { b::g() }";
    assert_eq!(circles(&[lib, ("a.rs", through_a_module), ("b.rs", "use crate::A; pub fn g() {}")]), 1);
    let in_a_macro = "pub struct A; fn f() { println!(\"{}\", crate::b::g()) }";
    assert_eq!(circles(&[lib, ("a.rs", in_a_macro), ("b.rs", "use crate::A; pub fn g() {}")]), 1);
    let in_a_test = "pub struct A; #[cfg(test)] mod tests { use crate::B; }";
    assert_eq!(circles(&[lib, ("a.rs", in_a_test), ("b.rs", "use crate::A; pub struct B;")]), 0);
}

#[test]
fn parents_and_children_use_each_other_and_a_way_round_through_another_folder_is_a_circle() {
    let circles = |files: &[(&str, &str)]| made_up(files).file_circles().len();
    let parent = ("a/mod.rs", "mod x; mod y; pub struct A; fn f() { x::g() }");
    let lib = ("lib.rs", "mod a; mod b;");
    let y = ("a/y.rs", "use super::A; pub struct Y;");
    assert_eq!(circles(&[lib, parent, ("a/x.rs", "use super::y::Y; pub fn g() {}"), y, ("b.rs", "")]), 0);
    assert_eq!(
        circles(&[
            lib,
            parent,
            ("a/x.rs", "use crate::b::B; pub fn g() {}"),
            y,
            ("b.rs", "use crate::a::A; pub struct B;")
        ]),
        1
    );
}

#[test]
fn folders_that_use_each_other_are_a_circle_although_no_file_reaches_itself() {
    let circles = |files: &[(&str, &str)]| {
        let made_up = made_up(files);
        assert_eq!(made_up.file_circles().len(), 0);
        made_up.folder_circles().len()
    };
    let lib = ("lib.rs", "mod a; mod b;");
    let a = ("a/mod.rs", "mod x; mod y;");
    let uses_b = ("a/x.rs", "use crate::b::B; pub struct X;");
    let used_by_b = ("a/y.rs", "pub struct Y;");
    assert_eq!(circles(&[lib, a, uses_b, used_by_b, ("b.rs", "use crate::a::y::Y; pub struct B;")]), 1);
    assert_eq!(circles(&[lib, a, uses_b, used_by_b, ("b.rs", "pub struct B;")]), 0);
    let parent = ("a/mod.rs", "mod x; mod y; fn f() { x::g(); y::Y; }");
    assert_eq!(circles(&[lib, parent, ("a/x.rs", "use super::y::Y; pub fn g() {}"), used_by_b, ("b.rs", "")]), 0);
}
