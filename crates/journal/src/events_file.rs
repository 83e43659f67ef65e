use crate::sink::end_line;
use crate::{EntryId, Header, Recorder};

/// The bytes of the events file that [`Recorder::file`] would have written, from the entries in memory; the file is not
/// compressed.
///
/// ```
/// use coracle_journal::{Detail, Events, Header, Recorder, Stage, events_file};
///
/// let recorder = Recorder::ring(1000);
/// recorder.record("program", Stage::SyncStart, || Detail::about("default/web"));
/// let file = events_file(&Header::new("2026-01-01T00:00:00Z"), &recorder);
/// let read = Events::read_from("file", &file[..]).unwrap();
/// assert_eq!(read.entries.len(), 1);
/// ```
pub fn events_file(header: &Header, recorder: &Recorder) -> Vec<u8> {
    let mut file = serde_json::to_vec(header).expect("memory takes what is written");
    file.push(b'\n');
    let mut last = EntryId(0);
    while let Some((upto, lines)) = recorder.lines(EntryId(last.0 + 1), "") {
        file.extend_from_slice(&lines);
        last = upto;
    }
    file.extend_from_slice(format!("{}\n", end_line(last)).as_bytes());
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Detail, Stage};

    #[test]
    fn the_bytes_are_those_of_the_file() {
        let folder = std::env::temp_dir().join(format!("coracle-events-file-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (path, header) = (folder.join("run.jsonl"), Header::new("2026-01-01T00:00:00Z").run("virtual", 7));
        let recorder = Recorder::file(&path, 10_000, &header).unwrap();
        for number in 0..5_000 {
            recorder.record("program", Stage::SyncStart, || Detail::about("default/web").with("number", number));
        }
        recorder.close().unwrap();
        assert_eq!(
            String::from_utf8(events_file(&header, &recorder)),
            String::from_utf8(std::fs::read(&path).unwrap())
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
