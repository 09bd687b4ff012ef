//! How long a service may take.

use std::time::Duration;

/// How long a service may take.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimits {
    /// To be reached.
    pub connect: Duration,
    /// To say the first thing of an answer; headers alone say nothing. A local server may have to load the
    /// model first.
    pub first_byte: Duration,
    /// Between two pieces of an answer: models think in silence.
    pub idle: Duration,
    /// The same while words are being written.
    pub writing: Duration,
    /// To end an answer after it said why it stopped: some never do.
    pub ending: Duration,
    /// Before it is asked for the second time; the wait doubles from there.
    pub retry: Duration,
}

impl Default for TimeLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(120),
            writing: Duration::from_secs(30),
            ending: Duration::from_secs(5),
            retry: Duration::from_millis(500),
        }
    }
}
