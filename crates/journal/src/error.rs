/// Why an events file could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system said no.
    #[error("events file {path}")]
    Io {
        /// The file.
        path: String,
        /// What the file system said.
        #[source]
        source: std::io::Error,
    },
    /// It is no events file.
    #[error(
        "events file {path}, line 1: expected {{\"log\":\"coracle\",\"schema\":{},…}}, found {found}",
        crate::SCHEMA
    )]
    Foreign {
        /// The file.
        path: String,
        /// How it begins.
        found: String,
    },
    /// It was written by a program whose logs have another form.
    #[error(
        "events file {path}, line 1: expected schema {}, found {found}, written by coracle {version}",
        crate::SCHEMA
    )]
    OtherSchema {
        /// The file.
        path: String,
        /// Its schema.
        found: u64,
        /// The version of the program that wrote it.
        version: String,
    },
    /// A line is not an entry.
    #[error("events file {path}, line {line}: expected an entry: {why}")]
    Malformed {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// The file ends too early: whoever wrote it was stopped, or it was not copied whole.
    #[error("events file {path}, line {line}: it is cut here; expected {{\"end\":…}} as the last line")]
    Cut {
        /// The file.
        path: String,
        /// The first line that is not whole, from 1.
        line: usize,
    },
}
