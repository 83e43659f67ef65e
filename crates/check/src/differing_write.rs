use std::fmt;

use coracle_sim::checks::{LoggedWrite, Run};

/// What is shown if there is no write.
const NOTHING: &str = "writes nothing more";

/// The first write of a controller that differs from a run without a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferingWrite {
    /// The write; `None` if the controller writes nothing more.
    pub with_fault: Option<String>,
    /// What it writes in its place without a fault; `None` if it writes nothing more.
    pub without_fault: Option<String>,
    /// The act and the resource of the first, which are the same in each run.
    kind: String,
}

impl DifferingWrite {
    /// Compares the writes of a run with those of a run without a fault, in order. Names are not compared, because some
    /// are made up.
    pub(crate) fn of(run: &Run, faultless: &Run) -> Option<Self> {
        let (mut these, mut those) = (own_writes(run), own_writes(faultless));
        loop {
            let (this, that) = (these.next(), those.next());
            let (kind, other) = (this.map(kind_of), that.map(kind_of));
            if kind.is_none() && other.is_none() {
                return None;
            }
            if kind != other {
                let kind = kind.unwrap_or_else(|| NOTHING.to_owned());
                return Some(Self { with_fault: this.map(text_of), without_fault: that.map(text_of), kind });
            }
        }
    }

    /// Whether both are the same write, apart from names.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl fmt::Display for DifferingWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [with, without] = [&self.with_fault, &self.without_fault].map(|write| write.as_deref().unwrap_or(NOTHING));
        write!(f, "{with}; without the fault: {without}")
    }
}

fn own_writes(run: &Run) -> impl Iterator<Item = &LoggedWrite> {
    run.log.writes_of(&run.user).filter(|write| !write.is_record())
}

fn kind_of(write: &LoggedWrite) -> String {
    format!("{} {}", write.act(), write.resource())
}

fn text_of(write: &LoggedWrite) -> String {
    format!("{:.3} s {} {}", write.at.as_secs_f64(), write.act(), write.subject)
}
