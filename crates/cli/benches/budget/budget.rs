use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// How much a figure may rise above the file: 3 %.
pub(crate) const TOLERANCE: f64 = 1.03;

/// The figures that a change is compared with: a file with a line for each row, and `N` figures in a line.
pub(crate) struct Budget<const N: usize> {
    path: PathBuf,
    names: [&'static str; N],
    lines: BTreeMap<String, Line<N>>,
    /// Whether all rows that were checked are within the budget.
    is_kept: bool,
}

struct Line<const N: usize> {
    figures: [u64; N],
    /// Why the figures rose, the last time that they did.
    reason: String,
}

/// The largest change among the figures of a row.
pub(crate) enum Change {
    /// The file has no such row.
    New,
    /// The file has the row.
    Ratio {
        /// The new figure as a multiple of the figure in the file.
        ratio: f64,
        figure: &'static str,
        /// The largest ratio within the budget.
        tolerance: f64,
    },
}

impl Change {
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::New => true,
            Self::Ratio { ratio, tolerance, .. } => ratio > tolerance,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New => f.write_str("not in the file"),
            Self::Ratio { ratio, figure, tolerance } => {
                write!(f, "{:+.1} % {figure}", (ratio - 1.0) * 100.0)?;
                match ratio {
                    _ if self.is_over() => f.write_str(" OVER BUDGET"),
                    ratio if *ratio < 1.0 / tolerance => f.write_str(": write the lower figures"),
                    _ => Ok(()),
                }
            }
        }
    }
}

impl<const N: usize> Budget<N> {
    /// Reads the file of this kind of build: `test` or `release`, then `suffix`. `names` are those of the figures, and
    /// `is_row` says which rows exist.
    pub(crate) fn read(suffix: &str, names: [&'static str; N], is_row: impl Fn(&str) -> bool) -> Result<Self, String> {
        let build = if cfg!(debug_assertions) { "test" } else { "release" };
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/budget/figures");
        let path = folder.join(format!("{build}{suffix}.tsv"));
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut lines = BTreeMap::new();
        for (at, line) in text.lines().enumerate().skip(1) {
            let parsed = parse(line).filter(|(name, _)| is_row(name));
            let (name, line) = parsed.ok_or_else(|| format!("{}:{}: not a row", path.display(), at + 1))?;
            lines.insert(name, line);
        }
        Ok(Self { path, names, lines, is_kept: true })
    }

    /// Compares the figures of a row, and sets them if there is a reason to write them. The reason is kept with figures
    /// that are over the budget.
    pub(crate) fn check(&mut self, name: &str, figures: [u64; N], tolerance: f64, reason: Option<&str>) -> Change {
        let change = self.compare(name, figures, tolerance);
        self.is_kept &= !change.is_over();
        if let Some(reason) = reason {
            self.set(name, figures, change.is_over().then_some(reason));
        }
        change
    }

    /// Whether all rows that were checked are within the budget. Writes the file if there is a reason to.
    pub(crate) fn finish(self, reason: Option<&str>) -> Result<bool, String> {
        if reason.is_some() {
            self.write()?;
        }
        Ok(self.is_kept)
    }

    fn compare(&self, name: &str, figures: [u64; N], tolerance: f64) -> Change {
        let Some(line) = self.lines.get(name) else { return Change::New };
        let ratios = self.names.into_iter().zip(figures).zip(line.figures).map(|((figure, new), old)| {
            let ratio = if old == 0 { 1.0 + new as f64 } else { new as f64 / old as f64 };
            (ratio, figure)
        });
        let (ratio, figure) = ratios.max_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((1.0, ""));
        Change::Ratio { ratio, figure, tolerance }
    }

    fn set(&mut self, name: &str, figures: [u64; N], reason: Option<&str>) {
        let before = self.lines.remove(name).map(|line| line.reason).unwrap_or_default();
        let reason = reason.map_or(before, |reason| reason.replace(['\t', '\n'], " "));
        self.lines.insert(name.to_owned(), Line { figures, reason });
    }

    fn write(&self) -> Result<(), String> {
        let mut text = format!("row\t{}\treason\n", self.names.join("\t"));
        for (name, Line { figures, reason }) in &self.lines {
            let figures = figures.map(|figure| figure.to_string()).join("\t");
            text += &format!("{name}\t{figures}\t{reason}\n");
        }
        std::fs::write(&self.path, text).map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

fn parse<const N: usize>(line: &str) -> Option<(String, Line<N>)> {
    let mut fields = line.split('\t');
    let name = fields.next()?.to_owned();
    let mut figures = [0; N];
    for figure in &mut figures {
        *figure = fields.next()?.parse().ok()?;
    }
    Some((name, Line { figures, reason: fields.next().unwrap_or_default().to_owned() }))
}
