//! The descriptions of kinds and fields, in Kubernetes' words, for `kubectl explain`.

use std::io::Read as _;
use std::sync::OnceLock;

use coracle_cluster::Descriptions;
use coracle_schema::openapi::Described;
use flate2::read::GzDecoder;

/// The descriptions that `cargo xtask descriptions` wrote; unpacked when they are first needed.
#[derive(Debug, Default)]
pub(crate) struct Included {
    unpacked: OnceLock<Described>,
}

impl Descriptions for Included {
    fn describe(&self, ty: &str, field: Option<&str>) -> String {
        self.unpacked.get_or_init(unpack).describe(ty, field)
    }
}

fn unpack() -> Described {
    let mut text = String::new();
    let packed = include_bytes!("../descriptions.txt.gz");
    GzDecoder::new(packed.as_slice()).read_to_string(&mut text).expect("the included file is gzip of a text");
    Described::read(text).expect("the included file is one that was written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_fields_are_described() {
        let descriptions = Included::default();
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
        let descriptions = Included::default();
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
