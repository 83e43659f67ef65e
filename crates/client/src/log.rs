use bytes::Bytes;
use http_body_util::BodyExt;

use crate::{BoxError, ResponseBody};

/// The log of a container as a stream.
#[derive(Debug)]
pub struct LogStream {
    pub(crate) body: ResponseBody,
}

impl LogStream {
    /// The next chunk, of any length; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Bytes, BoxError>> {
        loop {
            match self.body.frame().await? {
                Ok(frame) => {
                    if let Ok(data) = frame.into_data() {
                        return Some(Ok(data));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// The rest of the log, as text.
    pub async fn text(self) -> Result<String, BoxError> {
        let bytes = self.body.collect().await?.to_bytes();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
