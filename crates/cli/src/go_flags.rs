//! Command lines as the programs of Kubernetes and etcd read them.

/// Puts a command line into the one form `--name=value`: values that stand alone are joined to their flags, a flag
/// without one is `true`, and underscores in names are dashes. In Kubernetes: pflag with `WordSepNormalizeFunc`.
///
/// An empty value is what a flag has that is not there; such flags are left out. Flags that `known` does not know are kept apart, by name.
pub(crate) fn normalize(
    arguments: impl IntoIterator<Item = String>,
    known: impl Fn(&str) -> bool,
) -> (Vec<String>, Vec<String>) {
    let (mut flags, mut unknown) = (Vec::new(), Vec::new());
    let mut arguments = arguments.into_iter().peekable();
    while let Some(argument) = arguments.next() {
        let Some(flag) = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-')) else {
            unknown.push(argument);
            continue;
        };
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (flag, arguments.next_if(|next| is_value(next))),
        };
        let name = name.replace('_', "-");
        if value.as_deref() == Some("") {
            continue;
        }
        if known(&name) {
            flags.push(format!("--{name}={}", value.as_deref().unwrap_or("true")));
        } else {
            unknown.push(format!("--{name}"));
        }
    }
    (flags, unknown)
}

/// Whether what stands behind a flag is its value: a dash alone is one, and names the standard output.
pub(crate) fn is_value(argument: &str) -> bool {
    argument == "-" || !argument.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_flag_is_one() {
        let line = "--a=1 --b 2 --c --d_e=f=g --h - -v=4 -v 5 --cert-dir= stray";
        let arguments = line.split(' ').map(str::to_owned);
        let (flags, unknown) = normalize(arguments, |name| name != "v");
        assert_eq!(flags, ["--a=1", "--b=2", "--c=true", "--d-e=f=g", "--h=-"]);
        assert_eq!(unknown, ["--v", "--v", "stray"]);
    }
}
