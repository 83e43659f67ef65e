use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

use crate::exit;
use crate::output::out;
use crate::shell::quoted;

/// The first scenario of a user.
const SCENARIO: &str = include_str!("new_scenario.yaml");
/// The name of the scenario in this file.
const NAME: &str = "my-first";

/// Writes a first scenario.
#[derive(Debug, Args)]
pub(crate) struct New {
    /// The file to write; the scenario has its name
    #[arg(value_name = "FILE", default_value = "my-first.yaml")]
    file: PathBuf,
}

impl New {
    pub(crate) fn run(self) -> Result<u8> {
        let shown = self.file.display();
        let Some(name) = name_of(&self.file) else {
            let rule = "a name of lower-case letters, digits and `-`, such as my-first.yaml";
            return Err(exit::Usage(format!("{shown}: the name of a scenario file is {rule}")).into());
        };
        let file = OpenOptions::new().write(true).create_new(true).open(&self.file);
        let mut file = match file {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(exit::Usage(format!("{shown} exists already, and is not overwritten")).into());
            }
            file => file.with_context(|| format!("cannot make {shown}"))?,
        };
        let text = SCENARIO.replacen(NAME, name, 1);
        file.write_all(text.as_bytes()).with_context(|| format!("cannot write {shown}"))?;
        out!("{shown} is written; next: coracle run {}", quoted(&self.file))?;
        Ok(exit::PASS)
    }
}

/// The name of a scenario in a file.
fn name_of(file: &Path) -> Option<&str> {
    let ending = file.extension()?.to_str()?;
    let name = file.file_stem()?.to_str()?;
    let is_valid = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '-';
    let has_edges = !name.starts_with('-') && !name.ends_with('-');
    (["yaml", "yml"].contains(&ending) && name.chars().all(is_valid) && has_edges).then_some(name)
}
