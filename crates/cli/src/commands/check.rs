//! `coracle check`: the faults that break a program.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use coracle_check::{CheckReport, ControllerCheck, Error, check_program};

use crate::commands::checked_program::CheckedProgram;
use crate::exit;
use crate::output::out;

/// Where kubebuilder keeps definitions and samples.
const DEFINITIONS: &str = "config/crd/bases";
const SAMPLES: &str = "config/samples";

/// Finds the faults that break a controller: a program in any language that uses KUBECONFIG.
#[derive(Debug, Args)]
pub(crate) struct CheckCommand {
    /// CustomResourceDefinitions: files, or folders with YAML files [default: config/crd/bases, if it exists]
    #[arg(long, value_name = "PATH")]
    crd: Vec<PathBuf>,
    /// Objects that the controller acts on: files, or folders with YAML files [default: config/samples, if it exists]
    #[arg(long, value_name = "PATH")]
    sample: Vec<PathBuf>,
    /// Objects that exist before the controller starts: files, or folders with YAML files
    #[arg(long, value_name = "PATH")]
    given: Vec<PathBuf>,
    /// The name of the controller, which is its user [default: controller]
    #[arg(long, default_value = "controller", hide_default_value = true)]
    name: String,
    /// How many plans of faults are tried; 0 only runs the checks without a fault
    #[arg(long, default_value_t = 60)]
    plans: usize,
    /// How many clusters run at once
    #[arg(long, default_value_t = 6)]
    jobs: usize,
    /// The seed of names and uids
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A folder for the plans that break the controller; the plans in it are tried first
    #[arg(long, value_name = "FOLDER")]
    keep_plans: Option<PathBuf>,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

impl CheckCommand {
    pub(crate) fn run(self) -> Result<u8> {
        let program = CheckedProgram::new(self.command.clone(), &self.name)?;
        let check = self.of(check_program(program.host()))?;
        crate::open_files::raise_limit();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        #[expect(clippy::disallowed_methods, reason = "the search blocks its thread, and this one waits for signals")]
        let searching = std::thread::spawn(move || check.search());
        let interrupted = runtime.block_on(async {
            let mut signals = crate::handed_on::Signals::catch()?;
            let done = async {
                while !searching.is_finished() {
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                }
            };
            anyhow::Ok(signals.unless_one(done).await.err())
        })?;
        if let Some(code) = interrupted {
            program.kill();
            return Ok(code);
        }
        match searching.join() {
            Ok(Ok(report)) => show(&report, &program),
            Ok(Err(error @ (Error::Input(_) | Error::Refused { .. }))) => {
                Err(exit::Usage(with_output(error.to_string(), &program)).into())
            }
            Ok(Err(error)) => Err(error.into()),
            Err(_) => anyhow::bail!("the search panicked"),
        }
    }

    /// The check with what the flags give.
    fn of(&self, mut check: ControllerCheck) -> Result<ControllerCheck> {
        for (flag, paths, default) in [("--crd", &self.crd, Some(DEFINITIONS)), ("--given", &self.given, None)] {
            for (file, text) in texts(flag, paths, default)? {
                check = check.given_from(&file, text);
            }
        }
        let samples = texts("--sample", &self.sample, Some(SAMPLES))?;
        if samples.is_empty() {
            let why = format!(
                "there is no sample: name an object that the controller acts on with --sample, or put it into {SAMPLES}"
            );
            return Err(exit::Usage(why).into());
        }
        for (file, text) in samples {
            check = check.sample_from(&file, text);
        }
        if let Some(folder) = &self.keep_plans {
            check = check.keep_plans(folder);
        }
        Ok(check.named(&self.name).plans(self.plans).jobs(self.jobs).seed(self.seed))
    }
}

fn show(report: &CheckReport, program: &CheckedProgram) -> Result<u8> {
    out!("{}", report.to_string().trim_end())?;
    if !report.fails() {
        return Ok(exit::PASS);
    }
    let has_ended = report.without_faults.iter().any(|finding| finding.check.word == "panics");
    if has_ended {
        out!("{}", with_output(String::new(), program).trim_start())?;
    }
    Ok(exit::CHECK_FAILED)
}

/// The text with the last lines of the program's output.
fn with_output(text: String, program: &CheckedProgram) -> String {
    let lines = program.last_lines();
    if lines.is_empty() { text } else { format!("{text}\nthe program printed:\n  {}", lines.join("\n  ")) }
}

/// The names and texts of files and of the YAML files in folders. Without a path, those of the default folder, if it
/// exists.
fn texts(flag: &str, paths: &[PathBuf], default: Option<&str>) -> Result<Vec<(String, String)>> {
    let found = default.map(PathBuf::from).filter(|folder| paths.is_empty() && folder.is_dir());
    let mut texts = Vec::new();
    for path in paths.iter().chain(&found) {
        for file in files(path).map_err(|error| unreadable(flag, path, &error))? {
            let text = std::fs::read_to_string(&file).map_err(|error| unreadable(flag, &file, &error))?;
            texts.push((file.display().to_string(), text));
        }
    }
    Ok(texts)
}

/// The file, or the YAML files of the folder in the order of their names. A kustomization is not an object.
fn files(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let file = entry?.path();
        let is_yaml = file.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
        let is_kustomization = file.file_stem().is_some_and(|name| name == "kustomization");
        if is_yaml && !is_kustomization {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

fn unreadable(flag: &str, path: &Path, error: &std::io::Error) -> exit::Usage {
    exit::Usage(format!("{flag} {}: {error}", path.display()))
}
