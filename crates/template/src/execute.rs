//! Renders a tree with data. In Go: `text/template.state`.

use serde_json::Value as Json;

use crate::functions::CallArguments;
use crate::parse::Parsed;
use crate::show::{LONGEST, written};
use crate::tree::{Branch, Callee, Command, Operand, Pipe, TemplateNode};
use crate::value::Value;
use crate::{Error, Host};

/// The maximum depth of template calls.
const DEEPEST: usize = 50;
/// The maximum number of steps of a rendering.
const MOST_STEPS: usize = 1_000_000;

/// Renders a template.
pub(crate) fn execute<'d>(parsed: &'d Parsed, data: &'d Json, host: &'d dyn Host) -> Result<String, Error> {
    let root = Value::of(data);
    let variables = vec![("$", root.clone())];
    let mut state = State { parsed, host, out: String::new(), variables, steps: 0, depth: 0, line: 1 };
    match state.walk(&parsed.root, &root) {
        Ok(_) => Ok(state.out),
        Err(message) => Err(Error::new(state.line, message)),
    }
}

/// The control flow of the enclosing loop.
#[derive(Clone, Copy, PartialEq)]
enum Flow {
    On,
    Break,
    Continue,
}

struct State<'d> {
    parsed: &'d Parsed,
    host: &'d dyn Host,
    out: String,
    variables: Vec<(&'d str, Value<'d>)>,
    steps: usize,
    depth: usize,
    /// The current line.
    line: usize,
}

impl<'d> State<'d> {
    fn step(&mut self) -> Result<(), String> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return Err(format!("more than {MOST_STEPS} steps"));
        }
        Ok(())
    }

    fn write(&mut self, text: &str) -> Result<(), String> {
        if self.out.len() + text.len() > LONGEST {
            return Err(format!("gives more than {LONGEST} bytes"));
        }
        self.out.push_str(text);
        Ok(())
    }

    fn walk(&mut self, nodes: &'d [TemplateNode], dot: &Value<'d>) -> Result<Flow, String> {
        for node in nodes {
            self.step()?;
            let flow = match node {
                TemplateNode::Text(text) => self.write(text).map(|()| Flow::On),
                TemplateNode::Action(pipe) => self.action(pipe, dot),
                TemplateNode::If(branch) => self.branch(branch, dot, false),
                TemplateNode::With(branch) => self.branch(branch, dot, true),
                TemplateNode::Range(branch) => self.range(branch, dot),
                TemplateNode::Template { line, name, argument } => {
                    self.line = *line;
                    self.template(name, argument.as_ref(), dot).map(|()| Flow::On)
                }
                TemplateNode::Break => Ok(Flow::Break),
                TemplateNode::Continue => Ok(Flow::Continue),
            }?;
            if flow != Flow::On {
                return Ok(flow);
            }
        }
        Ok(Flow::On)
    }

    fn action(&mut self, pipe: &'d Pipe, dot: &Value<'d>) -> Result<Flow, String> {
        let value = self.pipe(pipe, dot)?;
        if pipe.variables.is_empty() {
            self.write(&written(&value))?;
        }
        Ok(Flow::On)
    }

    fn branch(&mut self, branch: &'d Branch, dot: &Value<'d>, moves_dot: bool) -> Result<Flow, String> {
        let known = self.variables.len();
        let value = self.pipe(&branch.pipe, dot)?;
        let flow = match (value.is_true(), moves_dot) {
            (true, true) => self.walk(&branch.then, &value),
            (true, false) => self.walk(&branch.then, dot),
            (false, _) => self.walk(&branch.otherwise, dot),
        };
        self.variables.truncate(known);
        flow
    }

    fn range(&mut self, branch: &'d Branch, dot: &Value<'d>) -> Result<Flow, String> {
        let known = self.variables.len();
        // Only the value of the pipeline is needed here: the variables get its items.
        let value = self.value(&branch.pipe, dot)?;
        let mut is_empty = true;
        if let Value::Int(times) = value {
            for at in 0..times {
                is_empty = false;
                if self.turn(branch, Value::Int(at), Value::Int(at))? == Flow::Break {
                    break;
                }
            }
        } else {
            let items: Vec<(Value<'d>, Value<'d>)> = match (value.items(), value.fields()) {
                (Some(items), _) => (0..).map(Value::Int).zip(items).collect(),
                (_, Some(fields)) => fields.into_iter().map(|(key, value)| (Value::text(key), value)).collect(),
                _ if value.is_nil() => Vec::new(),
                _ => return Err(format!("range can't iterate over {}", written(&value))),
            };
            for (key, item) in items {
                is_empty = false;
                if self.turn(branch, key, item)? == Flow::Break {
                    break;
                }
            }
        }
        self.variables.truncate(known);
        if is_empty { self.walk(&branch.otherwise, dot) } else { Ok(Flow::On) }
    }

    fn turn(&mut self, branch: &'d Branch, key: Value<'d>, item: Value<'d>) -> Result<Flow, String> {
        let known = self.variables.len();
        self.step()?;
        let item = if let Value::Null = item { Value::Missing } else { item };
        match branch.pipe.variables.as_slice() {
            [index, name] => {
                self.set(index, key, branch.pipe.assigns);
                self.set(name, item.clone(), branch.pipe.assigns);
            }
            [name] => self.set(name, item.clone(), branch.pipe.assigns),
            _ => {}
        }
        let flow = self.walk(&branch.then, &item);
        self.variables.truncate(known);
        flow
    }

    fn template(&mut self, name: &str, argument: Option<&'d Pipe>, dot: &Value<'d>) -> Result<(), String> {
        let Some(nodes) = self.parsed.defined.get(name) else { return Err(format!("template {name:?} not defined")) };
        if self.depth == DEEPEST {
            return Err("templates call each other too deep".to_owned());
        }
        let dot = match argument {
            Some(pipe) => self.pipe(pipe, dot)?,
            None => Value::Missing,
        };
        let variables = std::mem::replace(&mut self.variables, vec![("$", dot.clone())]);
        self.depth += 1;
        self.walk(nodes, &dot)?;
        self.depth -= 1;
        self.variables = variables;
        Ok(())
    }

    fn set(&mut self, name: &'d str, value: Value<'d>, assigns: bool) {
        let known = self.variables.iter_mut().rev().find(|(known, _)| *known == name);
        match known.filter(|_| assigns) {
            Some((_, known)) => *known = value,
            None => self.variables.push((name, value)),
        }
    }

    /// The value of a pipeline, which is assigned to its variables.
    fn pipe(&mut self, pipe: &'d Pipe, dot: &Value<'d>) -> Result<Value<'d>, String> {
        let value = self.value(pipe, dot)?;
        for name in &pipe.variables {
            self.set(name, value.clone(), pipe.assigns);
        }
        Ok(value)
    }

    fn value(&mut self, pipe: &'d Pipe, dot: &Value<'d>) -> Result<Value<'d>, String> {
        self.line = pipe.line;
        let mut value = None;
        for command in &pipe.commands {
            self.step()?;
            // Go unwraps one level of an interface: null then has no value.
            value = Some(match self.command(command, dot, value)? {
                Value::Null => Value::Missing,
                other => other,
            });
        }
        Ok(value.unwrap_or(Value::Missing))
    }

    fn command(&mut self, command: &'d Command, dot: &Value<'d>, last: Option<Value<'d>>) -> Result<Value<'d>, String> {
        if let Operand::Call(callee) = &command.first {
            return self.call(callee, &command.arguments, dot, last);
        }
        if !command.arguments.is_empty() || last.is_some() {
            return Err("can't give argument to non-function".to_owned());
        }
        if let Operand::Nil = command.first {
            return Err("nil is not a command".to_owned());
        }
        self.operand(&command.first, dot)
    }

    fn operand(&mut self, operand: &'d Operand, dot: &Value<'d>) -> Result<Value<'d>, String> {
        match operand {
            Operand::Dot => Ok(dot.clone()),
            Operand::Nil => Ok(Value::Null),
            Operand::Bool(value) => Ok(Value::Bool(*value)),
            Operand::Int(value) => Ok(Value::Int(*value)),
            Operand::Float(value) => Ok(Value::Float(*value)),
            Operand::Text(text) => Ok(Value::Text(text.as_str().into())),
            Operand::Field(names) => fields(dot.clone(), names),
            Operand::Variable(name, names) => {
                let known = self.variables.iter().rev().find(|(known, _)| known == name);
                fields(known.map_or(Value::Missing, |(_, value)| value.clone()), names)
            }
            Operand::Chain(operand, names) => fields(self.operand(operand, dot)?, names),
            Operand::Pipe(pipe) => self.pipe(pipe, dot),
            Operand::Call(callee) => self.call(callee, &[], dot, None),
        }
    }

    fn call(
        &mut self,
        callee: &'d Callee,
        arguments: &'d [Operand],
        dot: &Value<'d>,
        last: Option<Value<'d>>,
    ) -> Result<Value<'d>, String> {
        self.step()?;
        if let Callee::And | Callee::Or = callee {
            return self.first(matches!(callee, Callee::Or), arguments, dot, last);
        }
        let mut values = Vec::with_capacity(arguments.len() + 1);
        for argument in arguments {
            values.push(self.operand(argument, dot)?);
        }
        values.extend(last);
        match callee {
            Callee::Known(name, function) => {
                function(CallArguments { values }).map_err(|why| format!("error calling {name}: {why}"))
            }
            Callee::Host(name) => {
                let values: Vec<Json> = values.iter().map(Value::to_json).collect();
                let called = self.host.call(name, &values);
                called.map(Value::owned).map_err(|why| format!("error calling {name}: {why}"))
            }
            Callee::And | Callee::Or => Ok(Value::Missing),
        }
    }

    /// The first argument that is true, or that is false; the last one if there is no such argument.
    fn first(
        &mut self,
        wanted: bool,
        arguments: &'d [Operand],
        dot: &Value<'d>,
        last: Option<Value<'d>>,
    ) -> Result<Value<'d>, String> {
        let mut value = None;
        for argument in arguments {
            let found = self.operand(argument, dot)?;
            if found.is_true() == wanted {
                return Ok(found);
            }
            value = Some(found);
        }
        last.or(value).ok_or_else(|| "wrong number of args: want at least 1 got 0".to_owned())
    }
}

/// The value of a chain of fields.
fn fields<'d>(mut value: Value<'d>, names: &[String]) -> Result<Value<'d>, String> {
    for name in names {
        value = match value {
            Value::Missing => Value::Missing,
            Value::Null => return Err(format!("nil pointer evaluating interface {{}}.{name}")),
            other => match other.field(name) {
                Some(found) => found,
                None => return Err(format!("can't evaluate field {name} in type {}", other.type_name())),
            },
        };
    }
    Ok(value)
}
