//! The persona editor.

use leptos::{ev::Event, prelude::*, server_fn::ServerFn, task::spawn_local};
use leptos_router::{
    components::A,
    hooks::{use_params_map, use_query_map},
};

use super::{ServedPage, personas::NEW_NAME};
use crate::{
    app::{
        components::{
            avatar::Avatar,
            draft_box::{Autosave, DraftTrouble, SaveState},
            icon::{Glyph, Icon},
            live::use_live,
            notice::use_notices,
            page_title::PageTitle,
            problem::PageProblem,
            test_inputs::TestInputs,
            versions::VersionsDrawer,
            written::written,
        },
        platform,
        server_fns::personas::{
            DeletePersona, DuplicatePersona, EditorData, PersonaForm, SavePersona, open_persona,
            preview_markdown, save_persona,
        },
        state::draft::{Draft, Texts},
    },
    domain::{
        change::EntityKind,
        field::grouped,
        id::PersonaId,
        news::Topic,
        persona::{
            APPEARANCE, EditedPersona, MODEL, NAME, NOTES, PersonaFields, SYSTEM_PROMPT, TOOL, Tier,
        },
        tokens,
    },
};

const TIER: &str = "tier";

/// The page of one persona.
#[component]
pub fn PersonaPage() -> impl IntoView {
    let params = use_params_map();
    let id = Memo::new(move |_| PersonaId::new(params.read().get("id").unwrap_or_default()));
    let data = Resource::new(move || id.get(), open_persona);
    view! {
        <Transition fallback=EditorSkeleton>
            {move || Suspend::new(async move {
                match data.await {
                    Ok(data) => view! { <Editor data/> }.into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Transition>
    }
}

/// The fields of a persona as the form has them.
fn texts(fields: &PersonaFields) -> Texts {
    Texts::from([
        (NAME.name, fields.name.clone()),
        (SYSTEM_PROMPT.name, fields.system_prompt.clone()),
        (APPEARANCE.name, fields.appearance.clone()),
        (NOTES.name, fields.notes.clone()),
        (MODEL.name, fields.model.clone()),
        (TOOL.name, fields.tools.join(", ")),
        (TIER, fields.tier.word().into()),
    ])
}

/// The editor of one persona.
#[component]
fn Editor(data: EditorData) -> impl IntoView {
    let EditorData { persona, test_inputs, answers, models, default_model } = data;
    let persona_id = persona.id.clone();
    let id = StoredValue::new(persona.id.clone());
    let autosave = Autosave::new(
        Draft::new(persona.revision, texts(&persona.fields)),
        format!("draft:persona:{}", persona.id),
        move |revision, mut changed| {
            let id = persona_id.clone();
            async move {
                let tools = changed.get(TOOL.name).cloned();
                let form = PersonaForm {
                    name: changed.remove(NAME.name),
                    system_prompt: changed.remove(SYSTEM_PROMPT.name),
                    appearance: changed.remove(APPEARANCE.name),
                    notes: changed.remove(NOTES.name),
                    model: changed.remove(MODEL.name),
                    tools: changed.remove(TOOL.name),
                    tier: changed.remove(TIER),
                };
                let kept = save_persona(id, revision, form).await?;
                let mut theirs = texts(&kept.fields);
                // The same tools, however they are parted: the person's commas stay.
                theirs.extend(
                    tools
                        .filter(|tools| PersonaFields::parse_tools(tools) == kept.fields.tools)
                        .map(|tools| (TOOL.name, tools)),
                );
                Ok((kept.revision, theirs))
            }
        },
    );
    let draft = autosave.draft;
    let text = move |field: &'static str| Memo::new(move |_| draft.read().text(field));
    let name = text(NAME.name);
    // A page that is left while it is made takes its draft along.
    let first = persona.revision;
    let revision = Memo::new(move |_| draft.try_read().map_or(first, |draft| draft.revision));
    let query = use_query_map();
    let shows_versions = Memo::new(move |_| query.read().get("versions").is_some());
    let is_new = persona.revision == 1 && persona.fields.name == NEW_NAME;
    Effect::new(move |_| {
        if is_new {
            platform::focus("name");
        }
    });
    autosave.adopt(NAME.name, "name");
    let board = use_notices();
    let refresh = Callback::new(move |()| {
        spawn_local(async move {
            if let Ok(now) = open_persona(id.get_value()).await {
                let EditedPersona { revision, fields, .. } = now.persona;
                autosave.meet(revision, texts(&fields), Some("?versions=1"));
            }
        });
    });
    Effect::new(move |seen: Option<u32>| {
        let now = board.undone.get();
        if seen.is_some_and(|seen| seen != now) {
            refresh.run(());
        }
        now
    });
    // What is changed elsewhere, by an agent or in another tab, appears at once.
    let newest = RwSignal::new(first);
    use_live().on(move |news| {
        let ours = news.topic == Topic::Change && news.entity_id == id.get_value().as_str();
        if ours && news.entity_type == EntityKind::Persona.word() {
            newest.update(|newest| *newest = news.revision.unwrap_or_default().max(*newest));
        }
        if news.topic == Topic::Missed {
            refresh.run(());
        }
    });
    Effect::new(move |_| {
        if draft.read().is_behind(newest.get()) {
            refresh.run(());
        }
    });
    let has_workbench = Memo::new(move |_| query.read().get("workbench").is_some());
    let versions_path = format!("/personas/{}?versions=1", persona.id);
    let roleplay_path = format!("/personas/{}/roleplay", persona.id);
    let workbench_path = format!("/personas/{}?workbench=enhance", persona.id);
    view! {
        <PageTitle text=name/>
        <form
            id="editor"
            method="post"
            action=SavePersona::url()
            on:submit=move |event| { event.prevent_default(); autosave.save.run(()); }
        >
            <input type="hidden" name="id" value=persona.id.to_string()/>
            <input type="hidden" name="revision" value=move || revision.get()/>
        </form>
        <h1 class="sr">{name}</h1>
        <header class="editor-head">
            <Avatar name face=persona.fields.face.clone()/>
            <div class="name-field">
                <label class="sr" for="name">"Name"</label>
                <input
                    id="name"
                    class="title-input"
                    name="form[name]"
                    form="editor"
                    required
                    autocomplete="off"
                    value=persona.fields.name.clone()
                    prop:value=name
                    on:input=move |event| draft.update(|draft| draft.type_in(NAME.name, event_target_value(&event)))
                />
            </div>
            <div class="row tight editor-actions">
                <span class="faint small">"v" {revision}</span>
                <SaveState autosave always=true/>
                <noscript><button class="button" form="editor">"Save"</button></noscript>
                <A href=versions_path attr:class="button quiet">
                    <Glyph icon=Icon::History/>
                    "Versions"
                </A>
                <a href=workbench_path class="button quiet" data-noscroll>"Workbench"</a>
                <PersonaActions id=persona.id.clone()/>
            </div>
        </header>
        <DraftTrouble autosave/>
        <div class="editor">
            <div class="stack">
                <PromptField autosave initial=persona.fields.system_prompt.clone() id=persona.id.clone()/>
                <details class="card details" open>
                    <summary>"Appearance, notes and model"</summary>
                    <div class="stack">
                        <TextBox autosave field=APPEARANCE.name argument="form[appearance]" label="Appearance"
                            hint="How it looks: used in chats and for pictures." initial=persona.fields.appearance.clone()/>
                        <p class="small"><a href=roleplay_path>"What roleplay knows of it"</a></p>
                        <TextBox autosave field=NOTES.name argument="form[notes]" label="Notes"
                            hint="For you. Never sent to a model." initial=persona.fields.notes.clone()/>
                        <div class="pair">
                            <LineBox autosave field=MODEL.name argument="form[model]" label="Model" list="models"
                                hint=format!("Empty means the default: {default_model}.") initial=persona.fields.model.clone()/>
                            <LineBox autosave field=TOOL.name argument="form[tools]" label="Tools"
                                hint="Names, parted by commas.".into() initial=persona.fields.tools.join(", ")/>
                        </div>
                        <datalist id="models">
                            {models.into_iter().map(|model| view! { <option value=model></option> }).collect_view()}
                        </datalist>
                        <TierField autosave initial=persona.fields.tier/>
                    </div>
                </details>
            </div>
            <TestInputs persona=persona.id.clone() initial=test_inputs answers form=autosave revision/>
        </div>
        {move || shows_versions.get().then(|| view! {
            <VersionsDrawer persona=id.get_value() revision/>
        })}
        {move || has_workbench.get().then(|| platform::served(ServedPage::Workbench))}
    }
}

/// Copy and delete.
#[component]
fn PersonaActions(id: PersonaId) -> impl IntoView {
    let id = StoredValue::new(id.to_string());
    let chats = format!("/chats?persona={}", id.get_value());
    let playground = format!("/playground/{}", id.get_value());
    view! {
        <a class="icon" href=chats aria-label="Chat with this persona" title="Chat"><Glyph icon=Icon::Talk/></a>
        <a class="icon" href=playground aria-label="Playground" title="Playground"><Glyph icon=Icon::Run/></a>
        <form method="post" action=DuplicatePersona::url() data-quiet>
            <input type="hidden" name="id" value=id.get_value()/>
            <button class="icon" aria-label="Duplicate this persona" title="Duplicate">
                <Glyph icon=Icon::Copy/>
            </button>
        </form>
        <form method="post" action=DeletePersona::url() data-quiet data-told="Persona moved to the bin.">
            <input type="hidden" name="id" value=id.get_value()/>
            <button class="icon" aria-label="Delete this persona" title="Move to the bin">
                <Glyph icon=Icon::Bin/>
            </button>
        </form>
    }
}

/// The system prompt, to write or to read.
#[component]
fn PromptField(autosave: Autosave, initial: String, id: PersonaId) -> impl IntoView {
    let draft = autosave.draft;
    let text = Memo::new(move |_| {
        draft.try_read().map(|draft| draft.text(SYSTEM_PROMPT.name)).unwrap_or_default()
    });
    autosave.adopt(SYSTEM_PROMPT.name, "system-prompt");
    let query = use_query_map();
    let previewing = Memo::new(move |_| query.read().get("preview").is_some());
    let preview = Resource::new(
        move || previewing.get().then(|| text.get()),
        |text| async move {
            match text {
                Some(text) => Some(preview_markdown(text).await),
                None => None,
            }
        },
    );
    let home = format!("/personas/{id}");
    let preview_path = format!("{home}?preview=1");
    let current = move |here: bool| (previewing.get() == here).then_some("page");
    view! {
        <section class="card prompt">
            <header class="row apart">
                <label for="system-prompt"><h2>"System prompt"</h2></label>
                <nav class="segments" aria-label="System prompt">
                    <a href=home aria-current=move || current(false) data-noscroll>"Write"</a>
                    <a href=preview_path aria-current=move || current(true) data-noscroll>"Preview"</a>
                </nav>
            </header>
            <textarea
                id="system-prompt"
                class="grow"
                class:hidden=previewing
                name="form[system_prompt]"
                form="editor"
                rows=move || text.read().lines().count().clamp(12, 40)
                spellcheck="true"
                placeholder="Who is it? How does it speak? What does it do when it is unsure?"
                prop:value=text
                on:input=move |event| draft.update(|draft| draft.type_in(SYSTEM_PROMPT.name, event_target_value(&event)))
                inner_html=written(&initial)
            ></textarea>
            <Transition fallback=|| view! { <div class="skeleton block"></div> }>
                {move || Suspend::new(async move {
                    preview.await.map(|html| match html {
                        Ok(html) if html.is_empty() => view! { <p class="faint">"Nothing to show yet."</p> }.into_any(),
                        Ok(html) => view! { <div class="prose" inner_html=html></div> }.into_any(),
                        Err(error) => view! { <p class="problem">{error.to_string()}</p> }.into_any(),
                    })
                })}
            </Transition>
            <p class="faint small counts">
                {move || {
                    let text = text.read();
                    format!(
                        "Characters: {} · tokens: about {}",
                        grouped(text.chars().count()),
                        grouped(tokens::estimate(&text)),
                    )
                }}
            </p>
        </section>
    }
}

/// A field with its label above and a hint below.
#[component]
fn Labelled(
    field: &'static str,
    label: &'static str,
    #[prop(into)] hint: String,
    children: Children,
) -> impl IntoView {
    view! {
        <div class="field">
            <label for=field>{label}</label>
            {children()}
            <small class="faint">{hint}</small>
        </div>
    }
}

/// What is typed into a field, and what typing does.
fn bound(
    autosave: Autosave,
    field: &'static str,
) -> (Memo<String>, impl Fn(Event) + Copy + 'static) {
    let draft = autosave.draft;
    autosave.adopt(field, field);
    let text = Memo::new(move |_| draft.read().text(field));
    (text, move |event| draft.update(|draft| draft.type_in(field, event_target_value(&event))))
}

/// A labelled field of several lines.
#[component]
fn TextBox(
    autosave: Autosave,
    field: &'static str,
    argument: &'static str,
    label: &'static str,
    hint: &'static str,
    initial: String,
) -> impl IntoView {
    let (text, type_in) = bound(autosave, field);
    view! {
        <Labelled field label hint>
            <textarea
                id=field
                class="grow"
                name=argument
                form="editor"
                rows=move || text.read().lines().count().clamp(2, 12)
                prop:value=text
                on:input=type_in
                inner_html=written(&initial)
            ></textarea>
        </Labelled>
    }
}

/// A labelled field of one line.
#[component]
fn LineBox(
    autosave: Autosave,
    field: &'static str,
    argument: &'static str,
    label: &'static str,
    hint: String,
    initial: String,
    /// The list of what can be chosen.
    #[prop(optional)]
    list: &'static str,
) -> impl IntoView {
    let (text, type_in) = bound(autosave, field);
    view! {
        <Labelled field label hint>
            <input
                id=field
                name=argument
                form="editor"
                autocomplete="off"
                list=(!list.is_empty()).then_some(list)
                value=initial
                prop:value=text
                on:input=type_in
            />
        </Labelled>
    }
}

/// How far the persona's agent may go.
#[component]
fn TierField(autosave: Autosave, initial: Tier) -> impl IntoView {
    let draft = autosave.draft;
    let chosen = Memo::new(move |_| Tier::from_word(&draft.read().text(TIER)).unwrap_or_default());
    view! {
        <fieldset class="field tiers">
            <legend>"Its agent"</legend>
            {Tier::ALL.map(|tier| view! {
                <label>
                    <input
                        type="radio"
                        name="form[tier]"
                        form="editor"
                        value=tier.word()
                        checked=tier == initial
                        prop:checked=move || chosen.get() == tier
                        on:change=move |_| draft.update(|draft| draft.type_in(TIER, tier.word().into()))
                    />
                    <span>
                        <strong>{tier.word()}</strong>
                        <small class="faint">{tier.sentence()}</small>
                    </span>
                </label>
            })}
        </fieldset>
    }
}

/// What stands there while the editor loads.
#[component]
fn EditorSkeleton() -> impl IntoView {
    view! {
        <div class="editor" aria-hidden="true">
            <div class="stack">
                <div class="skeleton line"></div>
                <div class="skeleton block tall"></div>
            </div>
            <div class="skeleton block tall"></div>
        </div>
    }
}
