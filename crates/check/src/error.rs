/// Why a controller could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What was given is not valid: a text, an object or a plan.
    #[error("{0}")]
    Input(String),
    /// The API server does not accept an object that was given.
    #[error("the API server refuses {object}: {why}")]
    Refused {
        /// Kind and name.
        object: String,
        /// Its message.
        why: String,
    },
    /// The search was stopped in the runs without a fault.
    #[error("the search was stopped before the runs without a fault had ended")]
    Stopped,
    /// The work of a user fails, for the reason that its author gives.
    #[error("{0}")]
    Work(String),
    /// A request of a workload fails.
    #[error(transparent)]
    Request(#[from] coracle_client::Error),
    /// The cluster did not start, or ended.
    #[error(transparent)]
    Cluster(#[from] coracle_cluster::Error),
}
