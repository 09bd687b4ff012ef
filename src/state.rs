//! What every request can reach.

mod file_view;
mod playground;
mod visit;

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    extract::{FromRef, FromRequestParts},
    http::{Method, header, request::Parts},
};
use leptos::config::LeptosOptions;
use leptos_router::location::Url;
use playground::played_at;
pub use playground::{
    delete_file, leave_file, player, save_file, session_at, session_data, variables_of,
};
use tokio_util::sync::CancellationToken;
pub use visit::{
    Visit, chat_at, compared, compared_first, device, form_number, found_chats, keep_place,
    link_to, origin, shown_turns,
};

use crate::{
    accounts::{Access, Accounts, Caller, Class, Mode, Peers, Proof},
    agent::{Agent, Listener, Sight, is_from_elsewhere},
    app::{
        server_fns::{answers::ShownAnswer, search::Target},
        shell::SiteFiles,
        state::answer::Hearing,
    },
    changes::{Gate, Scope},
    domain::{
        account::Role,
        actor::Actor,
        audit::BinnedKind,
        change::{Change, ChangeState, Entity, EntityKind, Op, Outcome},
        error::ApiError,
        field::{grouped, unix_lines},
        id::{ConversationId, RefId},
        knowledge::{RefFields, TEXT, URL},
        model::ServiceStatus,
        proposal::Source,
        search::SearchKind,
        test_answer::TestAnswer,
        wiki,
    },
    fetch::Fetcher,
    jobs::{Files, Jobs},
    markdown::{self, Leads},
    providers::{Artist, Catalog},
    search::{Question, Search},
    store::{Link, Store, now},
};

pub use crate::domain::account::LOCAL_OWNER;

/// The Space that a new installation starts with.
pub const HOME_SPACE: &str = "home";

/// What all requests share, cheap to clone.
#[derive(Clone, Debug)]
pub struct AppState {
    /// What is kept.
    pub store: Store,
    /// The Space that this server begins with, and who owns it without an account.
    pub scope: Scope,
    /// How people come in.
    pub access: Arc<Access>,
    /// Who they are.
    pub accounts: Accounts,
    /// The site's options.
    pub site: LeptosOptions,
    /// The names of the site's files.
    pub files: SiteFiles,
    /// Everything that thinks.
    pub agent: Agent,
    /// Everything that finds.
    pub search: Search,
    /// What fetches documents from the web.
    pub fetcher: Fetcher,
    /// What is done while nobody waits.
    pub jobs: Jobs,
    /// Ends when the server does, so that no stream holds it up.
    pub closing: CancellationToken,
}

impl AppState {
    /// A state in front of this store, for the local owner, who asks from within this process.
    pub fn new(store: Store, site: LeptosOptions, files: SiteFiles, agent: Agent) -> Self {
        let scope = Scope { space: HOME_SPACE.into(), user: LOCAL_OWNER.into() };
        let search = agent.search().clone();
        let (fetcher, closing) = (Fetcher::default(), CancellationToken::new());
        let jobs = Jobs::new(store.clone(), Artist::demo(), Files::in_memory(), LOCAL_OWNER);
        let access = Arc::new(Access::decided(Mode::Local(Peers::Within)));
        let accounts = Accounts::new(store.clone());
        Self { store, scope, access, accounts, site, files, agent, search, fetcher, jobs, closing }
    }

    /// The owner of this machine, as they ask without an account.
    pub fn local_owner(&self) -> Caller {
        Caller { scope: self.scope.clone(), role: Role::Owner, proof: Proof::Local }
    }

    /// The desk of whoever asks.
    pub fn desk(&self, caller: &Caller) -> Desk {
        let scope = caller.scope.clone();
        let actor = Actor::Person { user: scope.user.clone() };
        let gate = Gate::new(self.store.clone(), scope.space.clone(), actor);
        Desk {
            gate,
            is_owner: caller.may(Class::Owner).is_ok(),
            is_editor: caller.may(Class::Editor).is_ok(),
            agent: self.agent.clone(),
            search: self.search.clone(),
            scope,
            store: self.store.clone(),
            fetcher: self.fetcher.clone(),
            jobs: self.jobs.clone(),
        }
    }
}

/// Where one request works: it reads and changes one Space, for one person.
#[derive(Clone, Debug)]
pub struct Desk {
    /// The door to changing something.
    pub gate: Gate,
    /// Everything that thinks.
    pub agent: Agent,
    /// Everything that finds.
    pub search: Search,
    /// In which Space, and for whom.
    pub scope: Scope,
    /// What is done while nobody waits.
    pub jobs: Jobs,
    /// Whether whoever works here may set what owners set.
    is_owner: bool,
    /// Whether they may change the Space.
    is_editor: bool,
    store: Store,
    fetcher: Fetcher,
}

impl Desk {
    /// A link that reads.
    pub async fn read(&self) -> Result<Link, ApiError> {
        Ok(self.store.read(&self.scope.space).await?)
    }

    /// The services of a catalogue, as whoever works here may know them: where a key is, variables and files
    /// of the server, is told to owners only.
    pub fn services(&self, catalog: &Catalog) -> Vec<ServiceStatus> {
        let shown = |status: ServiceStatus| match self.is_owner {
            true => status,
            false => ServiceStatus { service: status.service.veiled(), ..status },
        };
        catalog.services().into_iter().map(shown).collect()
    }

    /// The conversation with the companion: begun if there is none, by whoever may.
    pub async fn ambient(&self) -> Result<ConversationId, ApiError> {
        if self.is_editor {
            return self.agent.ambient(&self.scope).await;
        }
        let known = self.agent.listener(&self.scope, &Listener::Companion).await?.1;
        known.ok_or(ApiError::not_found("conversation"))
    }

    /// Whether the texts of refs can be fetched.
    pub fn can_fetch(&self) -> bool {
        self.fetcher.is_on()
    }

    /// Fetches what a ref's address points at, as the ref's next version, and says so where not all of it fits.
    /// What was written in its text meanwhile is merged.
    pub async fn fetch_ref(&self, id: &RefId) -> Result<(Outcome, Option<String>), ApiError> {
        let known = self.read().await?.entry::<RefFields>(id).await?;
        if known.fields.url.is_empty() {
            return Err(ApiError::invalid(URL.name, "This ref has no address to fetch from."));
        }
        let fetched = self.fetcher.fetch(&known.fields.url).await?;
        let cut = fetched.is_cut.then(|| {
            let most = grouped(TEXT.max_chars);
            format!("Only the first {most} characters were kept: no more fit.")
        });
        let mut reason = format!("Fetched from {}.", fetched.host);
        if let Some(cut) = &cut {
            reason = format!("{reason} {cut}");
        }
        let mut change = Change::new(id, Op::Update)
            .set("text", fetched.text)
            .set("fetchedAt", now().rfc3339())
            .based_on(known.revision)
            .because(reason);
        if known.fields.title.is_empty() && !fetched.title.is_empty() {
            change = change.set("title", fetched.title);
        }
        Ok((self.gate.submit(change).await?, cut))
    }

    /// Takes something out of the bin.
    pub async fn restore_binned(&self, kind: BinnedKind, id: &str) -> Result<Outcome, ApiError> {
        match kind.entity() {
            Some(kind) => self.gate.submit(Change::new(Entity::new(kind, id), Op::Restore)).await,
            None => {
                self.agent.restore_terminal(&self.scope, &ConversationId::new(id)).await?;
                Ok(UNVERSIONED)
            }
        }
    }

    /// Removes something from the bin for good.
    pub async fn purge_binned(&self, kind: BinnedKind, id: &str) -> Result<Outcome, ApiError> {
        match kind.entity() {
            Some(kind) => self.gate.submit(Change::new(Entity::new(kind, id), Op::Purge)).await,
            None => {
                self.gate.purge_terminal(&ConversationId::new(id)).await?;
                Ok(UNVERSIONED)
            }
        }
    }
}

/// What came of something that has no versions and passes no gate.
const UNVERSIONED: Outcome = Outcome { change_id: None, state: ChangeState::Applied, revision: 0 };

/// What a person looks at while they ask something.
pub struct Viewed {
    /// Who listens there.
    pub listener: Listener,
    /// What it is, for people; empty where it is no single thing.
    pub title: String,
    /// What the listener is told about it.
    pub context: Sight,
}

/// The most places to go that are offered.
const MAX_TARGETS: usize = 12;
/// Of so many that fit.
const SEARCHED: u32 = 50;
/// The most titles in a text that are looked for.
const MAX_LEADS: usize = 500;

/// The most of what is marked on a page that goes along with a question.
const MAX_MARKED_CHARS: usize = 8000;
/// So much of it is looked for where things from elsewhere stand, and so many of those are named.
const MARKED_WORDS: usize = 12;
const LEAST_MARKED_WORDS: usize = 3;
const MARKED_SOURCES: u32 = 5;
/// The most of it that a draft quotes.
const MAX_QUOTED_CHARS: usize = 300;

/// What the page with this address shows. An address that is not ours shows nothing.
pub async fn viewed(desk: &Desk, at: &str, marked: &str) -> Result<Viewed, ApiError> {
    let path = at.split(['?', '#']).next().unwrap_or_default();
    let edited = Entity::at(path);
    let is_played = edited.is_none();
    let entity = match edited.or(played_at(desk, path).await?) {
        // Where nothing is, or lies in the bin, the companion listens.
        Some(entity) => match desk.gate.head(&entity).await {
            Ok(head) => Some(entity).filter(|_| !head.binned),
            Err(ApiError::NotFound { .. }) => None,
            Err(error) => return Err(error),
        },
        None => None,
    };
    let listener = match &entity {
        Some(entity) if entity.kind == EntityKind::Persona && !is_played => {
            Listener::Persona(entity.id.as_str().into())
        }
        _ => Listener::Companion,
    };
    let title = match &entity {
        Some(entity) => desk.gate.title(entity).await?,
        None => String::new(),
    };
    let context = match &entity {
        // Many things are shown there.
        Some(entity) if is_played => {
            let seen = looking_at(desk, entity, "").await?;
            let told = format!("{}\nThe page is {path}.", seen.told);
            let mut context = marking(desk, told, marked).await?;
            context.sources.extend(seen.sources);
            context
        }
        Some(entity) => looking_at(desk, entity, marked).await?,
        None => marking(desk, format!("The person is looking at the page {path}."), marked).await?,
    };
    Ok(Viewed { listener, title, context })
}

/// What a listener is told of a passage that was marked where many things are shown. What stands in a ref, or in
/// something that was imported, was written elsewhere.
pub async fn marking(desk: &Desk, told: String, marked: &str) -> Result<Sight, ApiError> {
    let marked = shortened(marked);
    let words: Vec<&str> = marked.split_whitespace().take(MARKED_WORDS).collect();
    let phrase = format!("\"{}\"", words.join(" ").replace('"', " "));
    let mut sources = Vec::new();
    for kind in SearchKind::ALL {
        // A word or two stand everywhere, and tell nobody what to do.
        if words.len() < LEAST_MARKED_WORDS {
            break;
        }
        let question = Question { text: &phrase, kind: Some(kind), limit: MARKED_SOURCES };
        for hit in desk.search.with_words(&desk.scope.space, question).await? {
            let entity = Entity::new(kind.into(), &hit.id);
            if !is_from_elsewhere(&mut desk.read().await?, &entity).await? {
                continue;
            }
            let passage = marked.chars().take(MAX_QUOTED_CHARS).collect();
            sources.push(Source { entity, title: hit.title, passage });
        }
    }
    Ok(Sight { told: with_marked(told, &marked), sources })
}

/// What a listener is told about what the person looks at. What a ref says or something that was imported,
/// and what it is called, was written elsewhere.
pub async fn looking_at(desk: &Desk, entity: &Entity, marked: &str) -> Result<Sight, ApiError> {
    let (noun, word) = (entity.kind.noun(), entity.kind.word());
    let (title, id) = (desk.gate.title(entity).await?, &entity.id);
    let told = format!(
        "The person is looking at the {noun} “{title}” (entityType {word}, entityId {id})."
    );
    let marked = shortened(marked);
    let elsewhere = is_from_elsewhere(&mut desk.read().await?, entity).await?;
    let source = elsewhere.then(|| {
        let quoted = if marked.is_empty() { &title } else { &marked };
        let passage = quoted.chars().take(MAX_QUOTED_CHARS).collect();
        Source { entity: entity.clone(), title: title.clone(), passage }
    });
    Ok(Sight { told: with_marked(told, &marked), sources: source.into_iter().collect() })
}

fn shortened(marked: &str) -> String {
    marked.trim().chars().take(MAX_MARKED_CHARS).collect()
}

/// What is said to a persona, with what was marked quoted before it.
pub fn quoting(marked: &str, words: &str) -> String {
    let (marked, words) = (unix_lines(&shortened(marked)), unix_lines(words));
    if marked.is_empty() {
        return words;
    }
    let quoted: Vec<String> = marked.lines().map(|line| format!("> {line}")).collect();
    format!("{}\n\n{words}", quoted.join("\n"))
}

fn with_marked(told: String, marked: &str) -> String {
    if marked.is_empty() {
        return told;
    }
    format!("{told}\nThey marked this passage, and mean it:\n«{marked}»")
}

/// The desk of the server function that is running, for whoever asked for it.
pub fn desk() -> Result<Desk, ApiError> {
    let state = leptos::context::use_context::<AppState>();
    let state = state.ok_or_else(|| ApiError::Internal { incident: "no state".into() })?;
    Ok(state.desk(&caller()?))
}

/// Whether whoever asked for the running server function may decide on drafts, where that is only a part of
/// what it does.
pub fn may_decide() -> Result<(), ApiError> {
    caller()?.may(Class::Decider)
}

fn caller() -> Result<Caller, ApiError> {
    let parts = leptos::context::use_context::<Parts>();
    let caller = parts.as_ref().and_then(|parts| parts.extensions.get::<Caller>());
    caller.cloned().ok_or_else(sign_in_first)
}

/// What is told where nobody knows who asks.
pub fn sign_in_first() -> ApiError {
    let reason = "Sign in first. If you were signed in, your session is over.";
    ApiError::SignIn { reason: reason.into() }
}

/// Whether the running server function answers a form that was sent without JavaScript.
pub fn is_plain_form() -> bool {
    let parts = leptos::context::use_context::<Parts>();
    parts.is_some_and(|parts| {
        let posted = parts.method == Method::POST;
        let accept = parts.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
        posted && accept.is_some_and(|accept| accept.contains("text/html"))
    })
}

/// What a person wrote in a plain form must not be lost in a redirect: when it cannot be saved, it is
/// kept, and the person is sent to the page that says why and shows both texts.
pub async fn keep_refused(
    desk: &Desk,
    saved: &Result<Outcome, ApiError>,
    change: Change,
) -> Result<(), ApiError> {
    if matches!(saved, Err(ApiError::Conflict(_) | ApiError::Invalid { .. })) && is_plain_form() {
        let id = desk.gate.keep_refused(change).await?;
        leptos_axum::redirect(&format!("/conflicts/{id}"));
    }
    Ok(())
}

/// Writes what a person wrote. What another edit is in the way of is kept beside it, and the person is
/// sent to the page that shows both; so is what breaks a rule, where the form would be lost.
pub async fn submit_or_keep(desk: &Desk, change: Change) -> Result<Outcome, ApiError> {
    let saved = desk.gate.submit(change.clone()).await;
    let keep = match &saved {
        Err(ApiError::Conflict(_)) => true,
        Err(ApiError::Invalid { .. }) => is_plain_form(),
        _ => false,
    };
    if !keep {
        return saved;
    }
    let revision = change.base.unwrap_or_default();
    let id = desk.gate.keep_refused(change).await?;
    leptos_axum::redirect(&format!("/conflicts/{id}"));
    Ok(Outcome { change_id: Some(id), state: ChangeState::Conflict, revision })
}

/// The page on which a thing is edited.
pub async fn page_of(desk: &Desk, entity: &Entity) -> Result<String, ApiError> {
    if let Some(path) = entity.path() {
        return Ok(path);
    }
    let owner = desk.read().await?.test_input_owner(&entity.id.as_str().into()).await?;
    Ok(format!("/personas/{owner}"))
}

/// Where one can go: what fits what is being typed, or the personas that changed last.
pub async fn targets(desk: &Desk, text: &str) -> Result<Vec<Target>, ApiError> {
    let target = |kind: EntityKind, label: String, path: String| Target {
        label,
        path,
        kind: kind.noun().into(),
    };
    if text.trim().is_empty() {
        let page = desk.read().await?.personas("", None, MAX_TARGETS as u32).await?;
        let personas = page.items.into_iter().map(|persona| {
            target(EntityKind::Persona, persona.name, format!("/personas/{}", persona.id))
        });
        return Ok(personas.collect());
    }
    let question = Question { text, kind: None, limit: SEARCHED };
    let found = desk.search.suggest(&desk.scope.space, question).await?;
    // Where less was looked for than could be, that is said, and the page that searches leads on.
    let note = found.trouble().map(|note| Target {
        label: note.to_owned(),
        path: format!("/search?q={}", Url::escape(text)),
        kind: "search".into(),
    });
    let hits = found.items.into_iter();
    // A test input has no name that one would type, and no page.
    let named = hits.filter(|hit| hit.kind != SearchKind::TestInput);
    let found = named.map(|hit| (hit.path(), hit));
    Ok(found
        .map(|(path, hit)| target(hit.kind.into(), hit.title, path))
        .take(MAX_TARGETS)
        .chain(note)
        .collect())
}

/// What the links in a text lead to.
pub async fn leads(desk: &Desk, text: &str) -> Result<Leads, ApiError> {
    let titles: BTreeMap<String, &str> =
        wiki::links(text).into_iter().map(|link| (wiki::key(link.title), link.title)).collect();
    let titles = titles.into_values().take(MAX_LEADS);
    Ok(desk.read().await?.titled(titles).await?.into_iter().collect())
}

/// An answer with its words rendered, once they are all there.
pub fn shown_answer(answer: TestAnswer) -> ShownAnswer {
    let html =
        if answer.status.is_over() { markdown::to_html(&answer.text) } else { String::new() };
    ShownAnswer { answer, html, hearing: Hearing::default() }
}

impl FromRef<AppState> for LeptosOptions {
    fn from_ref(state: &AppState) -> Self {
        state.site.clone()
    }
}

impl FromRequestParts<AppState> for Desk {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        // Whoever may not come in was stopped before: without a caller this is no place for anybody.
        let caller = parts.extensions.get::<Caller>().ok_or_else(sign_in_first)?;
        Ok(state.desk(caller))
    }
}

impl aide::OperationInput for Desk {}
