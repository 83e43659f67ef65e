//! A client of the Model Context Protocol, as small as the protocol allows: one line of JSON for each message.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::program::coracle;

/// A server in a process of its own. It ends with its standard input.
pub(crate) struct Mcp {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Mcp {
    /// Starts a server, and initializes it.
    pub(crate) fn start() -> Self {
        let mut process =
            coracle().arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let (input, output) = (process.stdin.take(), BufReader::new(process.stdout.take().unwrap()));
        let mut mcp = Self { process, input, output, asked: 0 };
        let client = json!({"name": "test", "version": "1"});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        let answer = mcp.ask("initialize", &hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "coracle", "{answer}");
        mcp.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        mcp
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    /// The answer to a request.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server ended during {method} {params}");
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if message["id"] == id {
                return message;
            }
        }
    }

    /// What a tool returns.
    fn result(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))["result"].take()
    }

    /// The object that a tool returns.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let mut result = self.result(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        result["structuredContent"].take()
    }

    /// The text that a tool returns.
    pub(crate) fn text(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.result(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// The error of a tool: its message, and the Status of the API, if it has one.
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> (String, Value) {
        let mut result = self.result(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        (result["content"][0]["text"].as_str().unwrap().to_owned(), result["structuredContent"].take())
    }

    /// Closes its standard input, and returns how it ends.
    pub(crate) fn end(mut self) -> std::process::ExitStatus {
        self.input.take();
        self.process.wait().unwrap()
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        self.input.take();
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
