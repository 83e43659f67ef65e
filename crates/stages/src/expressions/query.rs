//! jq. In KWOK: `pkg/utils/expression.Query`, over gojq.

use std::fmt;
use std::sync::Arc;

use jaq_core::data::JustLut;
use jaq_core::load::lex::{Lexer, StrPart, Tok, Token};
use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Filter, Vars, unwrap_valr};
use jaq_json::{Map, Num, Rc, Val};
use serde_json::Value as Json;

/// How many values a query may return.
const MOST_VALUES: usize = 1_000;

/// Functions that may never end, or that have side effects: a query reads one object.
const REFUSED: [&str; 18] = [
    "def",
    "repeat",
    "recurse",
    "range",
    "while",
    "until",
    "combinations",
    "input",
    "inputs",
    "debug",
    "stderr",
    "halt",
    "halt_error",
    "env",
    "import",
    "include",
    "limit",
    "walk",
];

/// Functions of jq that are not built in: dates, patterns, encodings, mathematics, and output to others.
const ABSENT: [&str; 30] = [
    "debug",
    "stderr",
    "halt",
    "halt_error",
    "logb",
    "significand",
    "pow10",
    "drem",
    "nexttoward",
    "scalb",
    "gamma",
    "capture_of_match",
    "scan_",
    "test",
    "scan",
    "match",
    "capture",
    "split",
    "splits",
    "sub",
    "gsub",
    "todate",
    "fromdate",
    "@sh",
    "@html",
    "@htmld",
    "@uri",
    "@urid",
    "@base64",
    "@base64d",
];

/// A query on an object.
#[derive(Clone)]
pub(crate) struct Query {
    text: String,
    /// A leading path of fields, as most queries have, so that only the value there is copied for jq.
    path: Vec<String>,
    /// The query on the value at the path; none if the value is the result.
    filter: Option<Arc<Filter<JustLut<Val>>>>,
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Query({})", self.text)
    }
}

impl Query {
    /// Parses a query.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let tokens = Lexer::new(text).lex().map_err(|_| format!("{text:?} is no jq"))?;
        if let Some(word) = refused(&tokens) {
            return Err(format!("{word:?} is not built: a query is to end"));
        }
        let (path, rest) = path(text);
        let filter = if rest.is_empty() { None } else { Some(compiled(&rest, text)?) };
        Ok(Self { text: text.to_owned(), path, filter: filter.map(Arc::new) })
    }

    /// The values that are not null; none at all if the query fails.
    pub(crate) fn values(&self, object: &Json) -> Option<Vec<Json>> {
        let mut value = object;
        for name in &self.path {
            value = match value {
                Json::Null => value,
                Json::Object(fields) => fields.get(name).unwrap_or(&Json::Null),
                _ => return None,
            };
        }
        let Some(filter) = &self.filter else {
            return Some(if value.is_null() { Vec::new() } else { vec![value.clone()] });
        };
        let context = Ctx::<JustLut<Val>>::new(&filter.lut, Vars::new([]));
        let found = filter.id.run((context, to_jq(value))).map(unwrap_valr).take(MOST_VALUES);
        let values: Result<Vec<Val>, _> = found.collect();
        Some(values.ok()?.iter().map(from_jq).filter(|value| !value.is_null()).collect())
    }
}

/// The names of a leading `.a.b["c"]` of a query, and the rest of the query, which may be empty.
fn path(text: &str) -> (Vec<String>, String) {
    let none = || (Vec::new(), text.to_owned());
    let (mut names, mut rest) = (Vec::new(), text.trim());
    while let Some((name, left)) = first_name(rest, names.is_empty()) {
        names.push(name);
        rest = left;
    }
    // Anything else in the same part of the pipe may need the whole object.
    let part = rest.split('|').next().unwrap_or_default().trim_end();
    let is_step = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '.' | '[' | ']');
    if names.is_empty() || !part.chars().all(is_step) {
        return none();
    }
    let rest = match rest.trim_start().chars().next() {
        None => String::new(),
        Some('.') => rest.to_owned(),
        Some('[' | '|') => format!(".{rest}"),
        Some(_) => return none(),
    };
    (names, rest)
}

/// The first name of a path, and what follows it.
fn first_name(path: &str, is_begin: bool) -> Option<(String, &str)> {
    let after = path.strip_prefix('.');
    if let Some(quoted) = after.or((!is_begin).then_some(path))?.strip_prefix("[\"") {
        let (name, left) = quoted.split_once("\"]")?;
        return (!name.contains('\\')).then(|| (name.to_owned(), left));
    }
    let after = after?;
    let end = after.find(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_').unwrap_or(after.len());
    let is_name = end > 0 && !after.starts_with(|sign: char| sign.is_ascii_digit());
    is_name.then(|| (after[..end].to_owned(), &after[end..]))
}

fn refused(tokens: &[Token<&str>]) -> Option<String> {
    tokens.iter().find_map(|Token(text, token)| match token {
        Tok::Word if REFUSED.contains(text) => Some((*text).to_owned()),
        Tok::Var if matches!(*text, "$ENV" | "$__prog_args") => Some((*text).to_owned()),
        Tok::Block(tokens) => refused(tokens),
        Tok::Str(parts) => parts.iter().find_map(|part| match part {
            StrPart::Term(token) => refused(std::slice::from_ref(token)),
            StrPart::Str(_) | StrPart::Char(_) => None,
        }),
        _ => None,
    })
}

/// Compiles `code`, the part of the query `text` that has to run.
fn compiled(code: &str, text: &str) -> Result<Filter<JustLut<Val>>, String> {
    // `split` with one argument needs no patterns.
    let is_built = |name: &str, arguments: usize| !ABSENT.contains(&name) || (name == "split" && arguments == 1);
    let built = jaq_std::defs().filter(|definition| is_built(definition.name, definition.args.len()));
    let definitions = jaq_core::defs().chain(built).chain(jaq_json::defs());
    let functions = jaq_core::funs().chain(jaq_std::base_funs()).chain(jaq_json::funs());
    let arena = Arena::default();
    let modules =
        Loader::new(definitions).load(&arena, File { code, path: () }).map_err(|_| format!("{text:?} is no jq"))?;
    let compiler = Compiler::default().with_funs(functions);
    compiler.compile(modules).map_err(|errors| {
        let names = errors.iter().flat_map(|(_, errors)| errors).map(|(name, _)| format!("{name:?}"));
        format!("jq knows no {}", names.collect::<Vec<_>>().join(", "))
    })
}

fn to_jq(json: &Json) -> Val {
    match json {
        Json::Null => Val::Null,
        Json::Bool(value) => Val::Bool(*value),
        Json::Number(number) => Val::Num(match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Num::from_integral(whole),
            (None, float) => Num::Float(float.unwrap_or(f64::NAN)),
        }),
        Json::String(text) => Val::utf8_str(text.clone().into_bytes()),
        Json::Array(items) => Val::Arr(Rc::new(items.iter().map(to_jq).collect())),
        Json::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (Val::utf8_str(key.clone().into_bytes()), to_jq(value)));
            Val::obj(fields.collect::<Map>())
        }
    }
}

fn from_jq(value: &Val) -> Json {
    match value {
        Val::Null => Json::Null,
        Val::Bool(value) => Json::Bool(*value),
        Val::Num(number) => match number.as_isize() {
            Some(whole) => Json::from(whole),
            None => coracle_meta::json::from_str(&value.to_string()).unwrap_or(Json::Null),
        },
        Val::BStr(bytes) | Val::TStr(bytes) => Json::String(String::from_utf8_lossy(bytes).into_owned()),
        Val::Arr(items) => items.iter().map(from_jq).collect(),
        Val::Obj(fields) => {
            let text = |key: &Val| match key {
                Val::TStr(bytes) | Val::BStr(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                other => other.to_string(),
            };
            Json::Object(fields.iter().map(|(key, value)| (text(key), from_jq(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn gives(text: &str, expected: Option<Json>) {
        let object = json!({"a": {"b": "x", "n": 3, "none": null}, "list": [{"t": "R", "s": "1"}, {"t": "S", "s": "2"}], "l.x": 1.5});
        let values = Query::new(text).unwrap().values(&object);
        assert_eq!(values.map(Json::Array), expected, "{text}");
    }

    #[test]
    fn a_query_gives_what_is_there() {
        gives(".a.b", Some(json!(["x"])));
        gives(".a[\"b\"]", Some(json!(["x"])));
        gives(".[\"l.x\"]", Some(json!([1.5])));
        gives(".a.none", Some(json!([])));
        gives(".nothing.below", Some(json!([])));
        gives(".a.b.c", None);
        gives(".list.[] | select( .t == \"R\" ) | .s", Some(json!(["1"])));
        gives(".nothing.[].s", None);
        gives(".list[].s, .a.n", Some(json!(["1", "2", 3])));
        gives(".list | map(.s) | join(\"-\")", Some(json!(["1-2"])));
        gives(".list[0].t + \"-x\" | split(\"-\") | .[1]", Some(json!(["x"])));
        gives(".a", Some(json!([{"b": "x", "n": 3, "none": null}])));
    }

    #[test]
    fn a_query_that_cannot_be_read_is_refused() {
        let refused = |text: &str| Query::new(text).unwrap_err();
        assert_eq!(refused(".a ("), "\".a (\" is no jq");
        assert_eq!(refused(".a |"), "\".a |\" is no jq");
        assert_eq!(refused("nonsense"), "jq knows no \"nonsense\"");
        assert_eq!(refused("def f: f; f"), "\"def\" is not built: a query is to end");
        assert_eq!(refused("\"\\(repeat(1))\""), "\"repeat\" is not built: a query is to end");
    }

    #[test]
    fn only_what_a_query_begins_with_is_read_before_it() {
        let of = |text: &str| {
            let (names, rest) = path(text);
            (names.join("/"), rest)
        };
        let read = |names: &str, rest: &str| (names.to_owned(), rest.to_owned());
        assert_eq!(of(".a.b[\"c\"]"), read("a/b/c", ""));
        assert_eq!(of(".a.b.[] | .c"), read("a/b", ".[] | .c"));
        assert_eq!(of(".a[0].b|.c"), read("a", ".[0].b|.c"));
        assert_eq!(of(".a | .b"), read("a", ". | .b"));
        for whole in [".a[].b, .c", ".a + .b", ".a as $x | .b", ".a?", "[.a]", ".", ".a[.b]?", ".a == .b | not"] {
            assert_eq!(of(whole), read("", whole));
        }
    }

    proptest! {
        #[test]
        fn the_prefix_of_a_query_does_not_change_its_result(
            text in "(\\.[ab]|\\.\\[\"a\"\\]|\\[\\]|\\.\\[\\]| \\| |, \\.a| \\+ \\.b|\\[0\\]){1,6}",
        ) {
            let object = json!({"a": [{"b": 1, "a": {"b": [2, null]}}, {"b": null}], "b": {"a": "x"}});
            if let Ok(query) = Query::new(&text) {
                let whole = Query { path: Vec::new(), filter: Some(Arc::new(compiled(&text, &text).unwrap())), ..query.clone() };
                prop_assert_eq!(query.values(&object), whole.values(&object));
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "[.a-c\\[\\]\"| ()$,=0-9]{0,16}") {
            if let Ok(query) = Query::new(&text) {
                let _ = query.values(&json!({"a": [1, {"b": null}], "b": "x"}));
            }
        }
    }
}
