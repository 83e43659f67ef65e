use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use coracle_kubelet::{Manifest, ManifestFolder, ManifestSource};

/// The maximum number of bytes read from a file; a node refuses a manifest of this length.
const MOST: u64 = (10 << 20) + 1;

/// Manifests of static pods in a folder on disk, or in one file.
///
/// Hidden files and folders below are ignored. A missing folder has no manifests.
/// In Kubernetes: `sourceFile.listConfig`.
pub struct ManifestsOnDisk {
    path: PathBuf,
}

impl ManifestsOnDisk {
    /// The manifests in the folder or file at this path.
    pub fn at(path: impl Into<PathBuf>) -> ManifestFolder {
        ManifestFolder::new(Self { path: path.into() })
    }
}

impl ManifestSource for ManifestsOnDisk {
    fn read(&self) -> Result<Vec<Manifest>, String> {
        let told = |error: std::io::Error| format!("{}: {error}", self.path.display());
        let found = match self.path.metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            found => found.map_err(told)?,
        };
        if found.is_file() {
            return Ok(read(&self.path).into_iter().collect());
        }
        let entries = self.path.read_dir().and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(told)?;
        let mut paths: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
        paths.sort();
        let is_hidden = |path: &Path| path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
        Ok(paths.iter().filter(|path| !is_hidden(path) && path.is_file()).filter_map(|path| read(path)).collect())
    }
}

/// Reads a file; `None` if it does not exist any more.
fn read(path: &Path) -> Option<Manifest> {
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(MOST).read_to_string(&mut text));
    let content = match read {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        read => read.map(|_| text).map_err(|error| error.to_string()),
    };
    Some(Manifest { path: path.display().to_string(), content })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_folder_are_manifests_but_hidden_ones_and_folders_below() {
        let folder = std::env::temp_dir().join(format!("coracle-manifests-{}", std::process::id()));
        let source = ManifestsOnDisk { path: folder.clone() };
        assert_eq!(source.read(), Ok(Vec::new()), "there is no such folder");
        std::fs::create_dir_all(folder.join("below")).unwrap();
        for (name, text) in
            [("b.yaml", &b"b"[..]), ("a", b"a"), (".hidden", b"x"), ("below/c.yaml", b"c"), ("c", b"\xff")]
        {
            std::fs::write(folder.join(name), text).unwrap();
        }
        let read = source.read().unwrap();
        let named: Vec<_> =
            read.iter().map(|own| (own.path.rsplit('/').next().unwrap(), own.content.as_deref().ok())).collect();
        assert_eq!(named, [("a", Some("a")), ("b.yaml", Some("b")), ("c", None)]);
        let one = ManifestsOnDisk { path: folder.join("a") }.read().unwrap();
        assert_eq!(one, read[..1]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
