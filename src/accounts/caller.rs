//! Who asks, and what they may.

use crate::{
    changes::Scope,
    domain::{
        account::{Role, TokenScope},
        error::ApiError,
    },
};

/// Who may use an address. Every address has one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Anybody.
    Public,
    /// Whoever may look at the Space, also a program with a token.
    Viewer,
    /// Any person who is in the Space, and no program: what belongs to their account.
    Person,
    /// Whoever may change the Space, also a program with a token that writes.
    Editor,
    /// A person who may change the Space, and no program: decisions on what agents propose.
    Decider,
    /// An owner of the Space, and no program.
    Owner,
}

/// How somebody proved who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// By working on this machine, without an account.
    Local,
    /// By a browser that signed in: the hash of its session.
    Session(String),
    /// By a token, that of a program.
    Token(TokenScope),
    /// By the word of a proxy that we trust.
    Proxy,
}

/// Who asks: a person in a Space, or a program for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// In which Space, and for whom.
    pub scope: Scope,
    /// What the person is there.
    pub role: Role,
    /// How that is known.
    pub proof: Proof,
}

impl Caller {
    /// Whether they may use an address of this class. The one place where roles and scopes decide.
    pub fn may(&self, class: Class) -> Result<(), ApiError> {
        let denied = |reason: &str| Err(ApiError::Denied { reason: reason.into() });
        let needs = match class {
            Class::Public | Class::Viewer | Class::Person => Role::Viewer,
            Class::Editor | Class::Decider => Role::Editor,
            Class::Owner => Role::Owner,
        };
        match (&self.proof, class) {
            (Proof::Token(_), Class::Person | Class::Decider | Class::Owner) => {
                return denied("An API token cannot do this: a person must, in a browser.");
            }
            (Proof::Token(TokenScope::Read), Class::Editor) => {
                return denied("This API token reads only. Make one that writes.");
            }
            (Proof::Token(_) | Proof::Local | Proof::Session(_) | Proof::Proxy, _) => {}
        }
        match (self.role >= needs, needs) {
            (true, _) => Ok(()),
            (false, Role::Owner) => denied("Only an owner of this Space can do this."),
            (false, _) => denied(
                "You can look at everything in this Space, and change nothing. \
                 An owner can make you an editor.",
            ),
        }
    }

    /// The hash of the browser's session, where there is one.
    pub fn session(&self) -> Option<&str> {
        match &self.proof {
            Proof::Session(hash) => Some(hash),
            Proof::Local | Proof::Token(_) | Proof::Proxy => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASSES: [Class; 6] =
        [Class::Public, Class::Viewer, Class::Person, Class::Editor, Class::Decider, Class::Owner];

    fn may(role: Role, proof: Proof) -> Vec<Class> {
        let scope = Scope { space: "s".into(), user: "u".into() };
        let caller = Caller { scope, role, proof };
        CLASSES.into_iter().filter(|class| caller.may(*class).is_ok()).collect()
    }

    #[test]
    fn roles_grow_and_a_token_never_decides_or_owns() {
        use Class::{Decider, Editor, Owner, Person, Public, Viewer};
        let session = || Proof::Session("x".into());

        assert_eq!(may(Role::Viewer, session()), [Public, Viewer, Person]);
        assert_eq!(may(Role::Editor, session()), [Public, Viewer, Person, Editor, Decider]);
        for whole in [session(), Proof::Local, Proof::Proxy] {
            assert_eq!(may(Role::Owner, whole), [Public, Viewer, Person, Editor, Decider, Owner]);
        }
        let (read, write) = (Proof::Token(TokenScope::Read), Proof::Token(TokenScope::Write));
        assert_eq!(may(Role::Owner, read), [Public, Viewer]);
        assert_eq!(may(Role::Owner, write.clone()), [Public, Viewer, Editor]);
        assert_eq!(may(Role::Viewer, write), [Public, Viewer]);
    }
}
