use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::NotStorable;

/// Reports each value that cannot be decoded once, however often it is read.
#[derive(Clone, Default)]
pub(crate) struct UnreadableReports {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    report: Option<Box<Report>>,
    /// The last report of each key.
    reported: BTreeMap<String, NotStorable>,
}

type Report = dyn Fn(&str, &NotStorable) + Send + Sync;

impl UnreadableReports {
    /// Sets the `report` function, which is called with the key and the reason; at once for values that were found
    /// before.
    pub(crate) fn go_to(&self, report: impl Fn(&str, &NotStorable) + Send + Sync + 'static) {
        let mut inner = self.inner.lock();
        inner.reported.iter().for_each(|(key, why)| report(key, why));
        inner.report = Some(Box::new(report));
    }

    pub(crate) fn tell(&self, found: &[(String, NotStorable)]) {
        let mut inner = self.inner.lock();
        for (key, why) in found {
            if inner.reported.insert(key.clone(), why.clone()).as_ref() != Some(why)
                && let Some(report) = &inner.report
            {
                report(key, why);
            }
        }
    }
}

impl fmt::Debug for UnreadableReports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UnreadableReports")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unreadable_value_is_reported_once_for_each_reason() {
        let reports = UnreadableReports::default();
        let found = |key: &str, why: &str| [(key.to_owned(), NotStorable(why.to_owned()))];
        reports.tell(&found("/a", "deep"));
        let said: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&said);
        reports.go_to(move |key, why| kept.lock().push(format!("{key}: {}", why.0)));
        reports.tell(&found("/a", "deep"));
        reports.tell(&found("/b", "torn"));
        reports.tell(&found("/a", "torn"));
        assert_eq!(*said.lock(), ["/a: deep", "/b: torn", "/a: torn"]);
    }
}
