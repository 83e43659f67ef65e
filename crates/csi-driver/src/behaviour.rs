use std::collections::BTreeMap;
use std::time::Duration;

/// The annotations of a class, a claim or a volume.
type Annotations = BTreeMap<String, String>;

const PREFIX: &str = "coracle.dev/";

/// The calls of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CsiCall {
    /// Create a volume. In CSI: `CreateVolume`.
    Provision,
    /// Delete a volume. In CSI: `DeleteVolume`.
    Delete,
    /// Attach a volume to a node. In CSI: `ControllerPublishVolume`.
    Attach,
    /// Detach it. In CSI: `ControllerUnpublishVolume`.
    Detach,
    /// Mount it on the node, once for all pods. In CSI: `NodeStageVolume`.
    Stage,
    /// Undo that. In CSI: `NodeUnstageVolume`.
    Unstage,
    /// Mount it for a pod. In CSI: `NodePublishVolume`.
    Mount,
    /// Undo that. In CSI: `NodeUnpublishVolume`.
    Unmount,
    /// Expand it. In CSI: `ControllerExpandVolume`.
    Resize,
    /// Expand its file system. In CSI: `NodeExpandVolume`.
    NodeResize,
}

impl CsiCall {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Provision,
        Self::Delete,
        Self::Attach,
        Self::Detach,
        Self::Stage,
        Self::Unstage,
        Self::Mount,
        Self::Unmount,
        Self::Resize,
        Self::NodeResize,
    ];

    /// The name in annotations.
    pub fn word(self) -> &'static str {
        match self {
            Self::Provision => "provision",
            Self::Delete => "delete",
            Self::Attach => "attach",
            Self::Detach => "detach",
            Self::Stage => "stage",
            Self::Unstage => "unstage",
            Self::Mount => "mount",
            Self::Unmount => "unmount",
            Self::Resize => "resize",
            Self::NodeResize => "node-resize",
        }
    }
}

/// How a call ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CsiOutcome {
    /// With success.
    #[default]
    Succeeds,
    /// With an error, on each attempt.
    Fails,
    /// Never.
    Hangs,
    /// The selected topology has no capacity left: the scheduler has to choose another node.
    Exhausted,
}

/// What the driver does at one of its calls. Annotations set it, and may change at any time.
///
/// | annotation | effect |
/// |---|---|
/// | `coracle.dev/CALL: fail` | the call fails on each attempt |
/// | `coracle.dev/CALL: hang` | the call does not return while the annotation is set |
/// | `coracle.dev/CALL: ok` | the call succeeds, whatever the class or the volume sets |
/// | `coracle.dev/provision: exhausted` | the chosen node has no capacity, and the scheduler chooses again |
/// | `coracle.dev/CALL-delay: 5s` | the call takes this long |
///
/// `CALL` is `provision`, `delete`, `attach`, `detach`, `stage`, `unstage`, `mount`, `unmount`, `resize` or
/// `node-resize`. A claim's annotations take precedence over those of its volume, which the provisioner copied from the
/// class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Behaviour {
    /// How it ends.
    pub outcome: CsiOutcome,
    /// How long it takes.
    pub takes: Duration,
}

/// An annotation that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("annotation {annotation}: {value:?} is not {expected}")]
pub struct Unreadable {
    /// Its name.
    pub annotation: String,
    /// Its value.
    pub value: String,
    /// What it may contain.
    pub expected: &'static str,
}

impl Behaviour {
    /// The behaviour of a call, from the first of these annotations that mention it.
    ///
    /// # Errors
    /// If an annotation cannot be parsed.
    pub fn of(call: CsiCall, sources: &[&Annotations]) -> Result<Self, Unreadable> {
        let annotation = |name: &str| {
            let name = format!("{PREFIX}{name}");
            sources.iter().find_map(|annotations| annotations.get_key_value(&name))
        };
        let wrong = |(annotation, value): (&String, &String), expected| Unreadable {
            annotation: annotation.clone(),
            value: value.clone(),
            expected,
        };
        let outcome = match annotation(call.word()) {
            None => CsiOutcome::Succeeds,
            Some(annotation) => match (annotation.1.as_str(), call) {
                ("ok", _) => CsiOutcome::Succeeds,
                ("fail", _) => CsiOutcome::Fails,
                ("hang", _) => CsiOutcome::Hangs,
                ("exhausted", CsiCall::Provision) => CsiOutcome::Exhausted,
                (_, CsiCall::Provision) => return Err(wrong(annotation, "ok, fail, hang or exhausted")),
                _ => return Err(wrong(annotation, "ok, fail or hang")),
            },
        };
        let takes = match annotation(&format!("{}-delay", call.word())) {
            None => Duration::ZERO,
            Some(annotation) => coracle_meta::parse_duration(annotation.1)
                .ok_or_else(|| wrong(annotation, "a duration such as 1500ms, 5s or 1m30s"))?,
        };
        Ok(Self { outcome, takes })
    }

    /// The annotations that set the driver's behaviour.
    pub(crate) fn annotations(all: &Annotations) -> Annotations {
        let names: Vec<String> =
            CsiCall::ALL.iter().flat_map(|call| [call.word().to_owned(), format!("{}-delay", call.word())]).collect();
        let is_one = |name: &str| name.strip_prefix(PREFIX).is_some_and(|name| names.iter().any(|one| one == name));
        all.iter().filter(|(name, _)| is_one(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

/// The gRPC error of a call that fails because of an annotation.
pub(crate) fn failure(call: CsiCall) -> String {
    format!("rpc error: code = Internal desc = simulated failure, as the annotation {PREFIX}{} says", call.word())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotations(annotation: &[(&str, &str)]) -> Annotations {
        annotation.iter().map(|(name, value)| (format!("{PREFIX}{name}"), (*value).to_owned())).collect()
    }

    #[test]
    fn the_claim_wins_over_the_volume_and_each_annotation_stands_for_itself() {
        let claim = annotations(&[("attach", "ok")]);
        let volume = annotations(&[("attach", "fail"), ("attach-delay", "1500ms"), ("mount", "hang")]);
        let of = |call| Behaviour::of(call, &[&claim, &volume]).unwrap();
        let slow = Behaviour { outcome: CsiOutcome::Succeeds, takes: Duration::from_millis(1500) };
        assert_eq!(of(CsiCall::Attach), slow);
        assert_eq!(of(CsiCall::Mount).outcome, CsiOutcome::Hangs);
        assert_eq!(of(CsiCall::Delete), Behaviour::default());
    }

    #[test]
    fn an_invalid_annotation_is_reported_with_the_valid_values() {
        let why = |annotation: &[(&str, &str)], call| {
            Behaviour::of(call, &[&annotations(annotation)]).unwrap_err().to_string()
        };
        assert_eq!(
            why(&[("attach", "exhausted")], CsiCall::Attach),
            "annotation coracle.dev/attach: \"exhausted\" is not ok, fail or hang"
        );
        let late = why(&[("mount-delay", "soon")], CsiCall::Mount);
        assert_eq!(late, "annotation coracle.dev/mount-delay: \"soon\" is not a duration such as 1500ms, 5s or 1m30s");
    }

    #[test]
    fn only_what_speaks_of_the_driver_is_handed_on() {
        let mut all = annotations(&[("attach", "fail"), ("node-resize-delay", "1s"), ("ready", "false")]);
        all.insert("example.com/attach".to_owned(), "fail".to_owned());
        let names: Vec<String> = Behaviour::annotations(&all).into_keys().collect();
        assert_eq!(names, ["coracle.dev/attach", "coracle.dev/node-resize-delay"]);
    }

    proptest::proptest! {
        #[test]
        fn any_annotation_is_read_or_refused_by_its_name(value in ".{0,12}", index in 0..10_usize) {
            let call = CsiCall::ALL[index];
            let annotation = annotations(&[(call.word(), &value), (&format!("{}-delay", call.word()), &value)]);
            if let Err(why) = Behaviour::of(call, &[&annotation]) {
                proptest::prop_assert!(why.annotation.contains(call.word()) && why.value == value);
            }
        }
    }
}
