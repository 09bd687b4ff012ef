//! Where commands that talk find what they talk to.

use std::path::{Path, PathBuf};

use super::{
    exit::{Exit, Failure},
    stage::{Embedded, Local, Remote, Stage},
};
use crate::{
    config::{Database, DemoPace, database, path_or_none},
    store::server_beside,
};

/// The folder that is used when nobody names one.
pub const DATA: &str = "./data";

/// Where the data is, or the server that has it.
#[derive(Clone, Debug, clap::Args)]
pub struct Place {
    /// The folder that holds the database and everything else.
    #[arg(long, env = "GREENROOM_DATA", default_value = DATA, value_name = "DIR")]
    pub data: PathBuf,

    /// Talk to a server that runs, instead of opening the data folder: http://127.0.0.1:3000. One that
    /// uses the data folder is found without this.
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,

    /// What the server is shown, to know who asks.
    #[arg(long, env = "GREENROOM_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    pub token: Option<String>,

    /// Where the database is: postgres://… or sqlite:FILE [default: greenroom.db in the data folder].
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    pub database_url: Option<String>,

    /// What the scripted demo model plays instead of its own answers: a JSON file.
    #[arg(long, env = "GREENROOM_DEMO_SCRIPT", hide = true, value_parser = path_or_none())]
    pub demo_script: Option<PathBuf>,

    /// How fast the scripted demo model speaks.
    #[arg(long, env = "GREENROOM_DEMO_PACE", value_enum, default_value = "natural", hide = true)]
    pub demo_pace: DemoPace,
}

impl Place {
    /// What belongs to the terminal in the data folder.
    pub fn chat_folder(&self) -> PathBuf {
        self.data.join("chat")
    }

    /// What seals keys that were pasted into the settings.
    pub fn seal_key(&self) -> PathBuf {
        seal_key(&self.chat_folder())
    }

    /// What is talked to: the server that was named, the one that uses the data folder, or the folder.
    pub async fn stage(&self) -> Result<Stage, Failure> {
        let token = self.token.clone().filter(|token| !token.is_empty());
        if let Some(address) = &self.server {
            return Ok(Stage::Remote(Remote::at(address, token)?));
        }
        let database = database(self.database_url.as_deref(), &self.data)
            .map_err(|error| Failure::new(Exit::Configuration, error.to_string()))?;
        if let Database::Sqlite(file) = &database
            && let Some(address) = server_beside(file)
        {
            tracing::info!(address, "a server uses this data folder, so it is asked");
            return Ok(Stage::Remote(Remote::at(&address, token)?));
        }
        Ok(Stage::Local(Local::open(&self.embedded(database)).await?))
    }

    /// The data folder itself to look into, beside a server or not, if there is something in it: none is made.
    pub async fn look_if_there(&self) -> Result<Option<Local>, Failure> {
        let database = database(self.database_url.as_deref(), &self.data)
            .map_err(|error| Failure::new(Exit::Configuration, error.to_string()))?;
        Ok(Local::look_into(&self.embedded(database)).await?)
    }

    fn embedded(&self, database: Database) -> Embedded {
        let (demo_pace, demo_script) = (self.demo_pace, self.demo_script.clone());
        Embedded { database, chat: self.chat_folder(), demo_pace, demo_script }
    }

    /// The server or the database that was named, without what nobody else may read.
    pub fn elsewhere(&self) -> Option<String> {
        let database = self.database_url.as_deref().filter(|url| !url.is_empty());
        self.server.clone().or_else(|| database.map(without_password))
    }

    /// Refuses a server, with this rule, where only what is here can be used.
    pub fn must_be_here(&self, rule: &str) -> Result<(), Failure> {
        match &self.server {
            Some(_) => Err(Failure::usage(rule)),
            None => Ok(()),
        }
    }

    /// The options that lead to the same place again.
    pub fn options(&self) -> String {
        let mut options = String::new();
        let usual = std::env::var_os("GREENROOM_DATA").map(PathBuf::from);
        if self.data != usual.unwrap_or_else(|| DATA.into()) {
            options.push_str(&format!(" --data {}", quoted(&self.data.display().to_string())));
        }
        if let Some(server) = &self.server {
            options.push_str(&format!(" --server {}", quoted(server)));
        }
        let usual = std::env::var("DATABASE_URL").ok();
        if let Some(url) = self.database_url.as_ref().filter(|url| Some(*url) != usual.as_ref()) {
            options.push_str(&format!(" --database-url {}", quoted(&without_password(url))));
        }
        options
    }
}

/// What seals keys, beside this folder of the data folder unless the environment says otherwise.
pub fn seal_key(chat: &Path) -> PathBuf {
    let named = std::env::var_os("GREENROOM_SEAL_KEY_FILE").filter(|named| !named.is_empty());
    named.map_or_else(|| chat.with_file_name("seal.key"), PathBuf::from)
}

/// The address of a database without what nobody else may read.
fn without_password(url: &str) -> String {
    let url = match url.split_once('?') {
        Some((before, query)) => {
            let kept: Vec<&str> = query.split('&').filter(|pair| !is_password(pair)).collect();
            let mark = if kept.is_empty() { "" } else { "?" };
            format!("{before}{mark}{}", kept.join("&"))
        }
        None => url.to_owned(),
    };
    let parts = || {
        let (scheme, rest) = url.split_once("://")?;
        let end = rest.find('/').unwrap_or(rest.len());
        let (who, host) = rest.split_at(rest[..end].rfind('@')?);
        let (user, _) = who.split_once(':')?;
        Some(format!("{scheme}://{user}{host}"))
    };
    parts().unwrap_or(url)
}

/// Whether a pair of a query is a password, or that of a key.
fn is_password(pair: &str) -> bool {
    let mut names = form_urlencoded::parse(pair.as_bytes()).map(|(name, _)| name);
    names.any(|name| name.to_ascii_lowercase().ends_with("password"))
}

/// A text as a shell takes it for one word.
pub fn quoted(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@%+,".contains(letter);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_what_is_quoted_for_one_word() {
        assert_eq!(quoted("/a/b-c.md"), "/a/b-c.md");
        assert_eq!(quoted("my data"), "'my data'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn a_password_is_not_printed() {
        let sqlite = "sqlite:/home/me/my.db";
        assert_eq!(without_password(sqlite), sqlite);
        assert_eq!(without_password("postgres://me@host/db"), "postgres://me@host/db");
        assert_eq!(without_password("postgres://me:hunter22@host/db"), "postgres://me@host/db");
        assert_eq!(without_password("postgres://me:a@b@host"), "postgres://me@host");
        for (url, shown) in [
            ("postgres://host/db?password=hunter22", "postgres://host/db"),
            ("postgres://host:5432?password=a@b", "postgres://host:5432"),
            ("postgres://me:a@host/db?user=me&password=b", "postgres://me@host/db?user=me"),
            ("postgres://host/db?PassWord=a&sslmode=require", "postgres://host/db?sslmode=require"),
            ("postgres://host/db?p%61ssword=a&sslpassword=b", "postgres://host/db"),
            ("sqlite:/home/me/my.db?mode=rwc", "sqlite:/home/me/my.db?mode=rwc"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
