//! Where everything is kept, for commands that need nothing else.

use std::path::PathBuf;

use super::{ConfigError, Database, database};

/// Where everything is kept.
#[derive(Clone, Debug, clap::Args)]
pub struct PlaceArgs {
    /// The folder that holds the database and everything else.
    #[arg(long, env = "GREENROOM_DATA", default_value = "./data")]
    pub data: PathBuf,

    /// Where the database is: postgres://… or sqlite:FILE [default: greenroom.db in the data folder].
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    pub database_url: Option<String>,

    /// Where pictures are kept, if not in the data folder: s3://BUCKET or s3://BUCKET/PREFIX.
    #[arg(long, env = "GREENROOM_FILES_URL")]
    pub files_url: Option<String>,
}

impl PlaceArgs {
    /// The database.
    pub fn database(&self) -> Result<Database, ConfigError> {
        database(self.database_url.as_deref(), &self.data)
    }

    /// The folder with the pictures; `None` when they are in a bucket.
    pub fn pictures(&self) -> Option<PathBuf> {
        let bucket = self.files_url.as_deref().is_some_and(|url| !url.trim().is_empty());
        (!bucket).then(|| self.data.join("pictures"))
    }
}
