/// The way to a field of a JSON object, name by name.
///
/// Written with dots, `"spec.nodeName"`, wherever the names are known; as a list, `&["metadata", "labels", label]`, where
/// a name is a value and may hold dots itself. In Kubernetes: the `fields ...string` of `unstructured.NestedField`.
pub trait FieldPath {
    /// The names, from the outermost field on.
    fn names(&self) -> impl Iterator<Item = &str>;
}

impl FieldPath for &str {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.split('.')
    }
}

impl FieldPath for &[String] {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(String::as_str)
    }
}

impl FieldPath for &[&str] {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().copied()
    }
}

impl<const N: usize> FieldPath for &[&str; N] {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().copied()
    }
}
