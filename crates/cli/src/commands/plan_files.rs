//! The files of `coracle check --out`: plans, and the pages next to them.

use std::path::{Path, PathBuf};

use coracle_scenario::parse::{DocumentKind, read_text};

use crate::exit::Usage;
use crate::shell::quoted;
use crate::yaml_files::is_yaml;

/// Whether a text is a plan.
pub(super) fn is_plan(file: &Path, text: &str) -> bool {
    matches!(DocumentKind::of(file, text), Ok(Some(DocumentKind::Plan)))
}

/// The file with the runs of a plan; another file is itself.
///
/// # Errors
/// If the plan has no page.
pub(super) fn page_of(file: &Path) -> Result<PathBuf, Usage> {
    if !is_yaml(file) || !read_text(file).is_ok_and(|text| is_plan(file, &text)) {
        return Ok(file.to_owned());
    }
    let page = file.with_extension("html");
    if page.is_file() {
        return Ok(page);
    }
    let (plan, folder) = (quoted(file), file.parent().filter(|folder| !folder.as_os_str().is_empty()));
    let folder = quoted(folder.unwrap_or(Path::new(".")));
    Err(Usage(format!(
        "there is no page {}; replay the plan to write it: coracle check --plan {plan} --out {folder} -- PROGRAM",
        page.display()
    )))
}
