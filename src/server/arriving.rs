//! Bodies as they arrive. Whoever sends one may be slow, but neither silent for long nor slow for ever.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

/// What the slowest line brings in a second.
const SLOWEST_BYTES: f64 = 16.0 * 1024.0;

/// Lets a body arrive for as long as it comes at some pace.
pub async fn pace(State(silence): State<Duration>, request: Request, next: Next) -> Response {
    next.run(request.map(|body| Body::new(Arriving::new(body, silence)))).await
}

/// A body whose sender is waited for: so long in any case, and longer the more of it came.
struct Arriving {
    body: Body,
    silence: Duration,
    came: usize,
    /// How long it was waited for. What we do between its pieces is not the sender's time.
    waited: Duration,
    /// Since when it is waited for now, and until when.
    wait: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Arriving {
    fn new(body: Body, silence: Duration) -> Self {
        Self { body, silence, came: 0, waited: Duration::ZERO, wait: None }
    }

    fn patience(&self) -> Duration {
        #[expect(clippy::cast_precision_loss, reason = "no body has so many bytes")]
        let earned = Duration::from_secs_f64(self.came as f64 / SLOWEST_BYTES);
        (self.silence + earned).saturating_sub(self.waited).min(self.silence)
    }
}

impl hyper::body::Body for Arriving {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            if let Some((since, _)) = this.wait.take() {
                this.waited += since.elapsed();
            }
            if let Some(Ok(frame)) = &frame {
                this.came += frame.data_ref().map_or(0, Bytes::len);
            }
            return Poll::Ready(frame);
        }
        let patience = this.patience();
        let (_, alarm) =
            this.wait.get_or_insert_with(|| (Instant::now(), Box::pin(sleep(patience))));
        ready!(alarm.as_mut().poll(context));
        let late = io::Error::new(io::ErrorKind::TimedOut, "the body came too slowly");
        Poll::Ready(Some(Err(axum::Error::new(late))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::{StreamExt, stream};

    use super::*;

    const SILENCE: Duration = Duration::from_secs(30);

    /// How a body ends of which so many such pieces come in such steps, and when.
    async fn arrived(pieces: usize, bytes: usize, step: Duration) -> (bool, Duration) {
        let piece = Bytes::from(vec![b' '; bytes]);
        let slowly = stream::iter(0..pieces).then(move |_| {
            let piece = piece.clone();
            async move {
                sleep(step).await;
                Ok::<_, Infallible>(piece)
            }
        });
        let began = Instant::now();
        let body = Body::new(Arriving::new(Body::from_stream(slowly), SILENCE));
        let whole = axum::body::to_bytes(body, usize::MAX).await;
        (whole.is_ok_and(|whole| whole.len() == pieces * bytes), began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn who_sends_letter_by_letter_is_let_go() {
        let (whole, took) = arrived(1000, 1, Duration::from_millis(4500)).await;

        assert!(!whole && took < SILENCE + Duration::from_secs(1), "{took:?}");
        // Who sent much before has earned some time, and not all the time there is.
        let (whole, took) = arrived(1000, 4096, Duration::from_secs(5)).await;
        assert!(!whole && took < SILENCE * 2, "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_and_honest_line_brings_a_large_file() {
        let (whole, took) = arrived(16 * 1024, 8 * 1024, Duration::from_millis(500)).await;

        assert!(whole && took > Duration::from_secs(8000), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_sent_much_may_not_be_silent_for_longer() {
        let much = stream::iter([Ok::<_, Infallible>(Bytes::from(vec![b' '; 64 << 20]))]);
        let body = Body::from_stream(much.chain(stream::pending()));
        let began = Instant::now();

        let whole = axum::body::to_bytes(Body::new(Arriving::new(body, SILENCE)), usize::MAX).await;

        assert!(whole.is_err() && began.elapsed() < SILENCE + Duration::from_secs(1));
    }
}
