use std::collections::BTreeMap;
use std::io;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::Header;

/// A file of an archive.
pub(crate) struct File {
    pub(crate) mode: u32,
    pub(crate) bytes: Vec<u8>,
}

/// Packs the files into one folder, sorted, without times and owners.
pub(crate) fn pack(folder: &str, files: &BTreeMap<String, File>) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
    for (path, File { mode, bytes }) in files {
        let mut header = Header::new_gnu();
        header.set_mode(*mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, format!("{folder}/{path}"), bytes.as_slice())?;
    }
    archive.into_inner()?.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_give_the_same_bytes_without_times_and_owners() {
        let files: BTreeMap<_, _> = [("coracle", 0o755), ("LICENSE", 0o644), ("man/coracle.1", 0o644)]
            .map(|(path, mode)| (path.to_owned(), File { mode, bytes: path.as_bytes().to_vec() }))
            .into();
        let packed = pack("coracle-1.2.3-host", &files).unwrap();
        assert_eq!(packed, pack("coracle-1.2.3-host", &files).unwrap());
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(packed.as_slice()));
        let entries = archive.entries().unwrap().map(|entry| {
            let header = entry.unwrap().header().clone();
            assert_eq!((header.mtime().unwrap(), header.uid().unwrap(), header.gid().unwrap()), (0, 0, 0));
            (header.path().unwrap().to_string_lossy().into_owned(), header.mode().unwrap())
        });
        let expected = [("LICENSE", 0o644), ("coracle", 0o755), ("man/coracle.1", 0o644)];
        let expected = expected.map(|(path, mode)| (format!("coracle-1.2.3-host/{path}"), mode));
        assert_eq!(entries.collect::<Vec<_>>(), expected);
    }
}
