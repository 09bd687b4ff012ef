//! The Inbox: every draft that waits for a decision, and those that were decided on.

use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::hooks::use_query_map;

use crate::{
    app::{
        components::{draft_card::DraftCard, page_title::PageTitle, problem::PageProblem},
        server_fns::proposals::{DecideDrafts, list_drafts},
    },
    domain::{
        change::{ChangeState, Entity},
        id::{ChangeId, PersonaId},
        list::Page,
        proposal::Proposal,
        visible::visible,
    },
};

/// The page.
#[component]
pub fn InboxPage() -> impl IntoView {
    let query = use_query_map().read_untracked().clone();
    let state = query.get("state").and_then(|word| ChangeState::from_word(&word));
    let state = state.unwrap_or(ChangeState::Pending);
    let after = query.get("after").map(ChangeId::new);
    let persona = query.get("persona").map(PersonaId::new);
    let only = Only { state, persona: persona.clone(), after: after.clone() };
    let home = persona.as_ref().map(|id| view! {
        <p class="small"><a href=format!("/personas/{id}?workbench=enhance")>"Back to the persona"</a> " · " <a href="/inbox">"All drafts"</a></p>
    });
    view! {
        <PageTitle text="Inbox"/>
        <header class="page-head">
            <h1>"Inbox"</h1>
            <nav class="segments" aria-label="Which drafts">
                {ChangeState::ALL.map(|other| view! {
                    <a href=only.at(other) aria-current=(other == state).then_some("page")>{other.label()}</a>
                })}
            </nav>
        </header>
        {home}
        <Suspense>
            {Suspend::new(async move {
                match list_drafts(state, persona, after).await {
                    Ok(page) => shown(page, &only).into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

/// Which drafts are shown.
struct Only {
    state: ChangeState,
    persona: Option<PersonaId>,
    /// Only those after this one, on a page that is not the first.
    after: Option<ChangeId>,
}

impl Only {
    /// The address of those that stand so, from the first on.
    fn at(&self, state: ChangeState) -> String {
        let persona = self.persona.as_ref().map(|id| format!("&persona={id}"));
        format!("/inbox?state={}{}", state.word(), persona.unwrap_or_default())
    }
}

/// Drafts about one thing stand together, in the order of their newest.
fn grouped(drafts: Vec<Proposal>) -> Vec<(Entity, Vec<Proposal>)> {
    let mut groups: Vec<(Entity, Vec<Proposal>)> = Vec::new();
    for draft in drafts {
        match groups.iter_mut().find(|(entity, _)| *entity == draft.entity) {
            Some((_, group)) => group.push(draft),
            None => groups.push((draft.entity.clone(), vec![draft])),
        }
    }
    groups
}

fn shown(page: Page<Proposal>, only: &Only) -> impl IntoView + use<> {
    let state = only.state;
    if page.items.is_empty() {
        let told = match (state, &only.after) {
            (_, Some(_)) => "Nothing is left on this page.",
            (ChangeState::Pending, None) => {
                "Nothing waits for you. When an agent proposes a change, it appears here."
            }
            (_, None) => "There are none.",
        };
        let first = only.after.as_ref().map(|_| only.at(state));
        let first =
            first.map(|first| view! { <p><a href=first class="button quiet">"First page"</a></p> });
        return view! { <section class="empty"><h2>{state.label()}</h2><p>{told}</p>{first}</section> }
            .into_any();
    }
    let open = matches!(state, ChangeState::Pending | ChangeState::Conflict);
    let many = open && page.items.len() > 1;
    let next = page.next.map(|after| format!("{}&after={after}", only.at(state)));
    view! {
        {many.then(|| view! { <Batch state/> })}
        {grouped(page.items).into_iter().map(|(entity, drafts)| {
            let title = drafts.first().map(|draft| draft.title.clone()).unwrap_or_default();
            let title = format!("{} · {}", entity.kind.noun(), visible(title));
            let label = title.clone();
            let group = format!("inbox-{}-{}", entity.kind.word(), entity.id);
            view! {
                <section class="stack inbox-group" role="group" aria-label=label id=group>
                    <h2 class="small faint">{title}</h2>
                    {drafts.into_iter().map(|draft| {
                        let mark = many.then(|| view! {
                            <label class="inbox-mark">
                                <input type="checkbox" name="ids[]" value=draft.id.to_string() form="batch"/>
                                <span class="sr">"Mark " {visible(draft.summary.clone())}</span>
                            </label>
                        });
                        let row = format!("inbox-{}", draft.id);
                        view! { <div class="inbox-row" id=row>{mark}<DraftCard draft place="inbox"/></div> }
                    }).collect_view()}
                </section>
            }
        }).collect_view()}
        {next.map(|next| view! { <p class="more"><a href=next class="button quiet">"Next page"</a></p> })}
    }
    .into_any()
}

/// Decides on all marked drafts alike.
#[component]
fn Batch(state: ChangeState) -> impl IntoView {
    view! {
        <form id="batch" method="post" action=DecideDrafts::url() class="row tight batch" data-quiet>
            <span class="small faint">"Marked drafts:"</span>
            {(state == ChangeState::Pending).then(|| view! {
                <button class="button quiet small" name="decision" value="approve">"Accept"</button>
            })}
            <button class="button quiet small" name="decision" value="reject">"Reject"</button>
            <label class="row tight small">
                <span class="sr">"Why they are rejected"</span>
                <input name="reason" autocomplete="off" placeholder="Why (for a rejection)"/>
            </label>
        </form>
    }
}
