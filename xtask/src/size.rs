//! The size of the program: what `make budget` prints and compares with `xtask/size.tsv`.
//!
//! Only sections that are loaded count, so that a program with symbols has the same size as one without.

use std::collections::BTreeMap;
use std::path::Path;

use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

use crate::failure::Failure;

/// How much a figure may rise above the file: 3 %.
const TOLERANCE: f64 = 1.03;

/// The number of crates that are printed.
const CRATES: usize = 25;

const FIGURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/size.tsv");

/// Prints the size of the program whose path is an argument. Fails if it is over its budget, and writes the budget with
/// `--write`.
pub(crate) fn check() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(2);
    let program = arguments.next().ok_or("usage: cargo xtask size PROGRAM [--write]")?;
    let writes = match arguments.next().as_deref() {
        None => false,
        Some("--write") => true,
        Some(other) => return Err(format!("unknown argument {other}").into()),
    };
    let bytes = std::fs::read(Path::new(&program)).map_err(|error| format!("{program}: {error}"))?;
    let file = object::File::parse(&*bytes).map_err(|error| format!("{program}: {error}"))?;

    for (name, size) in crates(&file).into_iter().take(CRATES) {
        println!("{size:>12}  code of {name}");
    }
    let sizes = sections(&file);
    let budget = read()?;
    let mut over = Vec::new();
    for (name, size) in &sizes {
        let before = budget.get(name).copied();
        let change = before.map_or(f64::INFINITY, |before| *size as f64 / before as f64);
        let shown = before.map_or("not in the file".to_owned(), |_| format!("{:+.1} %", (change - 1.0) * 100.0));
        println!("{size:>12}  {name}  {shown}");
        if change > TOLERANCE {
            over.push(name.as_str());
        }
    }
    if writes {
        let lines: String = sizes.iter().map(|(name, size)| format!("{name}\t{size}\n")).collect();
        std::fs::write(FIGURES, format!("part\tbytes\n{lines}"))?;
        return Ok(());
    }
    if over.is_empty() { Ok(()) } else { Err(format!("over budget: {}", over.join(", ")).into()) }
}

fn read() -> Result<BTreeMap<String, u64>, Failure> {
    let parse = |line: &str| {
        let (name, size) = line.split_once('\t')?;
        Some((name.to_owned(), size.parse().ok()?))
    };
    let text = std::fs::read_to_string(FIGURES).map_err(|error| format!("{FIGURES}: {error}"))?;
    let lines = text.lines().skip(1);
    lines.map(|line| parse(line).ok_or_else(|| format!("{FIGURES}: not a line: {line}").into())).collect()
}

/// The sizes of the kinds of sections, and of all of them.
fn sections(file: &object::File<'_>) -> BTreeMap<String, u64> {
    let mut sizes = BTreeMap::new();
    for section in file.sections() {
        let name = section.name().unwrap_or_default();
        let part = match section.kind() {
            _ if name.contains("eh_frame") || name.contains("except") || name.contains("unwind") => {
                "tables for unwinding"
            }
            SectionKind::Text => "code",
            SectionKind::ReadOnlyData | SectionKind::ReadOnlyString | SectionKind::ReadOnlyDataWithRel => "constants",
            SectionKind::Data | SectionKind::Tls => "data",
            SectionKind::Elf(_) | SectionKind::Metadata => "tables for the linker",
            _ => continue,
        };
        let is_loaded = !matches!(section.kind(), SectionKind::Elf(_) | SectionKind::Metadata) || section.address() > 0;
        if is_loaded {
            *sizes.entry(part.to_owned()).or_default() += section.size();
            *sizes.entry("program".to_owned()).or_default() += section.size();
        }
    }
    sizes
}

/// The code of each crate, the largest first. Generic code counts for the crate that defines it.
fn crates(file: &object::File<'_>) -> Vec<(String, u64)> {
    let mut sizes: BTreeMap<String, u64> = BTreeMap::new();
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text) {
        let name = format!("{:#}", rustc_demangle::demangle(symbol.name().unwrap_or_default()));
        let path = name.trim_start_matches(|letter: char| "<&*([ ".contains(letter));
        let name = path.trim_start_matches("mut ").trim_start_matches("dyn ").split("::").next().unwrap_or_default();
        *sizes.entry(name.to_owned()).or_default() += symbol.size();
    }
    let mut sizes: Vec<_> = sizes.into_iter().collect();
    sizes.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    sizes
}
