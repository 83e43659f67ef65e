/// The subject of an entry about an object, or about all objects of a resource: `pods/default/web`, `nodes/n1`,
/// `pods/default`. Empty parts are left out, and a Namespace has no namespace.
pub fn subject(plural: &str, namespace: &str, name: &str) -> String {
    let namespace = if plural == "namespaces" { "" } else { namespace };
    let mut subject = String::with_capacity(plural.len() + namespace.len() + name.len() + 2);
    for part in [plural, namespace, name].into_iter().filter(|part| !part.is_empty()) {
        if !subject.is_empty() {
            subject.push('/');
        }
        subject.push_str(part);
    }
    subject
}

#[cfg(test)]
mod tests {
    use super::subject;

    #[test]
    fn a_subject_consists_of_the_known_parts_of_an_object() {
        assert_eq!(subject("pods", "default", "web"), "pods/default/web");
        assert_eq!(subject("nodes", "", "n1"), "nodes/n1");
        assert_eq!(subject("pods", "default", ""), "pods/default");
        assert_eq!(subject("namespaces", "shop", "shop"), "namespaces/shop");
    }
}
