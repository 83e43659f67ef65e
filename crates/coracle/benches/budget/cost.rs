use std::process::{Command, ExitCode};

use allocation_counter::AllocationInfo;

use crate::rows::{self, Row};

/// The argument of a process that runs one row.
pub(crate) const CHILD: &str = "--child";

/// What a row costs, divided by how often it runs its operation.
pub(crate) struct Cost {
    /// Instructions of the processor, as callgrind counts them.
    pub(crate) instructions: u64,
    pub(crate) allocations: u64,
    /// The sum of all allocations.
    pub(crate) bytes: u64,
    /// The most that was allocated at one time, beyond what was there before. Not divided.
    pub(crate) peak: u64,
}

impl Cost {
    pub(crate) fn figures(&self) -> [(&'static str, u64); 4] {
        [
            ("instructions", self.instructions),
            ("allocations", self.allocations),
            ("bytes", self.bytes),
            ("peak", self.peak),
        ]
    }
}

/// Why nothing can be measured on this machine.
pub(crate) fn unavailable() -> Option<&'static str> {
    let found = Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success());
    (!found).then_some("there is no valgrind on this machine")
}

/// Runs a row twice, in processes of its own, so that no row changes the figures of another.
pub(crate) fn of(row: &Row) -> Result<Cost, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let valgrind = [
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        "--collect-atstart=no",
        // The function below, whose name the compiler may decorate.
        "--toggle-collect=*count_instructions_of*",
    ];
    let counted = run(Command::new("valgrind").args(valgrind).arg(&program).args([CHILD, row.name]))?;
    let allocated = run(Command::new(program).args([CHILD, row.name]))?;
    let number = |text: &str, before: &str| {
        let found = text.lines().find_map(|line| line.split_once(before)?.1.trim().parse::<u64>().ok());
        found.ok_or_else(|| format!("{}: no \"{before}\" in:\n{text}", row.name))
    };
    let instructions = number(&counted, "Collected :")?;
    if instructions == 0 {
        return Err(format!("{}: callgrind did not find the measured function", row.name));
    }
    Ok(Cost {
        instructions: instructions / row.times,
        allocations: number(&allocated, "allocations:")? / row.times,
        bytes: number(&allocated, "bytes:")? / row.times,
        peak: number(&allocated, "peak:")?,
    })
}

/// What a command prints, on both of its streams.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(printed.into_owned()) } else { Err(format!("{command:?}: {printed}")) }
}

/// Runs one row in this process, and prints what it allocates.
pub(crate) fn run_child(name: &str) -> ExitCode {
    let Some(row) = rows::ROWS.iter().find(|row| row.name == name) else {
        eprintln!("there is no row {name:?}");
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime");
    let work = runtime.block_on((row.prepare)());
    let mut after = None;
    let AllocationInfo { count_total, bytes_total, bytes_max, .. } =
        allocation_counter::measure(|| after = Some(count_instructions_of(|| runtime.block_on(work))));
    println!("allocations:{count_total}\nbytes:{bytes_total}\npeak:{bytes_max}");
    drop(after);
    ExitCode::SUCCESS
}

/// Callgrind counts while this function runs.
#[inline(never)]
fn count_instructions_of<T>(work: impl FnOnce() -> T) -> T {
    work()
}
