/// Images whose entrypoint is a shell: the arguments of such a container are its command.
const SHELLS: [&str; 4] = ["busybox", "alpine", "debian", "ubuntu"];

/// Whether an image runs the first argument of a container as its program.
pub(crate) fn is_shell(image: &str) -> bool {
    let name = image.rsplit('/').next().unwrap_or(image);
    let name = name.split(['@', ':']).next().unwrap_or(name);
    SHELLS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_that_are_shells_are_known_by_the_last_of_their_path() {
        assert!(is_shell("busybox") && is_shell("docker.io/library/busybox:1.36"));
        assert!(!is_shell("busybox-extras") && !is_shell("nginx"));
    }
}
