use std::path::Path;

use anyhow::Result;
use coracle_cluster::scheduler::Configuration;
use coracle_release::Release;

use crate::exit;
use crate::output::note;

/// Reads the scheduler's configuration file in a flag, for a release; prints a note for each setting without effect.
pub(super) fn read(release: &Release, flag: &str, file: &Path) -> Result<Configuration> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| exit::Usage(format!("{flag} {shown}: {error}")))?;
    let read =
        Configuration::read_for(release, &shown.to_string(), &text).map_err(|error| exit::Usage(error.to_string()))?;
    read.notes.iter().for_each(|note| note!("note: {note}"));
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_file_is_reported_with_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("s.yaml");
        let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
        std::fs::write(&file, format!("{head}parallelism: 0\n")).unwrap();
        let said = read(&Release::default(), "--config", &file).unwrap_err().to_string();
        assert!(said.contains("s.yaml:3: parallelism"), "{said}");
        assert!(
            read(&Release::default(), "--config", &folder.path().join("nowhere.yaml"))
                .unwrap_err()
                .to_string()
                .starts_with("--config ")
        );
        std::fs::write(&file, head).unwrap();
        assert_eq!(read(&Release::default(), "--config", &file).unwrap().config.profiles.len(), 1);
    }
}
