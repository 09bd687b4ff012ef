//! `greenroom user`: who has an account. Works on the database, whether or not a server runs.

use std::{
    io::{BufRead, IsTerminal},
    path::PathBuf,
};

use clap::Subcommand;

use super::exit::{Exit, Failure};
use crate::{
    accounts::{Accounts, Made, NewLink},
    changes::{Gate, Scope},
    config::{self, ConfigError},
    domain::{
        account::{LOCAL_OWNER, Role, account_name},
        error::ApiError,
        id::SpaceId,
    },
    server::{self, ServeError},
    state::HOME_SPACE,
};

/// Make, list and remove accounts.
#[derive(Debug, clap::Args)]
pub struct UserArgs {
    /// The folder that holds the database.
    #[arg(long, global = true, env = "GREENROOM_DATA", default_value = "./data")]
    data: PathBuf,

    /// Where the database is: postgres://… or sqlite:FILE [default: greenroom.db in the data folder].
    #[arg(long, global = true, env = "DATABASE_URL", hide_env_values = true)]
    database_url: Option<String>,

    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make an account, or let one into a further Space. Asks for the password.
    Add {
        /// The name to sign in with.
        name: String,
        /// What they are there: owner, editor or viewer.
        #[arg(long, default_value = "owner")]
        role: Role,
        /// The Space. One that is not there is made, with them as its owner.
        #[arg(long, default_value = HOME_SPACE)]
        space: String,
        #[command(flatten)]
        password: PasswordArgs,
        /// Without a password: for somebody for whom a proxy vouches, or who has one already.
        #[arg(long, conflicts_with = "password_file")]
        no_password: bool,
    },
    /// Show all accounts.
    List,
    /// Set somebody's password. They are signed out everywhere.
    Passwd {
        /// The account.
        name: String,
        #[command(flatten)]
        password: PasswordArgs,
    },
    /// Take somebody out of a Space. Out of the last one, their account is gone.
    Remove {
        /// The account.
        name: String,
        /// The Space.
        #[arg(long, default_value = HOME_SPACE)]
        space: String,
    },
    /// Print the path of a link with which somebody can make an account of their own, once.
    Invite {
        /// What they will be there.
        #[arg(long, default_value = "editor")]
        role: Role,
        /// The Space.
        #[arg(long, default_value = HOME_SPACE)]
        space: String,
    },
    /// Print the path of a link with which somebody can choose a new password, once.
    Reset {
        /// The account.
        name: String,
    },
}

/// Where a password comes from. Never from an argument, which every user of the machine can read.
#[derive(Debug, clap::Args)]
struct PasswordArgs {
    /// The file that has the password [default: asked for; or the first line of what is piped in].
    #[arg(long)]
    password_file: Option<PathBuf>,
}

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    /// The database is not named right.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The database cannot be opened.
    #[error("{0}")]
    Store(#[from] ServeError),
    /// What was asked for is not possible.
    #[error("{0}")]
    Refused(#[from] ApiError),
    /// The password cannot be read.
    #[error("The password cannot be read: {0}")]
    Unread(#[from] std::io::Error),
    /// It was not typed the same twice.
    #[error("These are two different passwords. Nothing was changed.")]
    Different,
}

impl From<UserError> for Failure {
    fn from(error: UserError) -> Self {
        let exit = match &error {
            UserError::Config(_) => Exit::Configuration,
            UserError::Store(_) | UserError::Refused(_) => Exit::Failed,
            UserError::Unread(_) | UserError::Different => Exit::Usage,
        };
        Self::new(exit, error.to_string())
    }
}

/// Does it.
pub async fn run(args: UserArgs) -> Result<Exit, Failure> {
    see_to(args).await.map_err(Failure::from)?;
    Ok(Exit::Done)
}

#[expect(clippy::print_stdout, reason = "this is what was asked for")]
async fn see_to(args: UserArgs) -> Result<(), UserError> {
    let database = config::database(args.database_url.as_deref(), &args.data)?;
    let store = server::open_store(&database).await?;
    store.migrate().await.map_err(ServeError::Database)?;
    // The first Space is there before anybody comes into it.
    let home = Scope { space: HOME_SPACE.into(), user: LOCAL_OWNER.into() };
    Gate::found_space(&store, &home, "Home").await?;
    let accounts = Accounts::new(store);
    match args.what {
        What::Add { name, role, space, password, no_password } => {
            let scope = Scope { space: named(&space)?, user: account_name(&name)? };
            let password = if no_password { None } else { Some(password.read()?) };
            accounts.add(&scope, role, password.as_deref()).await?;
            println!("{} is {} of {}.", scope.user, role.word(), scope.space);
            println!("A server that runs already asks for accounts once it is started again.");
        }
        What::List => {
            for (user, has_password, spaces) in accounts.everybody().await? {
                let places =
                    spaces.iter().map(|one| format!("{} of {}", one.role.word(), one.space));
                let places = places.collect::<Vec<_>>().join(", ");
                let places = if places.is_empty() { "in no Space".into() } else { places };
                let signs_in = if has_password { "" } else { " (cannot sign in: no password)" };
                println!("{user}: {places}{signs_in}");
            }
        }
        What::Passwd { name, password } => {
            let user = account_name(&name)?;
            accounts.set_password(&user, &password.read()?).await?;
            println!("{user} has a new password, and is signed out everywhere.");
        }
        What::Remove { name, space } => {
            let scope = Scope { space: named(&space)?, user: LOCAL_OWNER.into() };
            let user = account_name(&name)?;
            accounts.remove(&scope, &user, "").await?;
            println!("{user} is no longer in {}.", scope.space);
        }
        What::Invite { role, space } => {
            let scope = Scope { space: named(&space)?, user: LOCAL_OWNER.into() };
            tell(&accounts.make_link(&scope, NewLink::Invite(role), "").await?);
        }
        What::Reset { name } => tell(&accounts.make_reset_link(&account_name(&name)?).await?),
    }
    Ok(())
}

/// A Space's name as it may be typed.
fn named(space: &str) -> Result<SpaceId, ApiError> {
    let id = SpaceId::new(space);
    if id == SpaceId::default() {
        let rule = "A Space has 1 to 64 letters, digits, dashes and underscores.";
        return Err(ApiError::invalid("space", rule));
    }
    Ok(id)
}

#[expect(clippy::print_stdout, reason = "this is what was asked for")]
fn tell(made: &Made) {
    println!(
        "Put this behind the address of your server; it opens once, until {}:",
        made.expires_at.readable()
    );
    println!("  {}", made.path);
}

impl PasswordArgs {
    /// From the file, from a person who types it twice, or from what is piped in.
    fn read(&self) -> Result<String, UserError> {
        let ended = |text: String| text.trim_end_matches(['\r', '\n']).to_owned();
        if let Some(file) = &self.password_file {
            return Ok(ended(std::fs::read_to_string(file)?));
        }
        if !std::io::stdin().is_terminal() {
            let mut line = String::new();
            std::io::stdin().lock().read_line(&mut line)?;
            return Ok(ended(line));
        }
        let first = rpassword::prompt_password("Password (8 characters or more): ")?;
        let again = rpassword::prompt_password("Once more: ")?;
        if first == again { Ok(first) } else { Err(UserError::Different) }
    }
}
