//! Settling how people come in, once the database can be asked whether there are accounts.

use std::{net::SocketAddr, path::Path};

use super::{ServeError, peer};
use crate::{
    accounts::{Access, Mode, Peers, Transport},
    config::{AccessConfig, Auth},
    domain::{account::LOCAL_OWNER, error::ApiError},
    state::AppState,
};

/// What is known of it before the database is there.
pub fn access(config: &AccessConfig) -> Access {
    let transport = if config.encrypted { Transport::Tls } else { Transport::Plain };
    let access = Access::undecided(transport, config.trusted.clone());
    match config.auth {
        Some(Auth::Accounts) => access.decide(Mode::Accounts),
        Some(Auth::Proxy) => access.decide(Mode::Proxy(config.user_header.clone())),
        Some(Auth::Local | Auth::Link) | None => {}
    }
    access
}

/// Settles how people come in. Nobody does by mistake: once an account was made, others need one too.
pub async fn settle(
    state: &AppState,
    config: &AccessConfig,
    addr: SocketAddr,
) -> Result<(), ServeError> {
    if let Some(file) = &config.owner_password_file {
        set_owner_password(state, file).await?;
    }
    let has_accounts = state.accounts.exist().await?;
    let mode = match config.auth {
        Some(Auth::Proxy) => Mode::Proxy(config.user_header.clone()),
        Some(Auth::Accounts) => Mode::Accounts,
        None if has_accounts => Mode::Accounts,
        Some(Auth::Link) => Mode::Local(Peers::Link),
        Some(Auth::Local) | None if peer::is_known_here() => Mode::Local(Peers::SameUser),
        Some(Auth::Local) | None => Mode::Local(Peers::Link),
    };
    if mode == Mode::Accounts && !has_accounts {
        let problem = "Nobody could sign in: there is no account yet. Make the first one:\n  \
             greenroom user add NAME";
        return Err(ServeError::Access(problem.into()));
    }
    match &mode {
        Mode::Accounts => {
            tracing::info!("people sign in with a name and a password");
            let is_proxied = config.encrypted || addr.ip().is_loopback();
            if config.trusted.is_empty() && !config.hosts.is_empty() && is_proxied {
                tracing::warn!(
                    "no --trusted-proxy is named: behind a proxy everybody counts as one, and whoever guesses \
                     passwords there keeps all others from signing in"
                );
            }
        }
        Mode::Proxy(header) => tracing::info!(header, "people come in as the proxy says"),
        Mode::Local(Peers::Link) => print_entrance(&state.access, addr)?,
        Mode::Local(Peers::SameUser | Peers::Within) => {}
    }
    state.access.decide(mode);
    fence(state);
    Ok(())
}

/// Where people have accounts, owners of Spaces need not be who runs the server, who alone may point a service
/// anywhere and at any key.
pub fn fence(state: &AppState) {
    if state.access.has_accounts() {
        state.agent.fence_services();
    }
}

/// Sees to it that the owner has the password in this file.
async fn set_owner_password(state: &AppState, file: &Path) -> Result<(), ServeError> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        ServeError::Access(format!("The password in {} cannot be read: {error}", file.display()))
    })?;
    let password = text.trim_end_matches(['\r', '\n']);
    let set = state.accounts.ensure_password(&LOCAL_OWNER.into(), password).await;
    match set {
        Ok(true) => tracing::info!("the password of the account “{LOCAL_OWNER}” was set"),
        Ok(false) => {}
        Err(error @ ApiError::Invalid { .. }) => {
            let problem = format!("The password in {} cannot be used: {error}", file.display());
            return Err(ServeError::Access(problem));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// Prints the link by which the owner comes in.
#[expect(clippy::print_stdout, reason = "whoever started us needs it, and nobody else may")]
fn print_entrance(access: &Access, addr: SocketAddr) -> Result<(), ServeError> {
    let secret = access.open_entrance()?;
    println!("Open this link once, in the browser that shall use it:");
    println!("  http://{addr}/enter/{}", secret.expose());
    Ok(())
}
