//! What the program's main operations cost, in units that do not depend on the machine's load: `make budget`.
//!
//! ```text
//!   rows.rs ------> cost.rs: each row in a process of its own, twice:
//!   name, work        under callgrind       --> instructions
//!                     allocation-counter    --> allocations, bytes, peak
//!                         |
//!                         v
//!   figures/test.tsv, figures/release.tsv: the budget, one line for each row; budget.rs compares
//! ```
//!
//! Start at [`rows::ROWS`]. `docs/budget.md` explains how to read the figures and how to change them. Not here: times,
//! which other benchmarks measure, and the size of the program, which `cargo xtask size` measures.

mod budget;
mod cost;
mod rows;

use std::num::NonZero;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use budget::Budget;
use cost::Cost;
use rows::Row;

const USAGE: &str = "usage: budget [--row TEXT] [--write REASON]
  --row TEXT       only the rows whose name contains TEXT
  --write REASON   write the figures; REASON is kept with each figure that rises by more than 3 %";

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
    if let Some(why) = cost::unavailable() {
        println!("SKIPPED: budget: {why}");
        return Ok(true);
    }
    let mut budget = Budget::read()?;
    let rows: Vec<&Row> = rows::ROWS.iter().filter(|row| row.name.contains(wanted)).collect();
    println!("{:<44} {:>16} {:>12} {:>12} {:>12}   change", "", "instructions", "allocations", "bytes", "peak bytes");
    let mut is_kept = true;
    for (row, cost) in rows.iter().zip(costs(&rows)) {
        let cost = cost?;
        let change = budget.compare(row.name, &cost);
        println!(
            "{:<44} {:>16} {:>12} {:>12} {:>12}   {change}",
            row.name, cost.instructions, cost.allocations, cost.bytes, cost.peak
        );
        is_kept &= !change.is_over();
        if let Some(reason) = reason {
            budget.set(row.name, cost, change.is_over().then_some(reason));
        }
    }
    if reason.is_some() {
        budget.write()?;
        return Ok(true);
    }
    if !is_kept {
        println!(
            "\nA figure is over its budget. Make it cheaper, or run the command again with --write \"the reason\"."
        );
    }
    Ok(is_kept)
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
