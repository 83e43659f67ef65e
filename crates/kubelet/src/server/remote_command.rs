//! Commands in containers and attached clients: `exec` and `attach`.
//!
//! In Kubernetes: `pkg/kubelet/server` and the streaming server of the container runtime.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;

use bytes::Bytes;
use coracle_ambient::{Clock, Timestamp};
use coracle_client::Api;
use coracle_container_programs::{
    OutputLine, PodFacts, Shell, Sources, Stop, World, is_known, is_prompt, references, run,
};
use coracle_meta::ObjectKey;
use coracle_meta::channels::{CLOSE, ERROR, Pieces, STDERR, STDIN, STDOUT, piece};
use futures_util::future::select;
use futures_util::stream::{self, Stream, StreamExt};
use http_body_util::BodyExt;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::node::machine::Machine;
use crate::sync::fetch::{fetch, fetch_trust_bundles};

/// The prompt of a shell.
const PROMPT: &str = "/ # ";

/// A command in a container, or a client that is attached to it.
pub(crate) struct Remote {
    pub(crate) machine: Arc<Machine>,
    pub(crate) clock: Clock,
    pub(crate) key: ObjectKey,
    pub(crate) container: String,
    pub(crate) command: Vec<String>,
    pub(crate) has_input: bool,
    pub(crate) is_terminal: bool,
}

/// The bytes that the client sends.
pub(crate) type Input = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

/// The bytes of a request body; an error ends them.
pub(crate) fn input_of<B>(body: B) -> Input
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
{
    let body = Box::pin(body);
    Box::pin(stream::unfold(body, |mut body| async move {
        loop {
            match body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Some((data, body));
                    }
                }
                Some(Err(_)) | None => return None,
            }
        }
    }))
}

/// The output to the client.
struct Output {
    sender: UnboundedSender<Bytes>,
    is_terminal: bool,
}

impl Output {
    fn send(&self, channel: u8, data: &[u8]) {
        let _ = self.sender.send(piece(channel, data).into());
    }

    fn line(&self, said: &OutputLine) {
        let channel = if said.is_error && !self.is_terminal { STDERR } else { STDOUT };
        let end = match (said.is_open, self.is_terminal) {
            (true, _) => "",
            (false, true) => "\r\n",
            (false, false) => "\n",
        };
        self.send(channel, format!("{}{end}", said.text).as_bytes());
    }

    /// Sends how a command ended. In Kubernetes: `NonZeroExitCodeReason` of `remotecommand`.
    fn end(&self, code: i32) {
        let status = match code {
            0 => json!({"metadata": {}, "status": "Success"}),
            code => json!({
                "metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
                "message": format!("command terminated with non-zero exit code: exit status {code}"),
                "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]}
            }),
        };
        self.send(ERROR, status.to_string().as_bytes());
    }

    fn fail(&self, why: &str) {
        let message = format!("Internal error occurred: {why}");
        let status = json!({
            "metadata": {}, "status": "Failure", "reason": "InternalError", "message": message, "code": 500,
            "details": {"causes": [{"message": why}]}
        });
        self.send(ERROR, status.to_string().as_bytes());
    }
}

/// An interactive shell in a container.
struct Session<'s> {
    remote: &'s Remote,
    shell: Shell<'s>,
    output: &'s Output,
    /// The line that is not complete yet.
    typed: String,
    /// How much time the commands have taken so far.
    passed: std::time::Duration,
}

impl Session<'_> {
    fn prompt(&self) {
        self.echo(PROMPT.as_bytes());
    }

    /// Writes to a terminal; a shell without a terminal neither prompts nor echoes.
    fn echo(&self, bytes: &[u8]) {
        if self.remote.is_terminal {
            self.output.send(STDOUT, bytes);
        }
    }

    /// Handles typed characters; none if the session has ended.
    async fn handle(&mut self, typed: &str, input: &mut Input) -> Option<()> {
        let is_terminal = self.remote.is_terminal;
        for sign in typed.chars() {
            match sign {
                '\r' | '\n' => self.run_line(input).await?,
                // Ctrl-C, Ctrl-D and backspace.
                '\u{3}' if is_terminal => {
                    self.typed.clear();
                    self.echo(b"^C\r\n");
                    self.prompt();
                }
                '\u{4}' if is_terminal && self.typed.is_empty() => {
                    self.output.end(self.shell.code());
                    return None;
                }
                '\u{7f}' if is_terminal => {
                    if self.typed.pop().is_some() {
                        self.echo(b"\x08 \x08");
                    }
                }
                sign => {
                    self.typed.push(sign);
                    self.echo(sign.to_string().as_bytes());
                }
            }
        }
        Some(())
    }

    /// Runs the line that is complete now; none if the session has ended.
    async fn run_line(&mut self, input: &mut Input) -> Option<()> {
        self.echo(b"\r\n");
        let (lines, stop) = self.shell.typed(&std::mem::take(&mut self.typed));
        for line in &lines {
            self.remote.wait(line.after.saturating_sub(self.passed), input).await?;
            self.passed = self.passed.max(line.after);
            self.output.line(line);
        }
        match stop {
            Some(Stop::Exit(code)) => {
                self.output.end(code);
                None
            }
            Some(Stop::Forever) => {
                while input.next().await.is_some() {}
                None
            }
            None => {
                self.prompt();
                Some(())
            }
        }
    }
}

impl Remote {
    /// Runs the command; returns its output as framed pieces.
    pub(crate) fn executed(self, input: Input) -> impl Stream<Item = Bytes> + Send {
        driven(self.is_terminal, |output| self.execute(input, output))
    }

    /// Attaches to the container; returns its output as framed pieces.
    pub(crate) fn attached(self) -> impl Stream<Item = Bytes> + Send {
        driven(self.is_terminal, |output| self.listen(output))
    }

    async fn execute(self, mut input: Input, output: Output) {
        let world = match self.world().await {
            Ok(world) => world,
            Err(why) => return output.fail(&why),
        };
        if let Some(why) = world.refusal_of(&self.command) {
            return output.fail(&format!("error executing command in container: {why}"));
        }
        if is_prompt(&self.command) && self.has_input {
            return self.converse(&world, &mut input, &output).await;
        }
        if !is_known(&self.command) {
            let name = self.command.first().map_or("", String::as_str);
            return output.fail(&format!(
                "error executing command in container: exec: {name:?}: executable file not found in $PATH"
            ));
        }
        let transcript = run(&self.command, &world, self.clock.now());
        if self.send_lines(&transcript.lines, &mut input, &output).await.is_none() {
            return;
        }
        let begun = transcript.lines.last().map_or_else(Default::default, |line| line.after);
        match transcript.end {
            Some((after, code)) => {
                if self.wait(after.saturating_sub(begun), &mut input).await.is_some() {
                    output.end(code);
                }
            }
            // A command that never ends stops when the client disconnects.
            None => while input.next().await.is_some() {},
        }
    }

    /// Sends lines when they are due; none if the client is gone.
    async fn send_lines(&self, lines: &[OutputLine], input: &mut Input, output: &Output) -> Option<()> {
        let mut passed = std::time::Duration::ZERO;
        for line in lines {
            self.wait(line.after.saturating_sub(passed), input).await?;
            passed = line.after;
            output.line(line);
        }
        Some(())
    }

    /// Lets time pass; none if the client disconnects meanwhile.
    async fn wait(&self, time: std::time::Duration, input: &mut Input) -> Option<()> {
        if time.is_zero() {
            return Some(());
        }
        let mut sleep = pin!(tokio::time::sleep(time));
        loop {
            match select(sleep.as_mut(), input.next()).await {
                futures_util::future::Either::Left(_) => return Some(()),
                futures_util::future::Either::Right((said, _)) => drop(said?),
            }
        }
    }

    /// Runs an interactive shell: executes each line that the client types.
    async fn converse(&self, world: &World, input: &mut Input, output: &Output) {
        let shell = Shell::new(world, self.clock.now());
        let mut session =
            Session { remote: self, shell, output, typed: String::new(), passed: std::time::Duration::ZERO };
        let mut pieces = Pieces::default();
        session.prompt();
        while let Some(bytes) = input.next().await {
            pieces.push(&bytes);
            while let Ok(Some((channel, data))) = pieces.next_piece() {
                if channel == CLOSE && data == [STDIN] {
                    return output.end(session.shell.code());
                }
                if channel == STDIN && session.handle(&String::from_utf8_lossy(&data), input).await.is_none() {
                    return;
                }
            }
        }
    }

    /// Sends the output of the container from now on, until its run has ended.
    async fn listen(self, output: Output) {
        let Some((restarts, _)) = self.machine.pod(&self.key).and_then(|running| running.run_of(&self.container))
        else {
            return output.fail("the container is gone");
        };
        let mut told = None;
        loop {
            let mut spoke = pin!(self.machine.spoke.notified());
            spoke.as_mut().enable();
            let Some(running) = self.machine.pod(&self.key) else { break };
            let now = self.clock.now();
            let (lines, next) = running.said(&self.container, restarts, now);
            for line in lines.iter().skip(told.unwrap_or(lines.len())) {
                let said =
                    OutputLine { after: Default::default(), text: line.text.clone(), is_error: false, is_open: false };
                output.line(&said);
            }
            told = Some(lines.len());
            match next {
                Some(at) => {
                    select(spoke, pin!(tokio::time::sleep(left(at, now)))).await;
                }
                None if running.run_of(&self.container) == Some((restarts, true)) => spoke.await,
                None => break,
            }
        }
        output.end(0);
    }

    /// What programs in the container see.
    async fn world(&self) -> Result<World, String> {
        let exec_context = self.machine.exec_context().ok_or("the node does not run")?;
        let pod = exec_context.pods.get(&self.key).ok_or_else(|| format!("pod {:?} does not exist", self.key.name))?;
        let containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
        let found = containers.into_iter().find(|container| container.name == self.container);
        let (maps, secrets) = (Api::of(&exec_context.client), Api::of(&exec_context.client));
        let objects = fetch(&maps, &secrets, &self.key.namespace, references(&pod)).await;
        let objects = objects.map_err(|error| error.to_string())?;
        let mut projected = fetch_trust_bundles(&Api::of(&exec_context.client), &pod).await;
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let credentials = self.machine.credentials.read(&self.key, uid);
        projected.extend(credentials.into_iter().map(|(at, files)| (at, Ok(files))));
        let sources = Sources { objects, projected };
        let ip = self.machine.pod(&self.key).and_then(|running| running.runtime.ip);
        let facts = PodFacts { node: &exec_context.node, host_ip: &self.machine.address, pod_ip: ip.as_deref() };
        let empty = coracle_api::core_v1::Container::default();
        Ok(sources.world(&pod, found.unwrap_or(&empty), &facts))
    }
}

fn left(at: Timestamp, now: Timestamp) -> std::time::Duration {
    std::time::Duration::try_from(at.duration_since(now)).unwrap_or_default()
}

/// The output of a task, which runs while the output is read.
fn driven<F: Future<Output = ()> + Send>(
    is_terminal: bool,
    work: impl FnOnce(Output) -> F,
) -> impl Stream<Item = Bytes> + Send {
    let (sender, pieces) = unbounded_channel();
    let pieces = stream::unfold(pieces, |mut pieces| async { Some((pieces.recv().await?, pieces)) });
    let work = stream::once(work(Output { sender, is_terminal })).filter_map(|()| std::future::ready(None));
    stream::select(pieces, work)
}

/// A piece as a frame of a body.
pub(crate) fn as_frame(piece: Bytes) -> Result<http_body::Frame<Bytes>, Infallible> {
    Ok(http_body::Frame::data(piece))
}
