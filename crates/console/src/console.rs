//! The console: lines in, output out.

use std::fmt;

use coracle_ambient::Clock;
use coracle_client::Client;

use crate::complete::{Completion, complete};
use crate::flags::Flags;
use crate::input::Input;
use crate::session::CommandSession;
use crate::setting::Setting;
use crate::{verbs, words};

/// The user agent, whose first part is the field manager of writes that name none.
const USER_AGENT: &str = "kubectl/v1.33.1";

/// A console that understands kubectl's verbs.
///
/// ```
/// # coracle::run_virtual(1, async |cluster| {
/// use coracle_console::{Console, Input};
///
/// let console = Console::new(&cluster.api_client(), &cluster.ambient().clock);
/// let output = console.run("kubectl create namespace shop", &Input::default()).await;
/// assert_eq!(output.stdout, "namespace/shop created\n");
/// let output = console.run("get pods -n shop", &Input::default()).await;
/// assert_eq!((output.stderr.as_str(), output.code), ("No resources found in shop namespace.\n", 0));
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Console {
    setting: Setting,
}

/// What a command printed, and its exit code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The standard output.
    pub stdout: String,
    /// The standard error.
    pub stderr: String,
    /// The exit code: 0 if all went well.
    pub code: i32,
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Console").field("namespace", &self.setting.namespace).finish_non_exhaustive()
    }
}

impl Console {
    /// A console whose commands call the API of `client`. `clock` says how long ago events were.
    pub fn new(client: &Client, clock: &Clock) -> Self {
        let client = client.clone().with_user_agent(USER_AGENT);
        Self { setting: Setting { client, clock: clock.clone(), namespace: "default".to_owned() } }
    }

    /// The same console, whose commands use this namespace if they name none.
    #[must_use]
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.setting.namespace);
        self
    }

    /// Runs a command: `get pods -o wide`, with or without `kubectl` in front.
    ///
    /// A command that waits, waits for the time of tokio and for watches. Dropping the future ends the command.
    pub async fn run(&self, line: &str, input: &Input) -> Output {
        let words = match words::split(line) {
            Ok(words) => words,
            Err(why) => return Output { stderr: format!("error: {why}\n"), code: 2, ..Output::default() },
        };
        let words = match words.first().map(String::as_str) {
            Some("kubectl" | "k") => &words[1..],
            _ => &words[..],
        };
        self.run_words(words, input).await
    }

    /// Runs a command whose words are split already.
    pub async fn run_words(&self, words: &[String], input: &Input) -> Output {
        let failed = |failure: crate::failure::Failure| Output {
            stderr: failure.message(),
            code: failure.code(),
            ..Output::default()
        };
        let (verb, rest) = match verbs::find(words) {
            Ok(found) => found,
            Err(failure) => return failed(failure),
        };
        let command = verb.words.join(" ");
        let flags = match Flags::parse(&rest, &verb.all_flags(), &format!("kubectl {command}")) {
            Ok(flags) => flags,
            Err(failure) => return failed(failure),
        };
        if flags.is("help") {
            return Output { stdout: verb.help(), ..Output::default() };
        }
        let mut session = CommandSession::new(&self.setting, input, flags, command);
        let mut ended = verb.check(&session);
        if ended.is_ok() {
            ended = (verb.run)(&mut session).await;
        }
        let CommandSession { out: stdout, err: mut stderr, .. } = session;
        let code = match ended {
            Ok(()) => 0,
            Err(failure) => {
                stderr.push_str(&failure.message());
                failure.code()
            }
        };
        Output { stdout, stderr, code }
    }

    /// The words that can stand at the cursor, a position in bytes: verbs, kinds, names of objects, flags, namespaces.
    pub async fn complete(&self, line: &str, cursor: usize) -> Completion {
        complete(&self.setting, line, cursor).await
    }
}
