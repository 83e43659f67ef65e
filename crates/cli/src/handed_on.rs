//! Forwards signals to a child process.

use std::fs::File;
use std::io;
use std::pin::pin;
use std::process::{Command, ExitStatus};

use futures_util::future::{Either, select, select_all};
use rustix::process::{Pid, Signal, getpgrp, kill_process};
use rustix::termios::tcgetpgrp;
use tokio::signal::unix::{self, SignalKind};

use crate::exit;

/// The signals that users, terminals and CI send to end a program.
const HANDED_ON: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];

/// The signals of this process since [`Signals::catch`], which do not end it any more.
pub(crate) struct Signals {
    caught: Vec<(Signal, unix::Signal)>,
}

impl Signals {
    /// Starts to catch signals; must be called within a runtime.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn catch() -> io::Result<Self> {
        let catch = |signal: Signal| Ok((signal, unix::signal(SignalKind::from_raw(signal.as_raw()))?));
        Ok(Self { caught: HANDED_ON.into_iter().map(catch).collect::<io::Result<_>>()? })
    }

    /// The next signal.
    async fn next(&mut self) -> Signal {
        let waiting = self.caught.iter_mut().map(|(signal, caught)| {
            let signal = *signal;
            Box::pin(async move {
                match caught.recv().await {
                    Some(()) => signal,
                    None => std::future::pending().await,
                }
            })
        });
        select_all(waiting).await.0
    }

    /// Waits for `work`, unless a signal comes first: then returns its exit code.
    pub(crate) async fn unless_one<R>(&mut self, work: impl Future<Output = R>) -> Result<R, u8> {
        match select(pin!(self.next()), pin!(work)).await {
            Either::Left((signal, _)) => Err(code_of(signal.as_raw())),
            Either::Right((done, _)) => Ok(done),
        }
    }

    /// Runs a program to its end, and forwards each signal. Returns the program's exit code; 128 plus the number of
    /// the signal that ended it, as in shells.
    ///
    /// # Errors
    /// If the program does not start.
    pub(crate) async fn run(mut self, command: Command) -> io::Result<u8> {
        let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn()?;
        loop {
            let signal = match select(pin!(child.wait()), pin!(self.next())).await {
                Either::Left((status, _)) => return Ok(code(status?)),
                Either::Right((signal, _)) => signal,
            };
            // A child that was not waited for keeps its process id, so no other process gets the signal.
            let child = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
            if let Some(child) = child.filter(|_| !comes_from_the_terminal(signal)) {
                let _ = kill_process(child, signal);
            }
        }
    }
}

/// Whether the terminal sends this signal to the child itself: Ctrl-C and Ctrl-\\ go to the whole foreground process
/// group, including the child. Many programs abort when they get a second one.
fn comes_from_the_terminal(signal: Signal) -> bool {
    let is_key = signal == Signal::INT || signal == Signal::QUIT;
    let foreground = || tcgetpgrp(File::open("/dev/tty").ok()?).ok();
    is_key && foreground() == Some(getpgrp())
}

fn code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => u8::try_from(code & 0xff).unwrap_or(exit::FAILED),
        (None, Some(signal)) => code_of(signal),
        (None, None) => exit::FAILED,
    }
}

fn code_of(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(exit::FAILED)
}
