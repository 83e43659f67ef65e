use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::{Alone, Host, Template};

fn render(text: &str, data: &Json) -> Result<String, String> {
    let template = Template::parse(text, &[]).map_err(|error| error.to_string())?;
    template.render(data, &Alone).map_err(|error| error.to_string())
}

#[track_caller]
fn gives(text: &str, expected: &str) {
    let data = json!({
        "name": "web", "none": null, "n": 3, "zero": 0, "labels": {"b": "2", "a": "1"}, "list": ["x", "y"],
        "items": [{"name": "one", "n": 1}, {"name": "two"}], "yes": true,
    });
    assert_eq!(render(text, &data).as_deref(), Ok(expected), "{text}");
}

#[track_caller]
fn fails(text: &str, expected: &str) {
    assert_eq!(render(text, &json!({"name": "web", "none": null, "list": []})).unwrap_err(), expected, "{text}");
}

#[test]
fn actions_write_what_they_find() {
    gives("a {{ .name }} b", "a web b");
    gives("{{ .nothing }} {{ .none }} {{ .nothing.below.it }}", "<no value> <no value> <no value>");
    gives("{{ .labels }} {{ .list }} {{ .n }} {{ .yes }}", "map[a:1 b:2] [x y] 3 true");
    gives("{{ .labels.a }}{{ $.name }}{{ (index .items 1).name }}", "1webtwo");
    gives("{{ 1.5 }} {{ 1e30 }} {{ 0x1f }} {{ 'a' }} {{ `raw\"` }} {{ \"\\u00e4\\n\" }}", "1.5 1e+30 31 97 raw\" ä\n");
    gives("{{/* nothing */}}a{{- /* and */ -}} b", "ab");
    gives("a  {{- 1 -}}  b {{ -1 }}", "a1b -1");
}

#[test]
fn branches_and_loops_go_as_in_go() {
    gives("{{ if .zero }}yes{{ end }}{{ if 0 }}yes{{ else if .none }}none{{ else }}no{{ end }}", "yesno");
    gives("{{ with .labels }}{{ .a }}{{ end }}{{ with .none }}{{ else with .name }}{{ . }}{{ end }}", "1web");
    gives("{{ range .list }}{{ . }}{{ end }}{{ range .nothing }}{{ else }}none{{ end }}", "xynone");
    gives("{{ range $i, $e := .items }}{{ $i }}={{ $e.name }} {{ end }}", "0=one 1=two ");
    gives("{{ range $k, $v := .labels }}{{ $k }}{{ $v }}{{ end }}{{ range 3 }}{{ . }}{{ end }}", "a1b2012");
    gives("{{ range .list }}{{ if eq . \"y\" }}{{ break }}{{ end }}{{ . }}{{ end }}", "x");
    gives("{{ range .list }}{{ if eq . \"x\" }}{{ continue }}{{ end }}{{ . }}{{ end }}", "y");
    gives("{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ $x := 3 }}{{ end }}{{ $x }}", "2");
    gives(
        "{{ define \"t\" }}<{{ . }}>{{ end }}{{ template \"t\" .name }}{{ block \"b\" 1 }}{{ . }}{{ end }}",
        "<web>1",
    );
}

#[test]
fn comparisons_hold_for_values_of_one_sort() {
    gives(
        "{{ eq .name \"a\" \"web\" }} {{ ne .name \"web\" }} {{ eq .nothing \"a\" }} {{ eq .none nil }}",
        "true false false true",
    );
    gives("{{ lt 1 2 }} {{ ge \"b\" \"a\" }} {{ gt 1.5 2.5 }}", "true true false");
    gives("{{ and 1 0 (index .nothing 1) }} {{ or 0 \"\" .name }} {{ not .name }}", "0 web false");
    fails("{{ eq .name 1 }}", "line 1: error calling eq: incompatible types for comparison");
    fails("{{ .n }}\n{{ index .none 1 }}", "line 2: error calling index: index of untyped nil");
    fails("{{ .none.below }}", "line 1: nil pointer evaluating interface {}.below");
    fails("{{ .name.below }}", "line 1: can't evaluate field below in type string");
    fails("{{ .name 1 }}", "line 1: can't give argument to non-function");
    fails("{{ index .list 0 }}", "line 1: error calling index: index out of range: 0");
}

#[test]
fn functions_do_what_those_of_sprig_do() {
    gives("{{ default \"d\" .nothing }} {{ .name | default \"d\" }} {{ coalesce .none .name }}", "d web web");
    gives(
        "{{ $d := dict \"a\" 1 }}{{ $_ := set $d \"b\" 2 }}{{ $d }}{{ len $d }}{{ hasKey $d \"c\" }}",
        "map[a:1 b:2]2false",
    );
    gives("{{ add 1 .n 2 }} {{ div 7 2 }} {{ mod 7 2 }} {{ max 1 3 2 }} {{ round 1.255 2 }}", "6 3 1 3 1.25");
    gives(
        "{{ join \",\" .list }} {{ splitList \",\" \"a,b\" }} {{ trunc 2 .name }} {{ .name | upper | quote }}",
        "x,y [a b] we \"WEB\"",
    );
    gives("{{ printf \"%05d|%-4s|%q|%.2f|%v|%t\" 42 \"a\" \"b\" 1.5 .list true }}", "00042|a   |\"b\"|1.50|[x y]|true");
    gives("{{ until 3 }} {{ list 1 2 | first }} {{ has \"x\" .list }} {{ ternary 1 2 true }}", "[0 1 2] 1 true 1");
    gives(
        "{{ toJson .labels }} {{ (fromJson \"{\\\"a\\\":[1]}\").a }} {{ b64enc \"a\" | b64dec }}",
        "{\"a\":\"1\",\"b\":\"2\"} [1] a",
    );
    gives("{{ nindent 2 \"a\\nb\" }} {{ kindOf .n }} {{ regexMatch \"^w\" .name }}", "\n  a\n  b string true");
    fails("{{ fail \"not so\" }}", "line 1: error calling fail: not so");
    fails("{{ div 1 0 }}", "line 1: error calling div: integer divide by zero");
}

#[test]
fn invalid_templates_are_refused_with_their_line() {
    let refused = |text: &str| Template::parse(text, &[]).unwrap_err().to_string();
    assert_eq!(refused("a\n{{ nonsense . }}"), "line 2: function \"nonsense\" not defined");
    assert_eq!(refused("{{ if .a }}\n"), "line 1: unexpected EOF: no {{end}}");
    assert_eq!(refused("\n\n{{ end }}"), "line 3: unexpected {{end}}");
    assert_eq!(refused("{{ $x }}"), "line 1: undefined variable \"$x\"");
    assert_eq!(refused("{{ \"a }}"), "line 1: unterminated quoted string");
    assert_eq!(refused("{{ .a"), "line 1: unclosed action");
    assert_eq!(refused("{{ }}{{ . | 3 }}"), "line 1: non executable command in pipeline stage 2");
    assert_eq!(refused("{{ break }}"), "line 1: {{break}} outside {{range}}");
    assert_eq!(refused(&"{{ if 1 }}".repeat(1000)), "line 1: nested too deep");
    assert_eq!(refused(&format!("{{{{ {}1 }}}}", "(".repeat(1000))), "line 1: nested too deep");
}

#[test]
fn endless_templates_are_stopped() {
    fails("{{ range 100000000 }}{{ end }}", "line 1: more than 1000000 steps");
    fails(
        "{{ define \"a\" }}{{ template \"a\" }}{{ end }}{{ template \"a\" }}",
        "line 1: templates call each other too deep",
    );
    fails("{{ range 1000000 }}aaaaaaaaaaaaaaaaaaaaaaaaa{{ end }}", "line 1: gives more than 3145728 bytes");
    fails(
        "{{ $x := list 1 }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ $x }}",
        "line 1: gives more than 3145728 bytes",
    );
    assert!(
        render("{{ $x := list 1 }}{{ range 200000 }}{{ $x = list $x }}{{ end }}{{ len (toJson $x) }}", &json!({}))
            .is_ok()
    );
    fails("{{ $d := dict }}{{ $_ := set $d \"a\" $d }}", "line 1: error calling set: a map cannot hold itself");
}

struct Loud;

impl Host for Loud {
    fn call(&self, name: &str, arguments: &[Json]) -> Result<Json, String> {
        Ok(json!({"name": name, "arguments": arguments}))
    }
}

#[test]
fn the_host_goes_before_the_table() {
    let template = Template::parse("{{ (quote 1 .a nil).arguments }} {{ (Now).name }}", &["quote", "Now"]).unwrap();
    assert_eq!(template.render(&json!({"a": [true]}), &Loud).unwrap(), "[1 [true] <nil>] Now");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC*") {
        let _ = render(&text, &json!({"a": [1, {"b": null}]}));
    }

    #[test]
    fn no_template_makes_it_panic(parts in prop::collection::vec(prop::sample::select(&PARTS[..]), 0..24)) {
        let _ = render(&parts.concat(), &json!({"a": [1, {"b": null}], "t": "äöü", "n": -9, "m": {"k": 1.5}}));
    }

    #[test]
    fn no_call_makes_it_panic(
        name in prop::sample::select(&NAMES[..]),
        arguments in prop::collection::vec(prop::sample::select(&ARGUMENTS[..]), 0..5),
    ) {
        let _ = render(&format!("{{{{ {name} {} }}}}", arguments.join(" ")), &json!({"t": "äöü", "l": [1, "ä"], "m": {"k": 1}}));
    }
}

const PARTS: [&str; 30] = [
    "{{", "}}", "{{-", "-}}", " ", "if", "else", "end", "range", "with", "define", "template", "$x", ":=", "=", "|",
    "(", ")", ".", ".a", ".t", "\"s\"", "'c'", "/*", "*/", "1", "-", ",", "\n", "index",
];

const ARGUMENTS: [&str; 14] = [
    "nil",
    ".t",
    ".l",
    ".m",
    "-1",
    "0",
    "9223372036854775807",
    "-9223372036854775808",
    "1.5",
    "\"ä\"",
    "\"\"",
    "true",
    "(list 1 nil)",
    "(dict \"a\" 1)",
];

const NAMES: [&str; 60] = [
    "index",
    "slice",
    "len",
    "printf",
    "substr",
    "trunc",
    "repeat",
    "indent",
    "until",
    "untilStep",
    "split",
    "splitList",
    "div",
    "mod",
    "mul",
    "add",
    "sub",
    "round",
    "merge",
    "mergeOverwrite",
    "set",
    "unset",
    "get",
    "dict",
    "list",
    "first",
    "last",
    "rest",
    "initial",
    "dig",
    "pick",
    "omit",
    "join",
    "replace",
    "regexMatch",
    "regexReplaceAll",
    "toJson",
    "fromJson",
    "b64dec",
    "eq",
    "lt",
    "title",
    "snakecase",
    "nindent",
    "int",
    "float64",
    "toDecimal",
    "max",
    "min",
    "ternary",
    "without",
    "uniq",
    "has",
    "sortAlpha",
    "plural",
    "trimAll",
    "coalesce",
    "concat",
    "append",
    "print",
];
