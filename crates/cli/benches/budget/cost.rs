use std::path::Path;
use std::process::{Command, ExitCode};

use allocation_counter::AllocationInfo;

use crate::profile::Profile;
use crate::program;
use crate::rows::{self, Operation, Row};

/// The argument of a process that runs one row.
pub(crate) const CHILD: &str = "--child";

/// How often a server is measured. Its threads do more if they must wait for a processor: the run with the fewest
/// instructions counts.
const SERVER_RUNS: usize = 3;

/// What a row costs, divided by how often it runs its operation.
pub(crate) struct Cost {
    /// Instructions of the processor, as callgrind counts them.
    pub(crate) instructions: u64,
    /// How often the runtime polls a task, as callgrind counts it. Not counted for a server, whose threads share tasks.
    pub(crate) polls: u64,
    /// What the process allocates. Not counted for a row that runs the program.
    pub(crate) allocated: Allocated,
}

/// What a row allocates.
#[derive(Default)]
pub(crate) struct Allocated {
    pub(crate) count: u64,
    /// The sum of all allocations.
    pub(crate) bytes: u64,
    /// The most that was allocated at one time, beyond what was there before. Not divided.
    pub(crate) peak: u64,
}

/// The number of figures of a row.
pub(crate) const FIGURES: usize = 5;

/// The names of the figures, as the files have them.
pub(crate) const NAMES: [&str; FIGURES] = ["instructions", "polls", "allocations", "bytes", "peak"];

impl Cost {
    pub(crate) fn figures(&self) -> [u64; FIGURES] {
        let Self { instructions, polls, allocated: Allocated { count, bytes, peak } } = self;
        [*instructions, *polls, *count, *bytes, *peak]
    }
}

/// Why nothing can be measured on this machine.
pub(crate) fn unavailable() -> Option<&'static str> {
    let found = Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success());
    (!found).then_some("there is no valgrind on this machine")
}

/// Measures a row in processes of its own, so that no row changes the figures of another.
pub(crate) fn of(row: &Row) -> Result<Cost, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = folder.path().join("profile");
    let mut valgrind = Command::new("valgrind");
    valgrind.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", file.display()));
    match row.operation {
        Operation::InProcess(_) => in_process(row, valgrind, &file),
        Operation::Command(arguments) => {
            run(valgrind.arg(program::PATH).args(arguments))?;
            let Profile { instructions, polls } = Profile::read(&file)?;
            Ok(Cost { instructions, polls, allocated: Allocated::default() })
        }
        Operation::Server(arguments) => {
            valgrind.arg(program::PATH).args(arguments).arg(folder.path().join("state"));
            let mut fewest = u64::MAX;
            for _ in 0..SERVER_RUNS {
                program::until_greeting(&mut valgrind)?;
                fewest = fewest.min(Profile::read(&file)?.instructions);
            }
            Ok(Cost { instructions: fewest, polls: 0, allocated: Allocated::default() })
        }
    }
}

/// Runs a row twice: under callgrind, and with counted allocations.
fn in_process(row: &Row, mut valgrind: Command, file: &Path) -> Result<Cost, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    // The function below, whose name the compiler may decorate.
    valgrind.args(["--collect-atstart=no", "--toggle-collect=*count_instructions_of*"]);
    run(valgrind.arg(&program).args([CHILD, row.name]))?;
    let Profile { instructions, polls } = Profile::read(file)?;
    if instructions == 0 {
        return Err(format!("{}: callgrind did not find the measured function", row.name));
    }
    let printed = run(Command::new(program).args([CHILD, row.name]))?;
    let number = |before: &str| {
        let found = printed.lines().find_map(|line| line.split_once(before)?.1.trim().parse::<u64>().ok());
        found.ok_or_else(|| format!("{}: no \"{before}\" in:\n{printed}", row.name))
    };
    let allocated = Allocated {
        count: number("allocations:")? / row.times,
        bytes: number("bytes:")? / row.times,
        peak: number("peak:")?,
    };
    Ok(Cost { instructions: instructions / row.times, polls: polls / row.times, allocated })
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
    let Operation::InProcess(prepare) = row.operation else {
        eprintln!("the row {name:?} runs in a process of the program");
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime");
    let work = runtime.block_on(prepare());
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
