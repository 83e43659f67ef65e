use coracle_ambient::Ambient;
use coracle_client::Client;
use coracle_cluster::Transport;
use coracle_journal::Recorder;

/// What a controller gets at each start: its connection to the API server.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The API server as a tower service: `kube::Client::new(connection.service, "default")`.
    pub service: Transport,
    /// The clock and the randomness of the run, for controllers on Coracle's own runtime.
    pub ambient: Ambient,
    /// The event log of the run, for controllers on Coracle's own runtime.
    pub recorder: Recorder,
}

impl Connection {
    /// A client of Coracle's own runtime.
    pub fn client(&self) -> Client {
        Client::new(self.service.clone(), &self.ambient).with_recorder(self.recorder.clone())
    }
}
