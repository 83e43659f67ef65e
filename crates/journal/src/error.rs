/// Why an events file could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file operation failed.
    #[error("events file {path}")]
    Io {
        /// The file.
        path: String,
        /// The error of the file system.
        #[source]
        source: std::io::Error,
    },
    /// The file is not an events file.
    #[error(
        "events file {path}, line 1: expected {{\"log\":\"coracle\",\"schema\":{},…}}, found {found}",
        crate::SCHEMA
    )]
    Foreign {
        /// The file.
        path: String,
        /// Its first bytes.
        found: String,
    },
    /// It was written by a program with another format of logs.
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
    /// The file is truncated: its writer was stopped, or it was copied incompletely.
    #[error("events file {path}, line {line}: it is cut here; expected {{\"end\":…}} as the last line")]
    Cut {
        /// The file.
        path: String,
        /// The first incomplete line, from 1.
        line: usize,
    },
}
