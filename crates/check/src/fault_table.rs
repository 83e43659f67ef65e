use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

use crate::plan::{Plan, fault_word, place};

/// Which faults were tried at which writes, and which of them struck. Plans with several faults are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultTable {
    /// The words of the faults, in the order in which they were tried first.
    words: Vec<String>,
    /// The writes, in the order in which they were tried first.
    writes: Vec<String>,
    counts: BTreeMap<(String, String), Count>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    tried: usize,
    struck: usize,
}

impl FaultTable {
    /// A row for each write and fault.
    pub(crate) fn json(&self) -> Vec<Value> {
        let row = |((write, fault), count): (&(String, String), &Count)| json!({"write": write, "fault": fault, "tried": count.tried, "struck": count.struck});
        self.counts.iter().map(row).collect()
    }

    /// Counts a plan.
    pub(crate) fn note(&mut self, plan: &Plan, has_struck: bool) {
        let [fault] = plan.faults.as_slice() else { return };
        let (Some(word), Some(when)) = (fault_word(fault), fault.get("when")) else { return };
        let word = word.to_owned();
        let write = place(when);
        for (list, item) in [(&mut self.words, &word), (&mut self.writes, &write)] {
            if !list.contains(item) {
                list.push(item.clone());
            }
        }
        let count = self.counts.entry((write, word)).or_default();
        count.tried += 1;
        count.struck += usize::from(has_struck);
    }
}

impl fmt::Display for FaultTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.writes.is_empty() {
            return Ok(());
        }
        let wide = self.writes.iter().map(String::len).max().unwrap_or_default();
        write!(f, "{:wide$}", "faults that struck / that were tried")?;
        self.words.iter().try_for_each(|word| write!(f, " {word:>7}"))?;
        writeln!(f)?;
        for write in &self.writes {
            write!(f, "{write:wide$}")?;
            for word in &self.words {
                let count = self.counts.get(&(write.clone(), word.clone()));
                let text = count.map_or_else(|| "-".to_owned(), |count| format!("{}/{}", count.struck, count.tried));
                write!(f, " {text:>7}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_counts_the_faults_of_each_write() {
        let when = |nth: u64| json!({"by": "operator", "verb": "create", "resource": "pods", "nth": nth});
        let lag = |nth: u64| json!({"when": when(nth), "do": {"kind": "Pod", "lag": "1s", "to": "operator"}});
        let kill = json!({"when": when(1), "do": {"kill": "operator"}});
        let mut table = FaultTable::default();
        assert_eq!(table.to_string(), "");
        table.note(&Plan::of([kill.clone()]), true);
        table.note(&Plan::of([lag(1)]), true);
        table.note(&Plan::of([lag(1)]), false);
        table.note(&Plan::of([lag(2)]), false);
        table.note(&Plan::of([lag(2), kill]), true);
        let text = table.to_string();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().rev().take(2).collect()).collect();
        assert_eq!(lines, [["lag", "kill"], ["1/2", "1/1"], ["0/1", "-"]], "{text}");
    }
}
