use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// What a panic of one part of a program leads to.
///
/// By default it ends what runs: a test or a scenario must not pass over it. A server survives it: the panic is reported,
/// the part is started again, and the others run on.
#[derive(Clone, Default)]
pub struct Panics {
    report: Option<Arc<Report>>,
}

type Report = dyn Fn(&str) + Send + Sync;

impl Panics {
    /// Panics are survived, and `report` is called with a sentence for each.
    pub fn survived(report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { report: Some(Arc::new(report)) }
    }

    /// Whether what panics is started again.
    pub fn are_survived(&self) -> bool {
        self.report.is_some()
    }

    /// To be called with what `catch_unwind` caught: reports it.
    ///
    /// # Panics
    /// If panics are not survived: with the one that was caught.
    pub fn caught(&self, part: &str, panic: Box<dyn Any + Send>) {
        match &self.report {
            Some(report) => report(&format!("{part} panicked: {}", Self::message(&*panic))),
            None => std::panic::resume_unwind(panic),
        }
    }

    /// What a panic said; empty if that is no text.
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
    fn a_panic_unwinds_on_unless_it_is_survived_and_then_it_is_reported() {
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
