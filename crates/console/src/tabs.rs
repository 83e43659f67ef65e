//! Text in columns, as Go's `text/tabwriter` aligns it.

/// How columns are padded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tabs {
    /// The minimum width of a column with its padding.
    pub(crate) min_width: usize,
    /// The spaces after the widest cell.
    pub(crate) padding: usize,
}

/// The columns of tables.
pub(crate) const TABLE: Tabs = Tabs { min_width: 6, padding: 3 };

/// The columns of descriptions.
pub(crate) const DESCRIPTION: Tabs = Tabs { min_width: 0, padding: 2 };

impl Tabs {
    /// Aligns the cells of a text, which end with tabs. A column is as wide as its widest cell in consecutive lines
    /// that have it; the last cell of a line belongs to no column.
    pub(crate) fn align(self, text: &str) -> String {
        let lines: Vec<Vec<&str>> = text.split('\n').map(|line| line.split('\t').collect()).collect();
        let mut widths: Vec<Vec<usize>> = lines.iter().map(|cells| vec![0; cells.len() - 1]).collect();
        self.measure(&lines, 0..lines.len(), 0, &mut widths);
        let mut out = String::with_capacity(text.len() * 2);
        for (index, (cells, widths)) in lines.iter().zip(&widths).enumerate() {
            if index > 0 {
                out.push('\n');
            }
            for (cell, width) in cells.iter().zip(widths) {
                out.push_str(cell);
                out.extend(std::iter::repeat_n(' ', width.saturating_sub(width_of(cell))));
            }
            out.push_str(cells.last().copied().unwrap_or_default());
        }
        out
    }

    /// Measures the blocks of one column, and within each block the columns after it.
    fn measure(self, lines: &[Vec<&str>], range: std::ops::Range<usize>, column: usize, widths: &mut [Vec<usize>]) {
        let has_column = |line: usize| lines[line].len() > column + 1;
        let mut first = range.start;
        while first < range.end {
            if !has_column(first) {
                first += 1;
                continue;
            }
            let end = (first..range.end).find(|line| !has_column(*line)).unwrap_or(range.end);
            let cells = lines[first..end].iter().map(|cells| width_of(cells[column]));
            let widest = cells.max().unwrap_or_default();
            let width = (widest + self.padding).max(self.min_width);
            widths[first..end].iter_mut().for_each(|widths| widths[column] = width);
            self.measure(lines, first..end, column + 1, widths);
            first = end;
        }
    }
}

fn width_of(cell: &str) -> usize {
    cell.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_as_wide_as_its_widest_cell_in_consecutive_lines() {
        assert_eq!(TABLE.align("NAME\tAGE\nweb\t5s\n"), "NAME   AGE\nweb    5s\n");
        assert_eq!(TABLE.align("A\tB\nlonger-name\tx\n"), "A             B\nlonger-name   x\n");
        assert_eq!(DESCRIPTION.align("a:\tb\nlong:\tc\nd\nx:\ty"), "a:     b\nlong:  c\nd\nx:  y");
        assert_eq!(DESCRIPTION.align("a\tb\tc\nd\te"), "a  b  c\nd  e");
    }
}
