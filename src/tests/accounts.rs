//! Accounts: coming in, staying in, and what one may do then.

mod bodies;
mod floods;
mod links;
mod modes;
mod people;
pub mod rules;
mod sign_in;
mod starting;
mod tokens;

use axum::http::{Method, StatusCode, header};
use greenroom::{
    accounts::{Mode, NewToken},
    changes::Scope,
    domain::account::{Role, TokenScope},
};

use crate::support::{Answer, House, form_request};

pub const PASSWORD: &str = "correct horse";

/// Somebody of the first Space.
pub fn scope(user: &str) -> Scope {
    Scope { space: "home".into(), user: user.into() }
}

impl House {
    /// The same house with accounts, and with one for each of these.
    pub async fn with_accounts(&self, people: &[(&str, Role)]) -> House {
        for (name, role) in people {
            self.state.accounts.add(&scope(name), *role, Some(PASSWORD)).await.unwrap();
        }
        self.in_mode(Mode::Accounts)
    }

    /// The same house, as somebody sees it who signed in without a browser.
    pub async fn signed_in(&self, user: &str) -> House {
        let spaces = self.state.accounts.spaces(&user.into()).await.unwrap();
        let visitor = Default::default();
        let session = self
            .state
            .accounts
            .begin_session(&user.into(), &spaces[0].space, None, &visitor)
            .await
            .unwrap();
        self.seen_by(header::COOKIE, &format!("sid={}", session.expose()))
    }

    /// The same house, as a program of somebody's sees it.
    pub async fn with_token(&self, user: &str, scope: TokenScope) -> House {
        let new = NewToken { name: "a program".into(), scope, days: 1 };
        let made = self.state.accounts.make_token(&self::scope(user), new, "").await.unwrap();
        self.seen_by(header::AUTHORIZATION, &format!("Bearer {}", made.expose()))
    }

    /// Sends the form of the page for signing in.
    pub async fn sign_in(&self, name: &str, password: &str, next: &str) -> Answer {
        let fields = [("name", name), ("password", password), ("next", next)];
        self.form("/login", "/login", &fields).await
    }

    /// A page as a browser asks for it.
    pub async fn page(&self, path: &str) -> Answer {
        let mut request = crate::support::request(Method::GET, path, None);
        request.headers_mut().insert(header::ACCEPT, "text/html".parse().unwrap());
        self.send(request).await
    }

    /// The same house, for the browser that this answer gives a cookie to.
    pub fn keeping(&self, answer: &Answer) -> House {
        let cookie = answer.header("set-cookie").split(';').next().unwrap();
        self.seen_by(header::COOKIE, cookie)
    }

    /// The status of a form that is sent without JavaScript.
    pub async fn posted(&self, path: &str, fields: &[(&str, &str)]) -> StatusCode {
        self.send(form_request(path, path, fields, "text/html")).await.status
    }
}
