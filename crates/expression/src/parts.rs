use crate::expression::Expression;
use crate::source::Issues;
use crate::syntax::{Sort, Token, tokens};

/// The operators that a condition is divided at, those that bind least first.
const OPERATORS: [&[&str]; 3] = [&["||"], &["&&"], &["==", "!=", "<=", ">=", "<", ">", "in"]];
/// Macros that ask about the items of a list.
const QUESTIONS: [&str; 3] = ["all", "exists", "exists_one"];

impl Expression {
    /// The operands of a condition, which show why it is true or false: what `||`, `&&`, `!` and comparisons connect,
    /// without literals. Of `pods.size() == 2 && nodes.all(n, …)` these are `pods.size()`, and the nodes for which the
    /// condition is false. Operands below other operators are not divided.
    pub fn parts(&self) -> Vec<Expression> {
        let text = self.text();
        let all = tokens(text, &mut Issues::new(text));
        let mut texts = Vec::new();
        divide(text, all.split_last().map_or(&[], |(_, tokens)| tokens), &mut texts);
        let mut known = Vec::new();
        for part in texts {
            if !known.contains(&part) {
                known.push(part);
            }
        }
        known.iter().filter_map(|part| Self::compile(part).ok()).collect()
    }
}

fn divide(text: &str, tokens: &[Token<'_>], parts: &mut Vec<String>) {
    let tokens = unwrapped(tokens);
    // A choice has one value, and not two.
    let is_choice = !at_top(tokens, &["?"]).is_empty();
    let found = OPERATORS.iter().map(|signs| at_top(tokens, signs)).find(|places| !places.is_empty());
    match found {
        Some(places) if !is_choice => {
            let mut begin = 0;
            for place in places.into_iter().chain([tokens.len()]) {
                divide(text, &tokens[begin..place], parts);
                begin = place + 1;
            }
        }
        _ => parts.extend(operand(text, tokens)),
    }
}

/// The tokens without parentheses around all of them, and without negations before them.
fn unwrapped<'t, 's>(mut tokens: &'t [Token<'s>]) -> &'t [Token<'s>] {
    loop {
        match tokens {
            [first, inner @ ..] if first.is("!") && at_top(tokens, &["&&", "||", "?"]).is_empty() => tokens = inner,
            [first, inner @ .., _] if first.is("(") && closing(tokens) == Some(tokens.len() - 1) => tokens = inner,
            _ => return tokens,
        }
    }
}

/// The places of operators outside of all brackets.
fn at_top(tokens: &[Token<'_>], signs: &[&str]) -> Vec<usize> {
    let mut depth = 0usize;
    let mut places = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        depth = next_depth(depth, token);
        if depth == 0 && signs.iter().any(|sign| token.is(sign)) {
            places.push(place);
        }
    }
    places
}

fn next_depth(depth: usize, token: &Token<'_>) -> usize {
    match token.text {
        "(" | "[" | "{" if token.sort == Sort::Sign => depth + 1,
        ")" | "]" | "}" if token.sort == Sort::Sign => depth.saturating_sub(1),
        _ => depth,
    }
}

/// The place of the bracket that closes the first one.
fn closing(tokens: &[Token<'_>]) -> Option<usize> {
    let mut depth = 0;
    tokens.iter().position(|token| {
        depth = next_depth(depth, token);
        depth == 0
    })
}

/// The text of an operand; of a question about the items of a list, those items that matter.
fn operand(text: &str, tokens: &[Token<'_>]) -> Option<String> {
    let (first, last) = (tokens.first()?, tokens.last()?);
    let whole = &text[first.at..last.at + last.text.len()];
    if let Some(items) = asked_items(text, tokens) {
        return Some(items);
    }
    tokens.iter().any(|token| token.sort == Sort::Identifier).then(|| whole.to_owned())
}

/// The items for which `LIST.all(i, condition)` is false; the list of the other questions.
fn asked_items(text: &str, tokens: &[Token<'_>]) -> Option<String> {
    let name = tokens.iter().enumerate().rposition(|(place, token)| {
        let is_call = tokens.get(place + 1).is_some_and(|next| next.is("("));
        let is_last = is_call && closing(&tokens[place + 1..]) == Some(tokens.len() - place - 2);
        is_last && QUESTIONS.contains(&token.text) && tokens.get(place.wrapping_sub(1)).is_some_and(|dot| dot.is("."))
    })?;
    let list = &text[tokens[0].at..tokens[name - 1].at];
    let arguments = &tokens[name + 2..tokens.len() - 1];
    let comma = *at_top(arguments, &[","]).first()?;
    let (variable, condition) = (arguments.first()?, arguments.get(comma + 1)?);
    let end = tokens.last()?.at;
    Some(match tokens[name].text {
        "all" => format!("{list}.filter({}, !({}))", variable.text, &text[condition.at..end]),
        _ => list.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts(text: &str) -> Vec<String> {
        let expression = Expression::compile(text).unwrap();
        expression.parts().iter().map(|part| part.text().to_owned()).collect()
    }

    #[test]
    fn a_condition_is_divided_at_its_connections_and_comparisons() {
        assert_eq!(parts("pods.size() == 2 && revision > 7"), ["pods.size()", "revision"]);
        assert_eq!(parts("!(a.b == c) || ('x' in d)"), ["a.b", "c", "d"]);
        assert_eq!(parts("!has(a.b) && a.b.size() < b.size()"), ["has(a.b)", "a.b.size()", "b.size()"]);
        assert_eq!(parts("pods.filter(p, p.a == 1 && p.b).size() == 2"), ["pods.filter(p, p.a == 1 && p.b).size()"]);
        assert_eq!(parts("a == a"), ["a"], "each part is shown once");
        assert_eq!(parts("a ? b == 1 : c == 2"), ["a ? b == 1 : c == 2"]);
        assert_eq!(parts("1 == 2"), [""; 0]);
        assert_eq!(parts("'a && b' == x"), ["x"], "text is not divided");
    }

    #[test]
    fn of_a_question_about_a_list_the_items_that_matter_are_a_part() {
        assert_eq!(parts("pods.all(p, p.a == 1)"), ["pods.filter(p, !(p.a == 1))"]);
        assert_eq!(parts("x.pods.exists(p, p.a == 1) && n == 1"), ["x.pods", "n"]);
        assert_eq!(parts("!pods.exists(p, q.all(r, r == p))"), ["pods"]);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_division_panic(text in "[a-c.()!&|=<\\[\\]{}?:, 1'é]{0,40}") {
            if let Ok(expression) = Expression::compile(&text) {
                prop_assert!(expression.parts().len() <= text.len());
            }
        }
    }
}
