//! The files of each release.

/// The files of one release. All but those of the first say what is different from the release before.
pub(crate) struct Data {
    /// The minor version, such as `1.35`.
    pub(crate) version: &'static str,
    /// The version of the servers whose answers are the model, such as `v1.35.3`.
    pub(crate) git_version: &'static str,
    /// The day on which upstream's support ends, such as `2027-02-28`.
    pub(crate) end_of_life: &'static str,
    pub(crate) gates: &'static str,
    pub(crate) behaviours: &'static str,
    pub(crate) lists: &'static str,
    pub(crate) types: &'static str,
    pub(crate) resources: &'static str,
    /// Packed with gzip.
    #[cfg(feature = "descriptions")]
    pub(crate) descriptions: &'static [u8],
}

macro_rules! data {
    ($version:literal, $git_version:literal, $end_of_life:literal) => {
        Data {
            version: $version,
            git_version: $git_version,
            end_of_life: $end_of_life,
            gates: include_str!(concat!("../data/", $version, "/gates.txt")),
            behaviours: include_str!(concat!("../data/", $version, "/behaviours.txt")),
            lists: include_str!(concat!("../data/", $version, "/lists.txt")),
            types: include_str!(concat!("../data/", $version, "/types.txt")),
            resources: include_str!(concat!("../data/", $version, "/resources.txt")),
            #[cfg(feature = "descriptions")]
            descriptions: include_bytes!(concat!("../data/", $version, "/descriptions.txt.gz")),
        }
    };
}

/// All releases, the oldest first, one per line.
pub(crate) const RELEASES: &[Data] = &[
    data!("1.35", "v1.35.3", "2027-02-28"),
    data!("1.36", "v1.36.3", "2027-06-28"),
    data!("1.37", "v1.37.2", "2027-10-28"),
];

/// The release of a program that chooses none.
pub(crate) const DEFAULT: &str = "1.37";
