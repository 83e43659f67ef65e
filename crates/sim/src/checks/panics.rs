use super::check::{Check, Grade, Violation};

/// See [`CHECKS`](super::CHECKS).
pub const PANICS: Check = Check {
    word: "panics",
    grade: Grade::Broken,
    title: "panics or exits",
    about: "The component panics, or ends although it was not stopped.",
    except: "Ends that a fault causes.",
    find: |run, _| {
        let own = run.log.stops.iter().filter(|stop| stop.component == run.component);
        let unasked = own.filter(|stop| !matches!(stop.why.as_str(), "asked" | "killed"));
        unasked.map(|stop| Violation::at(stop.entry, stop.why.clone())).collect()
    },
};
