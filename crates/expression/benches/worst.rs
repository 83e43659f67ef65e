//! What expressions that want to do harm get: `cargo bench -p coracle-expression --bench worst`.
//!
//! ```text
//! a text, compiled and run to its end or its limit -> how long it took, and how far memory grew
//! ```
//! Each is run in a process of its own, so that one's memory is not the next one's. The aim is 100 ms and 64 MB.

use std::process::Command;
use std::time::{Duration, Instant};

use coracle_expression::{COST_OF_ONE_EXPRESSION, Expression, Variables};
use serde_json::{Value, json};

fn texts() -> Vec<(&'static str, String)> {
    let every = |body: &str| {
        let names = ["a", "b", "c", "d"];
        names.iter().rev().fold(body.to_owned(), |inner, name| format!("own.list.all({name}, {inner})"))
    };
    vec![
        ("four nested all over 300 numbers", every("a + b + c + d >= 0")),
        ("the same with texts", every("string(a) + string(b) != 'x'")),
        ("lists made in a loop", "own.list.all(a, own.list.map(b, own.list.map(c, [a, b, c])).size() > 0)".to_owned()),
        (
            "maps made in a loop",
            "own.list.all(a, own.list.map(b, {'a': a, 'b': b, 'c': [a, b]}).size() > 0)".to_owned(),
        ),
        ("a text doubled", format!("optional.of(own.text){} == optional.none()", ".optMap(x, x + x)".repeat(15))),
        ("a list doubled", format!("optional.of(own.list){} == optional.none()", ".optMap(x, x + x)".repeat(15))),
        ("replaced by more", format!("own.text{} == ''", ".replace('', 'aaaaaaaaaaaaaaaa')".repeat(10))),
        ("joined and split", "own.list.all(a, own.list.map(b, own.text).join(',').split(',').size() > 0)".to_owned()),
        ("a pattern that is large", "own.list.all(a, own.text.matches('(a{1,900}){1,900}'))".to_owned()),
        (
            "a pattern made at run time",
            "own.list.all(a, own.text.matches('(a|b|ab)*[^c]{1,30}' + string(a % 10) + '?z'))".to_owned(),
        ),
        ("find all in a text", "own.list.all(a, own.text.findAll('[a-z]').size() > 0)".to_owned()),
        ("equality of lists", "own.list.all(a, own.lists == own.lists)".to_owned()),
        ("a number sought in lists", "own.list.all(a, own.list.all(b, own.lists.exists(c, [a, b] in c)))".to_owned()),
        ("sorted sums", "own.list.all(a, own.list.isSorted() && own.list.sum() > 0 && own.list.max() > 0)".to_owned()),
        (
            "sets",
            "own.list.all(a, sets.equivalent(own.list, own.list) && sets.intersects(own.list, own.list))".to_owned(),
        ),
        (
            "quantities",
            "own.list.all(a, quantity(string(a) + 'Gi').add(quantity('1.5M')).isGreaterThan(quantity('1')))".to_owned(),
        ),
        ("URLs", "own.list.all(a, url('https://host/' + own.text).getEscapedPath() != '')".to_owned()),
        ("formatted", "own.list.all(a, own.list.all(b, '%s %s %d'.format([own.list, own.text, a]) != ''))".to_owned()),
        ("brackets", format!("{}1{}", "[".repeat(5000), "]".repeat(5000))),
        ("sums", format!("1{} > 0", " + 1".repeat(20_000))),
        ("ternaries", format!("{}true{}", "true ? ".repeat(300), " : false".repeat(300))),
        ("steps into fields", format!("own{} == 1", ".a".repeat(20_000))),
    ]
}

fn main() {
    match std::env::args().nth(1).and_then(|number| number.parse::<usize>().ok()) {
        Some(number) => run(&texts()[number].1),
        None => all(),
    }
}

fn all() {
    println!("{:<36} {:>10} {:>10}  and said", "", "took", "memory");
    let itself = std::env::current_exe().expect("a program");
    for (number, (name, _)) in texts().iter().enumerate() {
        let said = Command::new(&itself).arg(number.to_string()).output().expect("it runs");
        println!("{name:<36} {}", String::from_utf8_lossy(&said.stdout).trim_end());
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark is about the time that passes outside")]
fn run(text: &str) {
    let own = own();
    let before = peak();
    let start = Instant::now();
    let said = match Expression::compile(text) {
        Err(error) => format!("not compiled: {}", first_line(&error.to_string())),
        Ok(expression) => {
            let mut variables = Variables::default();
            variables.set("own", &own);
            let run = expression.run(&variables, COST_OF_ONE_EXPRESSION);
            match run.result {
                Ok(_) => format!("an answer after {} units", run.cost),
                Err(error) => format!("{} after {} units", first_line(&error.to_string()), run.cost),
            }
        }
    };
    let took: Duration = start.elapsed();
    println!("{:>7.1} ms {:>7.1} MB  {said}", took.as_secs_f64() * 1e3, (peak() - before) as f64 / 1e3);
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(70).collect()
}

fn own() -> Value {
    let list: Vec<i32> = (0..300).collect();
    let lists: Vec<_> = (0..100).map(|_| list.clone()).collect();
    json!({"list": list, "lists": lists, "text": "abcdefghij".repeat(100)})
}

/// The most memory that this process has had, in kilobytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse().ok()).unwrap_or(0)
}
