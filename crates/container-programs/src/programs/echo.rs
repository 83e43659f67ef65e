use super::Stop;
use super::shell::Shell;

/// `echo [-n] [-e] WORD...`
pub(super) fn run(shell: &mut Shell<'_>, arguments: &[String]) -> Result<i32, Stop> {
    let flags = arguments.iter().take_while(|word| matches!(word.as_str(), "-n" | "-e" | "-ne" | "-en")).count();
    let has = |sign: char| arguments[..flags].iter().any(|flag| flag.contains(sign));
    let text = arguments[flags..].join(" ");
    let text = if has('e') { super::printf::unescaped(&text) } else { text };
    shell.print(&text);
    if !has('n') {
        shell.print("\n");
    }
    Ok(0)
}
