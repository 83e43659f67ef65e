//! No loop over what a client has sent looks through a list each time.
//!
//! Work that compares each item of a list with all of another grows with the square of what a client sends. This test
//! reads the crates that handle what clients send, and finds in loops and closures: `contains` of a list, a search with
//! `iter()` and `any`, `find`, `find_map` or `position`, `remove(0)` and `insert(0, …)`. A set and a map that the
//! file declares as such are no lists, and an array or a constant is as short as it is written.
//!
//! `allowed.txt` has a line for each place that may stay, with what bounds it. A new one is looked up in a set or a
//! map, or is listed there with its bound.

use std::collections::BTreeMap;

use coracle_tests::{files_below, is_for_tests, root};
use syn::visit::{self, Visit};

/// The crates that handle what clients send.
const CRATES: [&str; 7] = ["meta", "schema", "registry", "resources", "admission", "auth", "apiserver"];
/// The methods of an iterator that look through a list until they have found something.
const SEARCHES: [&str; 5] = ["any", "find", "find_map", "position", "rposition"];
/// Types whose `contains` does not look at each item, or looks at no items.
const LOOKED_UP: [&str; 9] =
    ["BTreeSet", "BTreeMap", "HashSet", "HashMap", "IndexMap", "str", "String", "RangeInclusive", "Range"];

/// A place: the file, the function, and the search without its arguments.
type Place = [String; 3];

/// Finds the names that a file declares with a type that looks up.
#[derive(Default)]
struct Declared {
    names: Vec<String>,
}

/// Whether a type is, or holds by reference, one that looks up.
fn looks_up(ty: &syn::Type) -> bool {
    match ty {
        syn::Type::Path(path) => {
            path.path.segments.last().is_some_and(|last| LOOKED_UP.iter().any(|known| last.ident == known))
        }
        syn::Type::Reference(reference) => looks_up(&reference.elem),
        _ => false,
    }
}

/// Whether an expression makes a collection that looks up: `BTreeSet::new()`, `….collect::<BTreeSet<_>>()`.
fn makes_one(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Call(call) => match &*call.func {
            syn::Expr::Path(path) => {
                path.path.segments.iter().any(|segment| LOOKED_UP.iter().any(|known| segment.ident == known))
            }
            _ => false,
        },
        syn::Expr::MethodCall(call) => call.turbofish.as_ref().is_some_and(|types| {
            types.args.iter().any(|argument| matches!(argument, syn::GenericArgument::Type(ty) if looks_up(ty)))
        }),
        _ => false,
    }
}

impl<'a> Visit<'a> for Declared {
    fn visit_field(&mut self, field: &'a syn::Field) {
        self.names.extend(field.ident.as_ref().filter(|_| looks_up(&field.ty)).map(ToString::to_string));
    }

    fn visit_pat_type(&mut self, pattern: &'a syn::PatType) {
        if let (syn::Pat::Ident(name), true) = (&*pattern.pat, looks_up(&pattern.ty)) {
            self.names.push(name.ident.to_string());
        }
        visit::visit_pat_type(self, pattern);
    }

    fn visit_local(&mut self, local: &'a syn::Local) {
        let made = local.init.as_ref().map(|init| &*init.expr);
        match (&local.pat, made) {
            (syn::Pat::Ident(name), Some(made)) if makes_one(made) => self.names.push(name.ident.to_string()),
            (syn::Pat::Tuple(names), Some(syn::Expr::Tuple(made))) => {
                for (name, made) in names.elems.iter().zip(&made.elems) {
                    if let (syn::Pat::Ident(name), true) = (name, makes_one(made)) {
                        self.names.push(name.ident.to_string());
                    }
                }
            }
            _ => {}
        }
        visit::visit_local(self, local);
    }
}

/// Finds searches in the loops of a file.
struct Finder {
    file: String,
    declared: Vec<String>,
    functions: Vec<String>,
    loops: usize,
    found: Vec<Place>,
}

/// An expression without arguments: `self.groups.iter()`.
fn text(expression: &syn::Expr) -> String {
    match expression {
        syn::Expr::Path(path) => {
            path.path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>().join("::")
        }
        syn::Expr::Field(field) => match &field.member {
            syn::Member::Named(name) => format!("{}.{name}", text(&field.base)),
            syn::Member::Unnamed(place) => format!("{}.{}", text(&field.base), place.index),
        },
        syn::Expr::MethodCall(call) => format!("{}.{}()", text(&call.receiver), call.method),
        syn::Expr::Call(call) => format!("{}()", text(&call.func)),
        syn::Expr::Index(index) => format!("{}[]", text(&index.expr)),
        syn::Expr::Reference(inner) => text(&inner.expr),
        syn::Expr::Unary(inner) => text(&inner.expr),
        syn::Expr::Paren(inner) => text(&inner.expr),
        syn::Expr::Try(inner) => text(&inner.expr),
        _ => "_".to_owned(),
    }
}

/// Whether a list is as short as it is written: an array, a text, a range, a constant.
fn is_written_out(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Array(_) | syn::Expr::Lit(_) | syn::Expr::Range(_) => true,
        syn::Expr::Path(path) => path.path.segments.last().is_some_and(|last| {
            let name = last.ident.to_string();
            name.chars().all(|sign| sign.is_ascii_uppercase() || sign.is_ascii_digit() || sign == '_')
        }),
        syn::Expr::Reference(inner) => is_written_out(&inner.expr),
        syn::Expr::Paren(inner) => is_written_out(&inner.expr),
        _ => false,
    }
}

/// Whether an argument of `contains` is looked for in a text.
fn is_of_texts(argument: &syn::Expr) -> bool {
    match argument {
        syn::Expr::Lit(_) | syn::Expr::Array(_) | syn::Expr::Closure(_) => true,
        syn::Expr::Path(path) => path.path.segments.first().is_some_and(|first| first.ident == "char"),
        _ => false,
    }
}

/// The list that an iterator runs over, if it begins with `iter()`.
fn iterated(expression: &syn::Expr) -> Option<&syn::Expr> {
    let syn::Expr::MethodCall(call) = expression else { return None };
    if call.method == "iter" { Some(&call.receiver) } else { iterated(&call.receiver) }
}

impl Finder {
    fn within<T>(&mut self, look: impl FnOnce(&mut Self) -> T) {
        self.loops += 1;
        look(self);
        self.loops -= 1;
    }

    fn in_function(&mut self, name: &syn::Ident, look: impl FnOnce(&mut Self)) {
        self.functions.push(name.to_string());
        let loops = std::mem::take(&mut self.loops);
        look(self);
        self.loops = loops;
        self.functions.pop();
    }

    fn is_search(&self, call: &syn::ExprMethodCall) -> bool {
        let method = call.method.to_string();
        let is_zero = |argument: Option<&syn::Expr>| matches!(argument, Some(syn::Expr::Lit(literal)) if matches!(&literal.lit, syn::Lit::Int(number) if number.base10_digits() == "0"));
        match method.as_str() {
            "contains" => {
                let name = text(&call.receiver);
                let last = name.rsplit('.').next().unwrap_or_default();
                let is_looked_up = self.declared.iter().any(|declared| declared == last);
                call.args.len() == 1
                    && !call.args.iter().any(is_of_texts)
                    && !is_looked_up
                    && !is_written_out(&call.receiver)
            }
            "remove" => call.args.len() == 1 && is_zero(call.args.first()),
            "insert" => call.args.len() == 2 && is_zero(call.args.first()),
            _ => {
                SEARCHES.contains(&method.as_str())
                    && iterated(&call.receiver).is_some_and(|list| !is_written_out(list))
            }
        }
    }
}

impl<'a> Visit<'a> for Finder {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        if !is_for_tests(&item.attrs) {
            self.in_function(&item.sig.ident, |finder| visit::visit_item_fn(finder, item));
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.in_function(&item.sig.ident, |finder| visit::visit_impl_item_fn(finder, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        self.in_function(&item.sig.ident, |finder| visit::visit_trait_item_fn(finder, item));
    }

    fn visit_expr_for_loop(&mut self, item: &'a syn::ExprForLoop) {
        self.visit_expr(&item.expr);
        self.within(|finder| finder.visit_block(&item.body));
    }

    fn visit_expr_while(&mut self, item: &'a syn::ExprWhile) {
        self.within(|finder| visit::visit_expr_while(finder, item));
    }

    fn visit_expr_loop(&mut self, item: &'a syn::ExprLoop) {
        self.within(|finder| visit::visit_expr_loop(finder, item));
    }

    fn visit_expr_closure(&mut self, item: &'a syn::ExprClosure) {
        self.within(|finder| finder.visit_expr(&item.body));
    }

    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        if self.loops > 0 && self.is_search(call) {
            let search = format!("{}.{}", text(&call.receiver), call.method);
            self.found.push([self.file.clone(), self.functions.join("/"), search]);
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// The searches in the loops of a file.
fn searches(file: &str, code: &str) -> Vec<Place> {
    let tree = syn::parse_file(code).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut declared = Declared::default();
    declared.visit_file(&tree);
    let mut finder =
        Finder { file: file.to_owned(), declared: declared.names, functions: Vec::new(), loops: 0, found: Vec::new() };
    finder.visit_file(&tree);
    finder.found
}

/// How often each place is found.
fn counted(places: impl IntoIterator<Item = Place>) -> BTreeMap<Place, usize> {
    let mut counts = BTreeMap::new();
    for place in places {
        *counts.entry(place).or_default() += 1;
    }
    counts
}

#[test]
fn no_loop_over_what_a_client_sends_looks_through_a_list_each_time() {
    let crates = root().join("crates");
    let files = CRATES.iter().flat_map(|name| files_below(&crates.join(name).join("src"), ".rs"));
    let found = files.filter(|path| !path.ends_with("tests.rs")).flat_map(|path| {
        let name = path.strip_prefix(&crates).unwrap().display().to_string();
        searches(&name, &std::fs::read_to_string(&path).unwrap())
    });
    let found = counted(found);
    let allowed = include_str!("allowed.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let allowed = counted(allowed.map(|line| {
        let (place, bound) = line.split_once(": ").unwrap_or_else(|| panic!("no bound: {line}"));
        assert!(!bound.trim().is_empty(), "no bound: {line}");
        let words: Vec<&str> = place.split(' ').collect();
        let [file, function, search] = words[..] else { panic!("not a file, a function and a search: {line}") };
        [file, function, search].map(str::to_owned)
    }));
    let lines = |some: &BTreeMap<Place, usize>, others: &BTreeMap<Place, usize>| {
        let more = some.iter().filter(|(place, count)| others.get(*place).unwrap_or(&0) < *count);
        more.map(|(place, _)| format!("  {}\n", place.join(" "))).collect::<String>()
    };
    let (new, gone) = (lines(&found, &allowed), lines(&allowed, &found));
    assert!(
        new.is_empty(),
        "loops that look through a list: use a set or a map, or list them with their bound:\n{new}"
    );
    assert!(gone.is_empty(), "listed in allowed.txt, and no longer there:\n{gone}");
}

#[test]
fn searches_of_lists_in_loops_are_found_and_those_of_sets_and_constants_are_not() {
    let found = |code: &str| {
        searches("x.rs", code)
            .into_iter()
            .map(|[_, function, search]| format!("{function} {search}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(found("fn f(a: &[u8], b: &[u8]) { for x in a { b.contains(x); } }"), ["f b.contains"]);
    assert_eq!(found("fn f(a: &[u8], b: &[u8]) { b.contains(&a[0]); }"), [""; 0]);
    assert_eq!(found("fn f(a: &[u8], b: &[u8]) { a.iter().filter(|x| b.contains(x)); }"), ["f b.contains"]);
    assert_eq!(found("fn f(a: &[u8], b: &BTreeSet<u8>) { for x in a { b.contains(x); } }"), [""; 0]);
    assert_eq!(found("fn f(a: &[u8]) { let b = BTreeSet::new(); for x in a { b.contains(x); } }"), [""; 0]);
    assert_eq!(
        found("fn f(a: &[&str]) { for x in a { [\"b\"].contains(x); KNOWN.contains(x); x.contains('c'); } }"),
        [""; 0]
    );
    assert_eq!(found("fn f(a: &[A]) { while g() { a.iter().rev().find(|b| b.c); } }"), ["f a.iter().rev().find"]);
    assert_eq!(
        found("fn f(a: &mut Vec<u8>) { loop { a.remove(0); a.insert(0, 1); a.remove(1); } }"),
        ["f a.remove", "f a.insert"]
    );
    assert_eq!(found("fn f(a: &[u8]) { for x in a { fn g(a: &[u8]) { a.contains(&1); } } }"), [""; 0]);
    assert_eq!(found("#[cfg(test)] mod tests { fn f() { for x in a { b.contains(x); } } }"), [""; 0]);
}
