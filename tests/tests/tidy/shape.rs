//! The shape of functions and files: short, flat, and with named parameters.

use crate::Finding;
use crate::source::{Function, Kind, Source, Token, functions};

const LONGEST_FUNCTION: usize = 60;
const DEEPEST_NESTING: usize = 6;
const LONGEST_FILE: usize = 600;

pub(crate) fn check(source: &Source, findings: &mut Vec<Finding>) {
    let mut find = |rule, line, what| findings.push(Finding::new(rule, &source.package, &source.path, line, what));
    if source.lines > LONGEST_FILE {
        find("files over 600 lines", 1, format!("{} lines: give each noun a file of its own", source.lines));
    }
    let code = source.code();
    for at in 0..code.len() {
        if is_arm_of_bool(&code, at) {
            find("matches on a bool", code[at].line, "write `if`".to_owned());
        }
    }
    for function in functions(&code) {
        let (name, line) = (function.name, function.tokens[0].line);
        let lines = function.tokens.last().map_or(0, |last| last.line + 1 - line);
        if lines > LONGEST_FUNCTION {
            find("functions over 60 lines", line, format!("`{name}` has {lines} lines: name its stages"));
        }
        let depth = depth(&function);
        if depth > DEEPEST_NESTING {
            find(
                "functions nested deeper than 6",
                line,
                format!("`{name}` is {depth} deep: return early or name a part"),
            );
        }
        for _ in 0..tuple_parameters(&function) {
            find("tuples as parameters", line, format!("`{name}` takes a tuple: name its parts, or a struct"));
        }
    }
}

/// Whether `true =>` or `false =>` begins at a token.
fn is_arm_of_bool(code: &[Token], at: usize) -> bool {
    let text = |offset: usize| code.get(at + offset).map_or("", |token| token.text.as_str());
    let before = at.checked_sub(1).map_or("", |at| code[at].text.as_str());
    matches!(text(0), "true" | "false") && text(1) == "=" && text(2) == ">" && matches!(before, "{" | "," | "}")
}

/// How many braces of blocks are open at once in the body of a function.
fn depth(function: &Function<'_>) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for token in function.tokens.iter().filter(|token| token.kind == Kind::Sign) {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// How many parameters of a function are tuples, by value or by reference.
fn tuple_parameters(function: &Function<'_>) -> usize {
    let tokens = function.tokens;
    let Some(open) = parameters(tokens) else { return 0 };
    let (mut depth, mut found) = (0_usize, 0);
    for at in open..tokens.len() {
        match tokens[at].text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            ":" if depth == 1 && tokens[at - 1].text != ":" && tokens[at + 1].text != ":" => {
                let is_reference =
                    |token: &&Token| matches!(token.text.as_str(), "&" | "mut") || token.text.starts_with('\'');
                let of_type = at + 1 + tokens[at + 1..].iter().take_while(is_reference).count();
                found += usize::from(is_tuple(&tokens[of_type..]));
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    found
}

/// Whether tokens begin with a tuple type: with parentheses that have a comma in them. `(dyn Any + Send)` has none.
fn is_tuple(tokens: &[Token]) -> bool {
    if tokens.first().is_none_or(|token| token.text != "(") {
        return false;
    }
    let mut depth = 0_i32;
    for (at, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "(" | "[" | "{" | "<" => depth += 1,
            ">" if tokens[at - 1].text == "-" => {}
            ")" | "]" | "}" | ">" => depth -= 1,
            "," if depth == 1 => return true,
            _ => {}
        }
        if depth == 0 {
            return false;
        }
    }
    false
}

/// The index of the parenthesis that opens the parameters: after the name and its generic parameters.
fn parameters(tokens: &[Token]) -> Option<usize> {
    let mut angles = 0_i32;
    for (at, token) in tokens.iter().enumerate().skip(2) {
        match token.text.as_str() {
            "<" => angles += 1,
            ">" if tokens[at - 1].text != "-" => angles -= 1,
            "(" if angles == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Vec<&'static str> {
        let mut findings = Vec::new();
        check(&Source::new("c", "crates/c/src/f.rs", text), &mut findings);
        findings.into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn a_tuple_is_found_as_a_parameter_and_not_as_a_part_of_a_type() {
        assert_eq!(rules("fn f<F: Fn(u8) -> (u8, u8)>(a: Vec<(u8, u8)>, b: ()) -> (u8, u8) { (1, 2) }"), [""; 0]);
        assert_eq!(rules("fn f<'a>(a: &'a (u8, u8), b: u8) {}"), ["tuples as parameters"]);
        assert_eq!(rules("fn f((a, b): (&A<u8>, &mut B), c: u8) {}"), ["tuples as parameters"]);
        assert_eq!(rules("fn f(a: &mut (Fn(u8) -> u8,), b: u8) {}"), ["tuples as parameters"]);
        assert_eq!(rules("fn f(a: &(dyn Fn(u8, u8) -> A<u8, u8> + Send), b: u8) {}"), [""; 0]);
    }

    #[test]
    fn an_arm_of_a_bool_is_found_and_a_tuple_of_bools_is_not() {
        assert_eq!(rules("fn f(a: bool) -> u8 { match a { true => 1, false => 2 } }"), ["matches on a bool"; 2]);
        assert_eq!(rules("fn f(a: bool) -> u8 { match (a, a) { (true, false) => 1, _ => 2 } }"), [""; 0]);
    }

    #[test]
    fn braces_in_texts_and_unit_tests_do_not_count() {
        let long = "\n".repeat(70);
        assert_eq!(
            rules(&format!("fn f() {{ g(\"{{{{{{{{{{{{{{\"); }}\n#[cfg(test)]\nmod tests {{ fn t() {{ {long} }} }}")),
            [""; 0]
        );
        assert_eq!(rules(&format!("fn f() {{ {long} }}")), ["functions over 60 lines"]);
    }
}
