//! `greenroom serve`: the web app and the API.

use super::exit::{Exit, Failure};
use crate::{config::ServeArgs, server};

/// Serves until told to stop.
pub async fn run(args: ServeArgs) -> Result<Exit, Failure> {
    let config =
        args.resolve().map_err(|error| Failure::new(Exit::Configuration, error.to_string()))?;
    match server::serve(config).await {
        Ok(()) => Ok(Exit::Done),
        Err(error) if error.is_configuration() => {
            Err(Failure::new(Exit::Configuration, error.to_string()))
        }
        Err(error) => Err(Failure::new(Exit::Failed, error.to_string())),
    }
}
