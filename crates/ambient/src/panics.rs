use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// How a panic in a part of a program is handled.
///
/// By default it ends the program: a test or a scenario must fail. A server reports the panic and restarts the part,
/// while the others continue.
#[derive(Clone, Default)]
pub struct Panics {
    report: Option<Arc<Report>>,
}

type Report = dyn Fn(&str) + Send + Sync;

impl Panics {
    /// Panics are caught, and `report` is called with a sentence for each.
    pub fn survived(report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { report: Some(Arc::new(report)) }
    }

    /// Whether a part that panics is restarted.
    pub fn are_survived(&self) -> bool {
        self.report.is_some()
    }

    /// Reports a panic that `catch_unwind` caught.
    ///
    /// # Panics
    /// If panics are not survived: resumes the caught panic.
    pub fn caught(&self, part: &str, panic: Box<dyn Any + Send>) {
        match &self.report {
            Some(report) => report(&format!("{part} panicked: {}", Self::message(&*panic))),
            None => std::panic::resume_unwind(panic),
        }
    }

    /// The message of a panic; empty if it is not text.
    pub fn message(panic: &(dyn Any + Send)) -> String {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
    }
}

impl fmt::Debug for Panics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Panics").field("are_survived", &self.are_survived()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use parking_lot::Mutex;

    use super::*;

    #[test]
    fn a_panic_continues_unless_the_environment_survives_it_and_then_it_is_reported() {
        let panic = || catch_unwind(|| panic!("no {}", "boat")).unwrap_err();
        let unwound = catch_unwind(|| Panics::default().caught("the test", panic())).unwrap_err();
        assert_eq!(Panics::message(&*unwound), "no boat");
        let reports: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&reports);
        let survived = Panics::survived(move |report| kept.lock().push(report.to_owned()));
        catch_unwind(AssertUnwindSafe(|| survived.caught("the test", panic()))).unwrap();
        assert_eq!(*reports.lock(), ["the test panicked: no boat"]);
    }
}
