//! Archives from which setup-envtest and controller-runtime install Coracle in place of kube-apiserver and etcd.
//!
//! ```text
//! controller-tools/envtest/coracle          the program, once
//! controller-tools/envtest/etcd             exec coracle etcd
//! controller-tools/envtest/kube-apiserver   exec coracle kube-apiserver, with the release of the archive
//! controller-tools/envtest/kubectl          exec the kubectl on the PATH
//! ```
//! The installers put every regular file of an archive into one folder and ignore links. So an archive has one copy of the
//! program, and shell scripts that know its release: the folder may be moved and renamed. In Kubernetes: an archive has
//! three programs.
//!
//! The same program and release give the same bytes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use coracle_release::Release;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha512};
use tar::Header;

/// The folder of the programs in an archive, as the Kubernetes project names it.
const FOLDER: &str = "controller-tools/envtest";
/// The sizes of a block of tar, which pads files to it.
const BLOCK: usize = 512;

/// A program `coracle`, packed once for the archives of all releases.
pub(crate) struct Program {
    platform: &'static str,
    /// A member of a gzip file with the tar entry of the program.
    packed: Vec<u8>,
}

/// An archive of a release.
pub(crate) struct Archive {
    pub(crate) listing: Listing,
    /// The content.
    pub(crate) bytes: Vec<u8>,
}

/// What the index says of an archive.
pub(crate) struct Listing {
    /// The file name, which setup-envtest parses: `envtest-v1.36.3-linux-amd64.tar.gz`.
    pub(crate) name: String,
    git_version: &'static str,
    /// SHA-512 in hexadecimal digits.
    hash: String,
}

impl Program {
    /// Packs a program; `None` if no platform of envtest can run it.
    pub(crate) fn pack(program: &[u8]) -> io::Result<Option<Self>> {
        let Some(platform) = platform_of(program) else { return Ok(None) };
        let mut packed = compressor();
        packed.write_all(header("coracle", program.len())?.as_bytes())?;
        packed.write_all(program)?;
        packed.write_all(&vec![0; program.len().next_multiple_of(BLOCK) - program.len()])?;
        Ok(Some(Self { platform, packed: packed.finish()? }))
    }

    /// The platform, in Go's names: `linux-amd64`.
    pub(crate) fn platform(&self) -> &'static str {
        self.platform
    }

    /// The archive for a release. A gzip file may have several members; its content is theirs, one after the other.
    pub(crate) fn archive(&self, release: &Release) -> io::Result<Archive> {
        let mut rest = tar::Builder::new(compressor());
        for (name, script) in [
            ("etcd", coracle_script("etcd", release)),
            ("kube-apiserver", coracle_script("kube-apiserver", release)),
            ("kubectl", KUBECTL.to_owned()),
        ] {
            rest.append(&header(name, script.len())?, script.as_bytes())?;
        }
        let mut bytes = self.packed.clone();
        bytes.extend(rest.into_inner()?.finish()?);
        let git_version = release.git_version();
        let name = format!("envtest-{git_version}-{}.tar.gz", self.platform);
        let hash = Sha512::digest(&bytes).iter().fold(String::new(), |mut hash, byte| {
            let _ = write!(hash, "{byte:02x}");
            hash
        });
        Ok(Archive { listing: Listing { name, git_version, hash }, bytes })
    }
}

/// The index that names the archives at an address.
pub(crate) fn index(archives: &[Listing], url: &str) -> String {
    let mut releases: BTreeMap<&str, Vec<&Listing>> = BTreeMap::new();
    for archive in archives {
        releases.entry(archive.git_version).or_default().push(archive);
    }
    let mut text = "releases:\n".to_owned();
    for (version, archives) in releases {
        let _ = writeln!(text, "  {version}:");
        for Listing { name, hash, .. } in archives {
            let _ = writeln!(text, "    {name}:\n      hash: {hash}\n      selfLink: {url}/{name}");
        }
    }
    text
}

/// The platform that the head of an executable names: ELF for Linux, Mach-O for macOS.
fn platform_of(program: &[u8]) -> Option<&'static str> {
    match program.first_chunk::<20>()? {
        [0x7f, b'E', b'L', b'F', .., 62, 0] => Some("linux-amd64"),
        [0x7f, b'E', b'L', b'F', .., 183, 0] => Some("linux-arm64"),
        [0xcf, 0xfa, 0xed, 0xfe, 7, 0, 0, 1, ..] => Some("darwin-amd64"),
        [0xcf, 0xfa, 0xed, 0xfe, 12, 0, 0, 1, ..] => Some("darwin-arm64"),
        _ => None,
    }
}

/// Starts the program that is in the same folder. A link to the script is followed to that folder.
fn coracle_script(name: &str, release: &Release) -> String {
    let (git_version, version) = (release.git_version(), release.version());
    format!(
        r#"#!/bin/sh
# Coracle in place of {name}, for the tests of controllers. It answers as Kubernetes {git_version}.
case ${{CORACLE_KUBERNETES:-{version}}} in
{version} | {version}.* | v{version} | v{version}.*) ;;
*)
  echo "{name}: these programs are Kubernetes {git_version}, and CORACLE_KUBERNETES asks for $CORACLE_KUBERNETES:" \
    "unset it, or run  setup-envtest use $CORACLE_KUBERNETES" >&2
  exit 2 ;;
esac
program=$0
while [ -L "$program" ]; do
  link=$(readlink "$program")
  case $link in
  /*) program=$link ;;
  *) program=$(dirname "$program")/$link ;;
  esac
done
coracle=$(dirname "$program")/coracle
if ! [ -x "$coracle" ]; then
  echo "{name}: there is no $coracle: {name} needs the other files of its archive in its folder" >&2
  exit 70
fi
CORACLE_KUBERNETES={version}
export CORACLE_KUBERNETES
exec "$coracle" {name} "$@"
"#
    )
}

/// envtest looks for this program, and starts it for tests that ask for it.
const KUBECTL: &str = r#"#!/bin/sh
# Coracle contains no kubectl. This script runs the kubectl on the PATH.
IFS=:
for folder in $PATH; do
  program=${folder:-.}/kubectl
  if [ -f "$program" ] && [ -x "$program" ] && ! [ "$program" -ef "$0" ]; then
    unset IFS
    exec "$program" "$@"
  fi
done
echo "kubectl: Coracle contains no kubectl, and none is on the PATH: install kubectl" >&2
exit 127
"#;

/// Compresses without a name, a time or a system in the header.
fn compressor() -> GzEncoder<Vec<u8>> {
    GzEncoder::new(Vec::new(), Compression::best())
}

/// The header of an executable in the archive.
fn header(name: &str, size: usize) -> io::Result<Header> {
    let mut header = Header::new_gnu();
    header.set_path(format!("{FOLDER}/{name}"))?;
    header.set_mode(0o755);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(size as u64);
    header.set_cksum();
    Ok(header)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::MultiGzDecoder;

    use super::*;

    const PROGRAM: &[u8] = b"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x3e\x00 and code";

    fn archive(version: &str) -> Archive {
        Program::pack(PROGRAM).unwrap().unwrap().archive(&Release::named(version).unwrap()).unwrap()
    }

    #[test]
    fn an_archive_holds_the_program_once_and_a_script_for_each_name() {
        let archive = archive("1.36");
        let mut files = BTreeMap::new();
        let mut tar = tar::Archive::new(MultiGzDecoder::new(archive.bytes.as_slice()));
        for entry in tar.entries().unwrap() {
            let mut entry = entry.unwrap();
            // The installers skip what is no regular file.
            assert_eq!((entry.header().entry_type(), entry.header().mode().unwrap()), (tar::EntryType::Regular, 0o755));
            let name =
                entry.path().unwrap().to_str().unwrap().strip_prefix("controller-tools/envtest/").unwrap().to_owned();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            files.insert(name, content);
        }
        assert_eq!(files.keys().collect::<Vec<_>>(), ["coracle", "etcd", "kube-apiserver", "kubectl"]);
        assert_eq!(files["coracle"], PROGRAM);
        for name in ["etcd", "kube-apiserver"] {
            let script = str::from_utf8(&files[name]).unwrap();
            assert!(script.contains("CORACLE_KUBERNETES=1.36\n"), "{script}");
            assert!(script.ends_with(&format!("exec \"$coracle\" {name} \"$@\"\n")), "{script}");
        }
    }

    #[test]
    fn the_same_program_and_release_give_the_same_bytes() {
        assert_eq!(archive("1.36").bytes, archive("1.36").bytes);
        assert_ne!(archive("1.36").listing.hash, archive("1.37").listing.hash);
    }

    #[test]
    fn the_index_has_the_address_and_the_hash_of_each_archive() {
        let listing = archive("1.36").listing;
        let (name, hash) = (&listing.name, &listing.hash);
        assert_eq!(hash.len(), 128);
        let version = Release::named("1.36").unwrap().git_version();
        let expected = format!(
            "releases:\n  {version}:\n    {name}:\n      hash: {hash}\n      selfLink: http://localhost/{name}\n"
        );
        assert_eq!(index(&[listing], "http://localhost"), expected);
    }

    #[test]
    fn the_head_of_a_program_names_its_platform() {
        assert_eq!(platform_of(PROGRAM), Some("linux-amd64"));
        let mut arm = PROGRAM.to_vec();
        arm[18] = 183;
        assert_eq!(platform_of(&arm), Some("linux-arm64"));
        let mac = [0xcf, 0xfa, 0xed, 0xfe, 12, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(platform_of(&mac), Some("darwin-arm64"));
        assert_eq!(platform_of(b"#!/bin/sh\necho this is a script"), None);
        assert_eq!(platform_of(b"\x7fELF"), None);
    }
}
