//! The process group of the program in one run of `coracle check`.

use coracle_check::ProgramProcess;
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};

/// The process group that runs now, if one does.
#[derive(Default)]
pub(super) struct CheckedProcess(Mutex<Option<i32>>);

impl CheckedProcess {
    pub(super) fn starts(&self, group: i32) {
        *self.0.lock() = Some(group);
    }

    pub(super) fn ends(&self) {
        *self.0.lock() = None;
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.0.lock().and_then(Pid::from_raw) {
            // It may have ended.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl ProgramProcess for CheckedProcess {
    fn pause(&self) {
        self.signal(Signal::STOP);
    }

    fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn computes(&self) -> bool {
        let group = *self.0.lock();
        group.is_some_and(|group| members(group).any(has_running_thread))
    }
}

/// The processes of a group, where the system shows them.
fn members(group: i32) -> impl Iterator<Item = u32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(move |pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.ok().and_then(|stat| Stat::parse(&stat)).is_some_and(|stat| stat.group == group)
    })
}

fn has_running_thread(pid: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let stats = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok());
    stats.filter_map(|stat| Stat::parse(&stat)).any(|stat| stat.runs)
}

/// What is used of a file `stat` of Linux.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    /// Whether it runs, or waits for a processor or a disk.
    runs: bool,
    /// The process group.
    group: i32,
}

impl Stat {
    fn parse(text: &str) -> Option<Self> {
        // The name is in parentheses, and may have any character.
        let mut fields = text.rsplit_once(')')?.1.split_whitespace();
        let (state, _parent, group) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Self { runs: matches!(state, "R" | "D"), group: group.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_file_shows_the_state_and_the_group_for_any_name() {
        let stat = |text: &str| Stat::parse(text).unwrap();
        assert_eq!(stat("7 (a b) c) R 1 42 42 0"), Stat { runs: true, group: 42 });
        assert_eq!(stat("7 (python3) S 1 7 7 0"), Stat { runs: false, group: 7 });
        assert_eq!(Stat::parse("7 (python3)"), None);
    }
}
