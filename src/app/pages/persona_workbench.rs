//! The workbench of a persona, beside its editor: `?workbench=enhance` and `?workbench=publish`.

use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::hooks::{use_params_map, use_query_map};

use crate::{
    app::{
        components::{
            draft_card::DraftCard,
            icon::{Glyph, Icon},
            when::When,
            workbench::{Tab, Workbench},
            written::written,
        },
        server_fns::workbench::{
            EnhanceData, EnhancePersona, PublishData, PublishPersona, PublishVersion,
            UnpublishPersona, open_enhance, open_publish,
        },
    },
    domain::{
        enhancement::{Enhancement, WISH},
        error::ApiError,
        id::PersonaId,
        publication::{Example, MAX_EXAMPLES, Publication, Published, SLUG_CHARS},
    },
};

const ENHANCE: &str = "enhance";
const PUBLISH: &str = "publish";
/// How much of a test input stands beside its box.
const SHOWN_CHARS: usize = 120;

/// The sidebar.
#[component]
pub fn PersonaWorkbench() -> impl IntoView {
    let id = PersonaId::new(use_params_map().read_untracked().get("id").unwrap_or_default());
    let wanted = use_query_map().read_untracked().get("workbench").unwrap_or_default();
    let publishes = wanted == PUBLISH;
    let home = format!("/personas/{id}");
    let current = if publishes { PUBLISH } else { ENHANCE };
    let tabs = Tab::row([(ENHANCE, "Enhance"), (PUBLISH, "Publish")], current, |word| {
        format!("{home}?workbench={word}")
    });
    view! {
        <Suspense>
            {Suspend::new(async move {
                let (title, content) = if publishes {
                    told(open_publish(id.clone()).await, |data| (data.name.clone(), publish(id, data)))
                } else {
                    told(open_enhance(id.clone()).await, |data| (data.name.clone(), enhance(id, data)))
                };
                view! { <Workbench title home tabs>{content}</Workbench> }
            })}
        </Suspense>
    }
}

/// What a tab shows, or why it cannot.
fn told<T>(
    data: Result<T, ApiError>,
    show: impl FnOnce(T) -> (String, AnyView),
) -> (String, AnyView) {
    match data {
        Ok(data) => show(data),
        Err(error) => {
            let problem = view! { <p class="problem" role="alert">{error.to_string()}</p> };
            ("Workbench".into(), problem.into_any())
        }
    }
}

/// Asks for improvements, and shows what came of it.
fn enhance(id: PersonaId, data: EnhanceData) -> AnyView {
    let EnhanceData { name, at_work, drafts } = data;
    let (inbox, talk) =
        (format!("/inbox?persona={id}"), format!("/rail?at=/personas/{id}&whole=1"));
    view! {
        <form id="enhance" method="post" action=EnhancePersona::url() class="stack" data-quiet data-talk>
            <input type="hidden" name="id" value=id.to_string()/>
            <p class="small faint">"Ask your companion here, " {name} "’s agent, for improvements. They come as drafts, whatever it may do by itself: nothing changes until you accept it."</p>
            <fieldset class="field">
                <legend>"What should become better?"</legend>
                <div class="picks">
                    {Enhancement::ALL.map(|one| view! {
                        <label>
                            <input type="radio" name="what" value=one.word() checked=one == Enhancement::default()/>
                            <span>{one.label()} <small class="faint">{one.hint()}</small></span>
                        </label>
                    })}
                </div>
            </fieldset>
            <div class="field">
                <label for="wish">"Your wish, or what to mind"</label>
                <textarea id="wish" name="words" rows="3" maxlength=WISH.max_chars inner_html=written("")></textarea>
            </div>
            <p><button class="button" disabled=at_work>"Ask for drafts"</button></p>
        </form>
        {at_work.then(|| view! {
            <p class="told small" role="status">"Its agent is at work. " <a href=talk rel="external">"Read along"</a></p>
        })}
        <section class="stack" aria-label="Drafts">
            <h3>"Drafts"</h3>
            {if drafts.is_empty() {
                view! { <p class="small faint">"None waits for you."</p> }.into_any()
            } else {
                view! {
                    {drafts.into_iter().map(|draft| view! { <DraftCard draft place="workbench"/> }).collect_view()}
                    <p class="small"><a href=inbox>"See them in the Inbox"</a></p>
                }.into_any()
            }}
        </section>
    }
    .into_any()
}

/// Says what is public, and changes it.
fn publish(id: PersonaId, data: PublishData) -> AnyView {
    let PublishData { revision, published, link, examples, .. } = data;
    let at = published.as_ref().map(|published| published.publication.revision);
    let page = published.as_ref().map(|published| published.publication.clone());
    let behind = at.filter(|at| *at != revision);
    let loses = page.as_ref().is_some_and(|page| !page.examples.is_empty());
    view! {
        {match published {
            Some(published) => view! { <Public published link revision/> }.into_any(),
            None => view! {
                <p class="small faint">
                    "Not public. A public page shows the name and the appearance of one version to anyone who has its address; nothing else, unless you say so."
                </p>
            }.into_any(),
        }}
        {behind.map(|_| view! {
            <form id="publish-version" method="post" action=PublishVersion::url() class="stack" data-quiet data-told="Published.">
                <input type="hidden" name="id" value=id.to_string()/>
                <input type="hidden" name="revision" value=revision.to_string()/>
                <p><button class="button">{format!("Publish v{revision}")}</button></p>
                {loses.then(|| view! { <p class="small faint">{format!("Examples that v{revision} has not answered are left out.")}</p> })}
            </form>
        })}
        <Choices id=id.clone() revision=at.unwrap_or(revision) page=page.clone() examples/>
        {page.is_some().then(|| view! {
            <form id="unpublish" method="post" action=UnpublishPersona::url() data-quiet data-told="No longer public.">
                <input type="hidden" name="id" value=id.to_string()/>
                <button class="button quiet">"Unpublish"</button>
            </form>
        })}
    }
    .into_any()
}

/// What is public now.
#[component]
fn Public(published: Published, link: String, revision: i64) -> impl IntoView {
    let Published { publication, published_by, published_at } = published;
    let at = publication.revision;
    let state = if at == revision {
        format!("v{at} is public.")
    } else {
        format!("v{at} is public; the persona is at v{revision}.")
    };
    let by = published_by.map(|user| format!(" by {user}"));
    view! {
        <div class="told small stack">
            <p><strong>{state}</strong> " Published" {by} " " <When at=published_at/> "."</p>
            <p class="row apart public-link">
                <a id="public-link" href=publication.path() target="_blank" rel="external noopener">{link}</a>
                <button type="button" class="icon needs-script" data-copy="public-link" aria-label="Copy the link" title="Copy the link">
                    <Glyph icon=Icon::Copy/>
                </button>
            </p>
        </div>
    }
}

/// What the page shows, and where.
#[component]
fn Choices(
    id: PersonaId,
    revision: i64,
    page: Option<Publication>,
    examples: Vec<Example>,
) -> impl IntoView {
    let label = if page.is_some() { "Save".to_owned() } else { format!("Publish v{revision}") };
    let told = if page.is_some() { "Saved." } else { "Published." };
    let kept = page.as_ref().map(|page| page.slug.clone());
    let (prompt, indexed) =
        page.as_ref().map_or((false, false), |page| (page.shows_prompt, page.indexed));
    let shown: Vec<_> = page.into_iter().flat_map(|page| page.examples).collect();
    let is_shown =
        |one: &Example| shown.iter().any(|other| other.test_input_id == one.test_input_id);
    let choices = examples
        .into_iter()
        .map(|example| {
            let chosen = is_shown(&example);
            view! { <ExampleChoice example chosen/> }
        })
        .collect::<Vec<_>>();
    let made = if kept.is_some() {
        "A new one that nobody can guess"
    } else {
        "One that nobody can guess"
    };
    let is_new = kept.is_none();
    view! {
        <form id="publish-choices" method="post" action=PublishPersona::url() class="stack" data-quiet data-told=told>
            <input type="hidden" name="id" value=id.to_string()/>
            <input type="hidden" name="revision" value=revision.to_string()/>
            <fieldset class="field">
                <legend>"Address"</legend>
                <div class="picks">
                    {kept.map(|slug| view! {
                        <label><input type="radio" name="address" value="kept" checked/> <span class="break">"As it is: /p/" {slug}</span></label>
                    })}
                    <label><input type="radio" name="address" value="made" checked=is_new/> <span>{made}</span></label>
                    <label><input type="radio" name="address" value="own"/> <span>"Your own:"</span></label>
                </div>
                <div class="row tight slug">
                    <span class="faint">"/p/"</span>
                    <input name="slug" aria-label="Your own address" autocomplete="off" autocapitalize="none" spellcheck="false"
                        minlength=*SLUG_CHARS.start() maxlength=*SLUG_CHARS.end() pattern="[a-z0-9\\-]+" placeholder="small-letters-and-digits"/>
                </div>
            </fieldset>
            <fieldset class="field">
                <legend>"Also shown"</legend>
                <div class="picks">
                    <label><input type="checkbox" name="shows_prompt" value="true" checked=prompt/> <span>"The system prompt"</span></label>
                    {choices}
                </div>
                <small class="faint">
                    {format!("Up to {MAX_EXAMPLES} test inputs that v{revision} has answered can stand there as examples, as they are now.")}
                </small>
            </fieldset>
            <label class="row tight"><input type="checkbox" name="indexed" value="true" checked=indexed/> "Search engines may list it"</label>
            <p><button class="button">{label}</button></p>
        </form>
    }
}

/// A test input that the page can show, with its answer.
#[component]
fn ExampleChoice(example: Example, chosen: bool) -> impl IntoView {
    let cut: String = example.input.chars().take(SHOWN_CHARS).collect();
    let more = if cut.len() < example.input.len() { "…" } else { "" };
    let said = format!("“{cut}{more}”");
    view! {
        <div class="pick-example">
            <label>
                <input type="checkbox" name="examples[]" value=example.test_input_id.to_string() checked=chosen/>
                <span class="break">{said}</span>
            </label>
            <details class="small"><summary>"Its answer"</summary><p class="break lines">{example.answer}</p></details>
        </div>
    }
}
