//! Parses command lines as the programs of Kubernetes and etcd do.

/// Normalizes a command line to `--name=value`: separate values are joined to their flags, a flag without a value
/// becomes `true`, and underscores in names become dashes. In Kubernetes: pflag with `WordSepNormalizeFunc`.
///
/// A flag with an empty value counts as missing, and is left out. Flags that `known` does not accept are returned
/// separately, by name.
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

/// Replaces underscores by dashes in the names of flags. In Kubernetes: `WordSepNormalizeFunc`.
pub(crate) fn dashes(arguments: Vec<String>) -> Vec<String> {
    let dashes = |argument: String| match argument.split_once('=') {
        _ if !argument.starts_with("--") => argument,
        Some((name, value)) => format!("{}={value}", name.replace('_', "-")),
        None => argument.replace('_', "-"),
    };
    arguments.into_iter().map(dashes).collect()
}

/// Whether the argument after a flag is its value: a single dash is one, and means the standard output.
fn is_value(argument: &str) -> bool {
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

    #[test]
    fn underscores_become_dashes_in_names_only() {
        let line = "up --watch_cache=a_b --state_dir my_dir -v".split(' ').map(str::to_owned).collect();
        assert_eq!(dashes(line), ["up", "--watch-cache=a_b", "--state-dir", "my_dir", "-v"]);
    }
}
