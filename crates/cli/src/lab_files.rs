//! The files of the lab, as `make lab` writes them into a folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use coracle_viewer::serve::{PageAnswer, PageHandler, PageRequest};

use crate::exit;

/// The page.
const PAGE: &str = "index.html";
/// What the page needs, besides its script and its style.
const MODULE: &str = "lab.wasm.gz";
/// The types of files that are served.
const TYPES: [(&str, &str); 5] = [
    (".html", "text/html; charset=utf-8"),
    (".js", "text/javascript; charset=utf-8"),
    (".css", "text/css; charset=utf-8"),
    (".wasm", "application/wasm"),
    (".gz", "application/gzip"),
];

/// A folder with the lab. Only files that were directly in it at the start are served, by their names, so that no path
/// leads out of it.
pub(crate) struct LabFiles {
    files: BTreeMap<String, (PathBuf, &'static str)>,
    /// The content security policy of the page, which holds for its worker, too.
    policy: String,
}

impl LabFiles {
    /// Lists the files of a folder.
    pub(crate) fn of(folder: &Path) -> Result<Self> {
        let shown = folder.display();
        let missing = |why: String| exit::Usage(format!("there is no lab in {shown}: {why}; `make lab` writes one"));
        let entries = std::fs::read_dir(folder).map_err(|error| missing(error.to_string()))?;
        let mut files = BTreeMap::new();
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot read {shown}"))?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let content_type = TYPES.iter().find(|(end, _)| name.ends_with(end)).map(|(_, content_type)| *content_type);
            // A link could lead out of the folder.
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if let (Some(content_type), true) = (content_type, is_file) {
                files.insert(name, (entry.path(), content_type));
            }
        }
        if let Some(name) = [PAGE, MODULE].into_iter().find(|name| !files.contains_key(*name)) {
            return Err(missing(format!("it has no file {name}")).into());
        }
        let page = std::fs::read_to_string(folder.join(PAGE)).with_context(|| format!("cannot read {shown}/{PAGE}"))?;
        if !page.contains("http-equiv=\"Content-Security-Policy\"") {
            return Err(missing(format!("{PAGE} is another page")).into());
        }
        let policy = PageAnswer::page(page).policy().to_owned();
        Ok(Self { files, policy })
    }
}

impl PageHandler for LabFiles {
    async fn answer(&self, request: PageRequest) -> Option<PageAnswer> {
        let name = if request.path.is_empty() { PAGE } else { &request.path };
        let (path, content_type) = self.files.get(name)?.clone();
        #[expect(clippy::disallowed_methods, reason = "a disk is read, and no cluster runs in this process")]
        let body = tokio::task::spawn_blocking(move || std::fs::read(path)).await.ok()?.ok()?;
        Some(PageAnswer::file(content_type, body, &self.policy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_files_of_the_folder_are_served() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("lab");
        std::fs::create_dir_all(folder.join("inner")).unwrap();
        assert!(LabFiles::of(&folder).is_err());
        let page = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'\">";
        std::fs::write(place.path().join("secret.js"), "secret").unwrap();
        for (name, text) in [(PAGE, page), (MODULE, "module"), ("inner/a.js", "inner"), ("notes.txt", "notes")] {
            std::fs::write(folder.join(name), text).unwrap();
        }
        std::os::unix::fs::symlink(place.path().join("secret.js"), folder.join("link.js")).unwrap();
        let files = LabFiles::of(&folder).unwrap();
        let asked = |path: &str| PageRequest { path: path.to_owned(), query: String::new() };
        let policy = "default-src 'none'";
        let page = PageAnswer::file("text/html; charset=utf-8", page.as_bytes().to_owned(), policy);
        assert_eq!(files.answer(asked("")).await, Some(page));
        let module = PageAnswer::file("application/gzip", b"module".to_vec(), policy);
        assert_eq!(files.answer(asked(MODULE)).await, Some(module));
        for refused in
            ["link.js", "notes.txt", "inner/a.js", "../secret.js", "..%2Fsecret.js", "/etc/passwd", "none.js", "inner"]
        {
            assert_eq!(files.answer(asked(refused)).await, None, "{refused}");
        }
    }
}
