//! The saved form of a machine.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use coracle_meta::ObjectKey;
use coracle_volume_manager::{Disk, SavedVolume};
use serde::{Deserialize, Serialize};

use super::{LINES, Machine, Running};
use crate::images::{NodeImages, Pulled};
use crate::pod::container::ContainerRuntime;

/// An upper bound for counters, which grow one by one.
const MOST: u32 = 1 << 24;
/// An upper bound for the duration of a program.
const LONGEST: Duration = Duration::from_secs(1000 * 366 * 24 * 3600);

/// The state of a machine that the API does not have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SavedMachine {
    /// Its number among the machines of its process.
    pub(crate) number: u32,
    /// The offset of the last pod address that it allocated.
    last_address: u32,
    is_cut_off: bool,
    power_cuts: u32,
    pods: Vec<SavedPod>,
    volumes: Vec<SavedVolume>,
    #[serde(default, skip_serializing_if = "Pulled::is_empty")]
    images: Pulled,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SavedPod {
    namespace: String,
    name: String,
    running: Running,
}

impl SavedMachine {
    /// Whether a machine can have this state.
    ///
    /// # Errors
    /// What is wrong, as a sentence.
    pub(crate) fn check(&self) -> Result<(), String> {
        let counts = [self.number, self.last_address, self.power_cuts];
        if counts.into_iter().any(|count| count > MOST) {
            return Err(format!("a count of the machine is above {MOST}"));
        }
        self.pods.iter().try_for_each(SavedPod::check)
    }
}

impl SavedPod {
    fn check(&self) -> Result<(), String> {
        let wrong = |what: String| Err(format!("pod {}/{}: {what}", self.namespace, self.name));
        let Running { runtime, log, dropped, talks, .. } = &self.running;
        let counts =
            |own: &ContainerRuntime| u32::try_from(own.restarts).is_ok_and(|it| it <= MOST) && own.crashes <= MOST;
        if !runtime.init.iter().chain(&runtime.main).chain(&runtime.ephemeral).all(counts) {
            return wrong(format!("a count of a container is not from 0 to {MOST}"));
        }
        if log.len() > LINES || u32::try_from(*dropped).is_err() {
            return wrong(format!("its log is longer than {LINES} lines"));
        }
        let ends = talks.values().flatten().filter_map(|talk| talk.transcript.end).map(|(after, _)| after);
        match ends.max() {
            Some(after) if after > LONGEST => wrong("a program of it ends in more than a thousand years".to_owned()),
            _ => Ok(()),
        }
    }
}

impl Machine {
    /// The state of the machine now.
    pub(crate) fn save(&self) -> SavedMachine {
        let state = self.state.lock();
        let pods = state.pods.iter().map(|(key, running)| SavedPod {
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            running: running.clone(),
        });
        SavedMachine {
            number: self.number,
            last_address: state.addresses.last(),
            is_cut_off: self.is_cut_off(),
            power_cuts: self.power_cuts(),
            pods: pods.collect(),
            volumes: self.disk.save(),
            images: self.images.lock().save(),
        }
    }

    /// A machine with a saved state. Time on the clock has passed since it was saved, and no other time.
    pub(crate) fn of(saved: SavedMachine) -> Self {
        let machine = Self { disk: Arc::new(Disk::of(saved.volumes)), ..Self::new(saved.number) };
        machine.cut_off(saved.is_cut_off);
        *machine.images.lock() = NodeImages::of(saved.images);
        machine.power_cuts.store(saved.power_cuts, Ordering::Relaxed);
        {
            let mut state = machine.state.lock();
            state.addresses.go_on_after(saved.last_address);
            let pods = saved.pods.into_iter();
            state.pods = pods.map(|pod| (ObjectKey::new(pod.namespace, pod.name), pod.running)).collect();
        }
        machine
    }
}
