use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::cost::Cost;
use crate::rows;

/// How much a figure may rise above the file: 3 %.
const TOLERANCE: f64 = 1.03;

/// The figures that a change is compared with: a line for each row.
pub(crate) struct Budget {
    path: PathBuf,
    lines: BTreeMap<String, Line>,
}

struct Line {
    cost: Cost,
    /// Why the figures rose, the last time that they did.
    reason: String,
}

/// The largest change among the figures of a row.
pub(crate) enum Change {
    /// The file has no such row.
    New,
    /// The new figure as a multiple of the figure in the file, and which figure it is.
    Ratio(f64, &'static str),
}

impl Change {
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::New => true,
            Self::Ratio(ratio, _) => *ratio > TOLERANCE,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New => f.write_str("not in the file"),
            Self::Ratio(ratio, figure) => {
                write!(f, "{:+.1} % {figure}", (ratio - 1.0) * 100.0)?;
                match ratio {
                    _ if self.is_over() => f.write_str(" OVER BUDGET"),
                    ratio if *ratio < 1.0 / TOLERANCE => f.write_str(": write the lower figures"),
                    _ => Ok(()),
                }
            }
        }
    }
}

impl Budget {
    /// Reads the file of this kind of build.
    pub(crate) fn read() -> Result<Self, String> {
        let build = if cfg!(debug_assertions) { "test" } else { "release" };
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/budget/figures");
        let path = folder.join(format!("{build}.tsv"));
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let is_row = |name: &str| rows::ROWS.iter().any(|row| row.name == name);
        let mut lines = BTreeMap::new();
        for (at, line) in text.lines().enumerate().skip(1) {
            let parsed = parse(line).filter(|(name, _)| is_row(name));
            let (name, line) = parsed.ok_or_else(|| format!("{}:{}: not a row", path.display(), at + 2))?;
            lines.insert(name, line);
        }
        Ok(Self { path, lines })
    }

    pub(crate) fn compare(&self, name: &str, cost: &Cost) -> Change {
        let Some(line) = self.lines.get(name) else { return Change::New };
        let ratios = cost.figures().into_iter().zip(line.cost.figures()).map(|((figure, new), (_, old))| {
            let ratio = if old == 0 { 1.0 + new as f64 } else { new as f64 / old as f64 };
            (ratio, figure)
        });
        let (ratio, figure) = ratios.max_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((1.0, ""));
        Change::Ratio(ratio, figure)
    }

    pub(crate) fn set(&mut self, name: &str, cost: Cost, reason: Option<&str>) {
        let before = self.lines.remove(name).map(|line| line.reason).unwrap_or_default();
        let reason = reason.map_or(before, |reason| reason.replace(['\t', '\n'], " "));
        self.lines.insert(name.to_owned(), Line { cost, reason });
    }

    pub(crate) fn write(&self) -> Result<(), String> {
        let mut text = String::from("row\tinstructions\tallocations\tbytes\tpeak\treason\n");
        for (name, Line { cost, reason }) in &self.lines {
            let Cost { instructions, allocations, bytes, peak } = cost;
            text += &format!("{name}\t{instructions}\t{allocations}\t{bytes}\t{peak}\t{reason}\n");
        }
        std::fs::write(&self.path, text).map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

fn parse(line: &str) -> Option<(String, Line)> {
    let mut fields = line.split('\t');
    let name = fields.next()?.to_owned();
    let mut number = || fields.next()?.parse().ok();
    let cost = Cost { instructions: number()?, allocations: number()?, bytes: number()?, peak: number()? };
    Some((name, Line { cost, reason: fields.next().unwrap_or_default().to_owned() }))
}
