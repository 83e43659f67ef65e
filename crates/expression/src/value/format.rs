/// A named format: its name in expressions, its name in Kubernetes, the length of its longest pattern, and its
/// validation.
#[derive(Debug)]
pub(crate) struct Format {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) pattern: u64,
    pub(crate) check: fn(&str) -> Vec<String>,
}
