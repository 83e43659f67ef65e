use std::time::Duration;

use coracle_api::core_v1::Pod;

/// What the containers of a simulated pod do; told by annotations of the pod, which may change while it runs.
///
/// | annotation | what it says |
/// |---|---|
/// | `coracle.dev/start: "false"` | the containers never start |
/// | `coracle.dev/ready: "false"` | they run and are not ready |
/// | `coracle.dev/exit-code: "N"` | they end with that code |
/// | `coracle.dev/exit-after: 5s` | after they have run for so long; at once if it is not given |
/// | `coracle.dev/stop: "false"` | they do not heed the request to stop, and are killed after the grace period |
///
/// A value that cannot be read counts as absent. All containers of a pod start, are ready and end together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Behaviour {
    /// Never get going.
    pub never_starts: bool,
    /// Run without being ready.
    pub not_ready: bool,
    /// End by themselves.
    pub exits: Option<i32>,
    /// Not before they have run for so long.
    pub exit_after: Duration,
    /// Have to be killed.
    pub ignores_stop: bool,
}

impl Behaviour {
    /// What the pod's annotations say.
    pub fn of(pod: &Pod) -> Self {
        let told = |name: &str| pod.metadata.annotations.get(&format!("coracle.dev/{name}")).map(String::as_str);
        Self {
            never_starts: told("start") == Some("false"),
            not_ready: told("ready") == Some("false"),
            exits: told("exit-code").and_then(|code| code.parse().ok()),
            exit_after: told("exit-after").and_then(coracle_meta::parse_duration).unwrap_or_default(),
            ignores_stop: told("stop") == Some("false"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_say_what_the_containers_do() {
        let mut pod = Pod::default();
        assert_eq!(Behaviour::of(&pod), Behaviour::default());
        for (name, value) in [("exit-code", "3"), ("exit-after", "1500ms"), ("stop", "false"), ("ready", "maybe")] {
            pod.metadata.annotations.insert(format!("coracle.dev/{name}"), value.to_owned());
        }
        let behaviour = Behaviour::of(&pod);
        assert_eq!((behaviour.exits, behaviour.exit_after), (Some(3), Duration::from_millis(1500)));
        assert!(behaviour.ignores_stop && !behaviour.not_ready);
    }
}
