/// A task panicked, and all tasks of its group have ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the task {task} panicked: {message}")]
pub struct TaskPanic {
    /// The task.
    pub task: String,
    /// Its message.
    pub message: String,
}
