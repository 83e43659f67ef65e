//! What the program's main operations cost, in units that do not depend on the machine's load: `make budget`.
//!
//! ```text
//!   rows.rs -------> cost.rs: each row in a process of its own, twice:
//!   name, operation    under callgrind       --> profile.rs: instructions, polls of tasks
//!                      allocation-counter    --> allocations, bytes, peak
//!                    program.rs: the program under callgrind
//!                         |
//!                         v
//!   figures/test.tsv, figures/release.tsv: the budget, one line for each row; budget.rs compares
//!
//!   size.rs: bytes of the program --> figures/test-size.tsv, figures/release-size.tsv
//! ```
//!
//! Start at [`rows::ROWS`]. `docs/budget.md` explains how to read the figures and how to change them. Not here: times,
//! which other benchmarks measure.

mod budget;
mod cost;
mod profile;
mod program;
mod rows;
mod size;

use std::fmt::Display;
use std::num::NonZero;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use budget::Budget;
use cost::Cost;
use rows::Row;
use size::Size;

/// The name of the size in the arguments.
const SIZE: &str = "size of the program";

/// The number of crates whose code is printed.
const CRATES: usize = 25;

const USAGE: &str = "usage: budget [--row TEXT] [--write REASON]
  --row TEXT       only the rows whose name contains TEXT
  --write REASON   write the figures; REASON is kept with each figure that rises by more than its tolerance";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (mut wanted, mut reason) = (String::new(), None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // What Cargo passes to each benchmark and test.
            "--bench" | "--test" => {}
            cost::CHILD => return cost::run_child(&arguments.next().unwrap_or_default()),
            "--row" => match arguments.next() {
                Some(text) => wanted = text,
                None => return usage(),
            },
            "--write" => match arguments.next() {
                Some(text) => reason = Some(text),
                None => return usage(),
            },
            _ => return usage(),
        }
    }
    match measure(&wanted, reason.as_deref()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

/// Measures, prints, and compares; false if a figure is over its budget.
fn measure(wanted: &str, reason: Option<&str>) -> Result<bool, String> {
    let operations = operations(wanted, reason)?;
    let size = !SIZE.contains(wanted) || size(reason)?;
    if !operations || !size {
        println!(
            "\nA figure is over its budget. Make it cheaper, or run the command again with --write \"the reason\"."
        );
    }
    Ok(operations && size || reason.is_some())
}

/// What the operations cost.
fn operations(wanted: &str, reason: Option<&str>) -> Result<bool, String> {
    if let Some(why) = cost::unavailable() {
        println!("SKIPPED: the costs of operations: {why}");
        return Ok(true);
    }
    let mut budget = Budget::read("", cost::NAMES, |name| rows::ROWS.iter().any(|row| row.name == name))?;
    let rows: Vec<&Row> = rows::ROWS.iter().filter(|row| row.name.contains(wanted)).collect();
    print_line("", &cost::NAMES, "change");
    for (row, cost) in rows.iter().zip(costs(&rows)) {
        let figures = cost?.figures();
        print_line(row.name, &figures, budget.check(row.name, figures, row.tolerance(), reason));
    }
    budget.finish(reason)
}

/// How large the program is.
fn size(reason: Option<&str>) -> Result<bool, String> {
    let mut budget = Budget::read("-size", ["bytes"], |_| true)?;
    let Size { parts, crates } = Size::measure()?;
    println!("\n{SIZE}");
    for (name, bytes) in crates.iter().take(CRATES) {
        println!("{bytes:>12}  code of {name}");
    }
    for (name, bytes) in &parts {
        println!("{bytes:>12}  {name}   {}", budget.check(name, [*bytes], budget::TOLERANCE, reason));
    }
    budget.finish(reason)
}

fn print_line(name: &str, [instructions, polls, rest @ ..]: &[impl Display; cost::FIGURES], change: impl Display) {
    print!("{name:<44} {instructions:>16} {polls:>9}");
    for figure in rest {
        print!(" {figure:>12}");
    }
    println!("   {change}");
}

/// The costs of rows, in their order. A row per processor runs at a time: what is counted does not depend on the load.
fn costs(rows: &[&Row]) -> Vec<Result<Cost, String>> {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let found: Vec<OnceLock<Result<Cost, String>>> = rows.iter().map(|_| OnceLock::new()).collect();
    std::thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                let take = || next.fetch_add(1, Ordering::Relaxed);
                while let Some((row, found)) = Some(take()).and_then(|at| rows.get(at).zip(found.get(at))) {
                    let _ = found.set(cost::of(row));
                }
            });
        }
    });
    found.into_iter().map(|cost| cost.into_inner().unwrap_or_else(|| Err("not measured".to_owned()))).collect()
}
