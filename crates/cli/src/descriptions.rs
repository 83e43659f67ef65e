//! The descriptions of kinds and fields, in Kubernetes' words, for `kubectl explain`.

use std::io::Read as _;
use std::sync::OnceLock;

use coracle_cluster::Descriptions;
use coracle_release::Release;
use coracle_schema::openapi::Described;
use flate2::read::GzDecoder;

/// The descriptions of a release that `cargo xtask descriptions` wrote; unpacked when they are first needed.
#[derive(Debug)]
pub(crate) struct Included {
    release: Release,
    /// Those of the first release, and what each later one changes.
    unpacked: OnceLock<Vec<Described>>,
}

impl Included {
    pub(crate) fn of(release: &Release) -> Self {
        Self { release: release.clone(), unpacked: OnceLock::new() }
    }
}

impl Descriptions for Included {
    fn describe(&self, ty: &str, field: Option<&str>) -> String {
        let unpacked = self.unpacked.get_or_init(|| self.release.packed_descriptions().map(unpack).collect());
        let found = unpacked.iter().rev().map(|described| described.describe(ty, field));
        found.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
    }
}

fn unpack(packed: &[u8]) -> Described {
    let mut text = String::new();
    GzDecoder::new(packed).read_to_string(&mut text).expect("the included file is gzip of a text");
    Described::read(text).expect("the included file is one that was written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_fields_are_described() {
        let descriptions = Included::of(&Release::default());
        let pod = "io.k8s.api.core.v1.Pod";
        assert!(descriptions.describe(pod, None).starts_with("Pod is a collection of containers"));
        assert!(!descriptions.describe(pod, Some("spec")).is_empty());
        assert!(!descriptions.describe("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", Some("labels")).is_empty());
        assert!(descriptions.describe("io.example.Nothing", None).is_empty());
        let restart = descriptions.describe("io.k8s.api.core.v1.PodSpec", Some("restartPolicy"));
        assert!(restart.contains("Possible enum values:\n - `\"Always\"`"), "{restart}");
        assert_eq!(
            descriptions.describe("io.k8s.api.core.v1.PodList", Some("items")),
            "List of pods. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
        );
    }

    #[test]
    fn parameters_are_described_as_the_fields_of_their_options() {
        let descriptions = Included::of(&Release::default());
        let fields = [
            (
                "ListOptions",
                &["allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion"][..],
            ),
            ("ListOptions", &["resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch"]),
            ("CreateOptions", &["dryRun", "fieldManager", "fieldValidation"]),
            ("UpdateOptions", &["dryRun", "fieldManager", "fieldValidation"]),
            ("PatchOptions", &["dryRun", "fieldManager", "fieldValidation", "force"]),
            ("DeleteOptions", &["dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"]),
            ("DeleteOptions", &["ignoreStoreReadErrorWithClusterBreakingPotential"]),
        ];
        for (options, fields) in fields {
            for field in fields {
                let ty = format!("io.k8s.apimachinery.pkg.apis.meta.v1.{options}");
                assert!(!descriptions.describe(&ty, Some(field)).is_empty(), "{options} {field}");
            }
        }
        for (options, field) in [
            ("PodExecOptions", "command"),
            ("PodAttachOptions", "stdin"),
            ("PodLogOptions", "follow"),
            ("PodPortForwardOptions", "ports"),
            ("PodProxyOptions", "path"),
            ("NodeProxyOptions", "path"),
            ("ServiceProxyOptions", "path"),
        ] {
            assert!(
                !descriptions.describe(&format!("io.k8s.api.core.v1.{options}"), Some(field)).is_empty(),
                "{options}"
            );
        }
    }
}
