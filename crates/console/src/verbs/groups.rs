//! Words that only begin the names of verbs: `rollout`, `create service`.

use crate::failure::Failure;
use crate::session::CommandSession;
use crate::verb::Verb;

macro_rules! group {
    ($name:ident, $about:literal, $($word:literal)+) => {
        pub(super) const $name: Verb = Verb {
            words: &[$($word),+],
            aliases: &[],
            flags: &[],
            required: &[],
            about: $about,
            run: |session| Box::pin(async move { run(session) }),
        };
    };
}

group!(AUTH, "Inspect authorization", "auth");
group!(CONFIG, "Show the configuration of the console", "config");
group!(CREATE_SECRET, "Create a secret with specified type", "create" "secret");
group!(ROLLOUT, "Manage the rollout of a resource", "rollout");
group!(SET, "Set specific features on objects", "set");
group!(TOP, "Display resource (CPU/memory) usage", "top");

pub(super) const CREATE_SERVICE: Verb = Verb {
    words: &["create", "service"],
    aliases: &["svc"],
    flags: &[],
    required: &[],
    about: "Create a service using a specified subcommand",
    run: |session| Box::pin(async move { run(session) }),
};

fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    if let Some(word) = session.args().first() {
        return Err(Failure::usage(&format!("unknown command {}", coracle_meta::go_quote(word)), &session.command));
    }
    let name: Vec<&str> = session.command.split(' ').collect();
    let text = super::overview_of(&name);
    session.out.push_str(&text);
    Err(Failure::Code(1))
}
