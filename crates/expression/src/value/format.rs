/// A format: its name in expressions, its name in Kubernetes, how long its longest pattern is, and what is wrong with
/// a text.
#[derive(Debug)]
pub(crate) struct Format {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) pattern: u64,
    pub(crate) check: fn(&str) -> Vec<String>,
}
