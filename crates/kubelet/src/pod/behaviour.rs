use std::time::Duration;

use coracle_api::core_v1::Pod;

/// What a container of a simulated pod does. Annotations of the pod set it, and may change while the pod runs.
///
/// | annotation | effect |
/// |---|---|
/// | `coracle.dev/start: "false"` | the pod's containers never start |
/// | `coracle.dev/ready: "false"` | the containers run but are not ready: readiness probes fail |
/// | `coracle.dev/live: "false"` | liveness probes fail |
/// | `coracle.dev/started: "false"` | startup probes fail |
/// | `coracle.dev/exit-code: "N"` | the containers exit with this code |
/// | `coracle.dev/exit-after: 5s` | they exit after running for this long; immediately if it is absent |
/// | `coracle.dev/exit-reason: OOMKilled` | the reason of that exit |
/// | `coracle.dev/stop: "false"` | they ignore SIGTERM and are killed after the grace period |
/// | `coracle.dev/image: missing` | their image cannot be pulled |
///
/// `coracle.dev/NAME.exit-code` and similar annotations apply to one container, which may be an init container. Without
/// a name they apply to all containers except init containers. A value that cannot be parsed counts as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Behaviour {
    /// The container never starts.
    pub never_starts: bool,
    /// It runs without being ready.
    pub not_ready: bool,
    /// Its liveness probe fails.
    pub not_live: bool,
    /// Its startup probe fails.
    pub not_started: bool,
    /// It exits by itself with this code.
    pub exits: Option<i32>,
    /// It runs for at least this long.
    pub exit_after: Duration,
    /// The reason of the exit, if it is neither `Completed` nor `Error`.
    pub exit_reason: Option<String>,
    /// It ignores SIGTERM and has to be killed.
    pub ignores_stop: bool,
    /// Its image cannot be pulled.
    pub has_no_image: bool,
}

const PREFIX: &str = "coracle.dev/";

impl Behaviour {
    /// The behaviour of one container, from the annotations of its pod.
    pub fn of(pod: &Pod, container: &str, is_init: bool) -> Self {
        let mut behaviour = Self::default();
        let own = |name: &str| name.strip_prefix(container).is_some_and(|rest| rest.starts_with('.'));
        let told =
            pod.metadata.annotations.iter().filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?, value)));
        // An annotation for one container takes precedence over one for all.
        let (named, of_all): (Vec<_>, Vec<_>) = told.partition(|(name, _)| own(name));
        for (name, value) in of_all {
            if !is_init || name == "start" {
                behaviour.read(name, value);
            }
        }
        for (name, value) in named {
            behaviour.read(&name[container.len() + 1..], value);
        }
        behaviour
    }

    fn read(&mut self, name: &str, value: &str) {
        match name {
            "start" => self.never_starts = value == "false",
            "ready" => self.not_ready = value == "false",
            "live" => self.not_live = value == "false",
            "started" => self.not_started = value == "false",
            "exit-code" => self.exits = value.parse().ok().or(self.exits),
            "exit-after" => self.exit_after = coracle_meta::parse_duration(value).unwrap_or_default(),
            "exit-reason" => self.exit_reason = Some(value.to_owned()),
            "stop" => self.ignores_stop = value == "false",
            "image" => self.has_no_image = value == "missing",
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(annotations: &[(&str, &str)]) -> Pod {
        let mut pod = Pod::default();
        for (name, value) in annotations {
            pod.metadata.annotations.insert(format!("coracle.dev/{name}"), (*value).to_owned());
        }
        pod
    }

    #[test]
    fn annotations_say_what_the_containers_do() {
        assert_eq!(Behaviour::of(&Pod::default(), "c", false), Behaviour::default());
        let told = [("exit-code", "3"), ("exit-after", "1500ms"), ("stop", "false"), ("ready", "maybe")];
        let behaviour = Behaviour::of(&pod(&told), "c", false);
        assert_eq!((behaviour.exits, behaviour.exit_after), (Some(3), Duration::from_millis(1500)));
        assert!(behaviour.ignores_stop && !behaviour.not_ready);
    }

    #[test]
    fn an_annotation_for_one_container_overrides_and_applies_to_no_other() {
        let pod = pod(&[("exit-code", "3"), ("b.exit-code", "4"), ("init.exit-code", "5")]);
        let code = |container: &str, is_init| Behaviour::of(&pod, container, is_init).exits;
        assert_eq!((code("a", false), code("b", false)), (Some(3), Some(4)));
        assert_eq!((code("init", true), code("other", true)), (Some(5), None));
    }
}
