//! The gallery: a persona's pictures or all of them, and the form that has one made.
//!
//! What is shown is in the address: `?persona=`, `?picture=`, `?advanced`, `?deleted`, `?who=`.

use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::{hooks::use_query_map, location::Url};

use crate::{
    app::{
        components::{
            chat_settings::Drawer,
            find_persona::FindPersona,
            icon::{Glyph, Icon},
            page_title::PageTitle,
            picture::{PictureTools, PictureView, told_facts},
            problem::PageProblem,
            when::When,
            written::written,
        },
        server_fns::pictures::{
            DeletePicture, GalleryData, ImaginePicture, MakeFace, open_gallery,
        },
    },
    domain::{
        id::{PersonaId, PictureId},
        picture::{MAX_STEPS, PICTURES_OFF, PROMPT, Picture, PictureState, Shape},
        visible::{show_in, visible_in_prose},
    },
};

/// Which part of the gallery is shown.
#[derive(Clone)]
struct Looked {
    persona: Option<PersonaId>,
    advanced: bool,
    deleted: bool,
    after: Option<String>,
}

impl Looked {
    /// Its address.
    fn path(&self) -> String {
        self.with(None)
    }

    /// The same with a picture open.
    fn open(&self, picture: &PictureId) -> String {
        self.with(Some(picture))
    }

    fn with(&self, picture: Option<&PictureId>) -> String {
        let parts = [
            picture.map(|picture| format!("picture={picture}")),
            self.persona.as_ref().map(|persona| format!("persona={persona}")),
            self.advanced.then(|| "advanced=1".to_owned()),
            self.after.as_ref().map(|after| format!("after={}", Url::escape(after))),
            self.deleted.then(|| "deleted=1".to_owned()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "/gallery".into() } else { format!("/gallery?{}", parts.join("&")) }
    }
}

/// The page.
#[component]
pub fn GalleryPage() -> impl IntoView {
    let query = use_query_map().read_untracked().clone();
    let given = |name: &str| query.get(name).filter(|value| !value.is_empty());
    let persona = given("persona").map(PersonaId::new);
    let (picture, after) = (given("picture").map(PictureId::new), given("after"));
    let (advanced, deleted) = (given("advanced").is_some(), given("deleted").is_some());
    let view = Looked { persona: persona.clone(), advanced, deleted, after: after.clone() };
    let who = given("who").unwrap_or_default();
    let kept = ["persona", "picture", "advanced", "deleted"].into_iter();
    let kept = kept.filter_map(|name| Some((name, given(name)?))).collect();
    view! {
        <PageTitle text="Gallery"/>
        <header class="page-head"><h1>"Gallery"</h1></header>
        <Suspense>
            {Suspend::new(async move {
                match open_gallery(persona, picture, deleted, after, who.clone()).await {
                    Ok(data) => {
                        let (listed, more) = (data.listed, data.more);
                        let action = "/gallery".to_owned();
                        view! {
                            <FindPersona action kept who listed more/>
                            {shown(data, view)}
                        }
                        .into_any()
                    }
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

fn shown(data: GalleryData, view: Looked) -> impl IntoView {
    let GalleryData { page, open, mut personas, appearance, .. } = data;
    let GalleryData { models, tunable, demo, can_make, .. } = data;
    let next = page.next.clone();
    let next = next.map(|after| Looked { after: Some(after), ..view.clone() }.path());
    let name = view.persona.as_ref().and_then(|id| personas.iter().find(|(known, _)| known == id));
    let name = name.map(|(_, name)| name.clone());
    let described = match (&name, appearance.trim()) {
        (Some(name), "") => name.clone(),
        (Some(name), looks) => format!("{name}: {looks}"),
        (None, _) => String::new(),
    };
    // That goes into a field; what they are called here is only read.
    let name = name.map(visible_in_prose);
    show_in(personas.iter_mut().map(|(_, name)| name));
    let empty = page.items.is_empty();
    let drawer = open.map(|picture| {
        view! { <Open picture personas=personas.clone() view=view.clone() can_make/> }
    });
    let wishes = if can_make {
        let (personas, view) = (personas.clone(), view.clone());
        view! { <Wishes personas described models tunable demo view/> }.into_any()
    } else {
        view! { <p class="told small">{PICTURES_OFF}</p> }.into_any()
    };
    view! {
        <div class="gallery">
            {wishes}
            <section class="stack" aria-label="Pictures">
                <Filter personas view=view.clone()/>
                {empty.then(|| nothing(view.deleted, name, can_make))}
                <ul class="pictures wide">
                    {page.items.into_iter().map(|picture| {
                        let href = view.open(&picture.id);
                        view! { <Tile picture href can_make/> }
                    }).collect_view()}
                </ul>
                {next.map(|next| view! { <p class="more"><a href=next class="button quiet">"Next page"</a></p> })}
            </section>
        </div>
        {drawer}
    }
}

fn nothing(deleted: bool, name: Option<String>, can_make: bool) -> impl IntoView {
    let (head, told) = match (deleted, name) {
        (false, _) if !can_make => ("No pictures", PICTURES_OFF.to_owned()),
        (true, _) => ("Nothing was deleted", "A deleted picture waits here for a month.".to_owned()),
        (false, Some(name)) => (
            "No pictures yet",
            format!("Say what a picture of {name} shows, or talk to {name} in a chat: answers get pictures by themselves."),
        ),
        (false, None) => (
            "No pictures yet",
            "Say what a picture shows, or talk to a persona in a chat: answers get pictures by themselves.".to_owned(),
        ),
    };
    view! { <section class="empty"><h2>{head}</h2><p>{told}</p></section> }
}

/// Whose pictures are shown.
#[component]
fn Filter(personas: Vec<(PersonaId, String)>, view: Looked) -> impl IntoView {
    let other = Looked { deleted: !view.deleted, after: None, ..view.clone() }.path();
    let Looked { persona, advanced, deleted, .. } = view;
    view! {
        <form method="get" action="/gallery" class="row tight small">
            {advanced.then(|| view! { <input type="hidden" name="advanced" value="1"/> })}
            {deleted.then(|| view! { <input type="hidden" name="deleted" value="1"/> })}
            <label for="gallery-persona">"Pictures of"</label>
            <select id="gallery-persona" name="persona">
                <option value="">"everyone"</option>
                {personas.into_iter().map(|(id, name)| {
                    let chosen = persona.as_ref() == Some(&id);
                    view! { <option value=id.to_string() selected=chosen>{name}</option> }
                }).collect_view()}
            </select>
            <button class="button quiet small">"Show"</button>
            {if deleted {
                view! { <a class="button quiet small" href=other>"Back to the pictures"</a> }.into_any()
            } else {
                view! { <a class="button quiet small" href=other><Glyph icon=Icon::Bin/> "Deleted"</a> }.into_any()
            }}
        </form>
    }
}

/// One picture among others.
#[component]
fn Tile(picture: Picture, href: String, can_make: bool) -> impl IntoView {
    let deleted = picture.deleted_at.is_some();
    let (id, at) = (picture.id.to_string(), picture.created_at);
    let prompt = visible_in_prose(picture.wish.prompt.clone());
    let tools = match deleted {
        true => view! {
            <form method="post" action=DeletePicture::url() data-quiet data-told="It is back.">
                <input type="hidden" name="id" value=id.clone()/>
                <input type="hidden" name="back" value="true"/>
                <button class="button quiet small"><Glyph icon=Icon::Undo/> "Bring back"</button>
            </form>
        }
        .into_any(),
        false => view! { <PictureTools picture=picture.clone() can_make/> }.into_any(),
    };
    view! {
        <li class="picture" id=format!("picture-{id}")>
            <PictureView picture href can_make/>
            <p class="one-line small" title=prompt.clone()>{prompt.clone()}</p>
            <p class="faint small"><When at/></p>
            {tools}
        </li>
    }
}

/// The form that has a picture made: simple, or with everything that can be set.
#[component]
fn Wishes(
    personas: Vec<(PersonaId, String)>,
    described: String,
    models: Vec<(String, String)>,
    tunable: bool,
    demo: bool,
    view: Looked,
) -> impl IntoView {
    let advanced = view.advanced;
    let tab = |wanted: bool| (advanced == wanted).then_some("page");
    let with = |advanced: bool| Looked { advanced, ..view.clone() }.path();
    let of = view.persona.clone();
    view! {
        <aside class="card stack wishes" aria-label="Have a picture made">
            <nav class="segments" aria-label="How much is set">
                <a href=with(false) aria-current=tab(false)>"Imagine"</a>
                <a href=with(true) aria-current=tab(true)>"Advanced"</a>
            </nav>
            <form method="post" action=ImaginePicture::url() class="stack" data-quiet data-told="The picture is queued.">
                <div class="field">
                    <label for="wish-prompt">"What the picture shows"</label>
                    <textarea id="wish-prompt" name="prompt" rows="5" required maxlength=PROMPT.max_chars inner_html=written(&described)></textarea>
                </div>
                <div class="field">
                    <label for="wish-persona">"Whom it shows"</label>
                    <select id="wish-persona" name="persona">
                        <option value="">"Nobody in particular"</option>
                        {personas.into_iter().map(|(id, name)| {
                            let chosen = of.as_ref() == Some(&id);
                            view! { <option value=id.to_string() selected=chosen>{name}</option> }
                        }).collect_view()}
                    </select>
                </div>
                {advanced.then(|| view! { <Advanced models tunable/> })}
                <p><button class="button"><Glyph icon=Icon::Picture/> "Make the picture"</button></p>
            </form>
            {demo.then(|| view! {
                <p class="faint small">"No image service is set, so a demo draws a small landscape here. "<a href="/settings#pictures">"Settings"</a></p>
            })}
        </aside>
    }
}

#[component]
fn Advanced(models: Vec<(String, String)>, tunable: bool) -> impl IntoView {
    view! {
        <fieldset class="field">
            <legend>"Size"</legend>
            <div class="choices">
                {Shape::ALL.map(|shape| view! {
                    <label><input type="radio" name="wish[size]" value=shape.word() checked=shape == Shape::default()/> {shape.label()}</label>
                })}
            </div>
        </fieldset>
        {tunable.then(|| view! {
            <div class="pair narrow">
                <div class="field">
                    <label for="wish-steps">"Steps"</label>
                    <input id="wish-steps" type="number" name="wish[steps]" min="1" max=MAX_STEPS placeholder="As the model likes"/>
                </div>
                <div class="field">
                    <label for="wish-seed">"Seed"</label>
                    <input id="wish-seed" type="number" name="wish[seed]" min="0" max=u32::MAX placeholder="By chance"/>
                </div>
            </div>
            <p class="faint small">"A model that cannot be told these is not told them."</p>
        })}
        <div class="field">
            <label for="wish-model">"Model"</label>
            <select id="wish-model" name="wish[model]">
                {models.into_iter().enumerate().map(|(at, (model, label))| {
                    // The first one is used by itself, also when another is set later.
                    let value = if at == 0 { String::new() } else { model };
                    view! { <option value=value>{label}</option> }
                }).collect_view()}
            </select>
        </div>
    }
}

/// The picture that is looked at, with all that is known of it.
#[component]
fn Open(
    picture: Picture,
    personas: Vec<(PersonaId, String)>,
    view: Looked,
    can_make: bool,
) -> impl IntoView {
    let (home, href) = (view.path(), view.open(&picture.id));
    let there = picture.state == PictureState::Done && picture.deleted_at.is_none();
    let facts = picture.facts.as_ref().map(|facts| told_facts(facts, picture.cost_micros));
    let chat = picture.chat_id.clone().zip(picture.message_id.clone());
    let chat = chat.map(|(chat, message)| format!("/chats/{chat}?see={message}#turn-{message}"));
    let (id, of) = (picture.id.to_string(), picture.persona_id.clone());
    view! {
        <Drawer title="Picture" home>
            <div class="picture whole"><PictureView picture=picture.clone() href can_make/></div>
            <p class="picture-words">{visible_in_prose(picture.wish.prompt.clone())}</p>
            <p class="faint small">{facts} " · " <When at=picture.created_at/></p>
            {chat.map(|chat| view! { <p class="small"><a href=chat>"The moment in its chat"</a></p> })}
            {there.then(|| view! {
                <form method="post" action=MakeFace::url() class="row tight" data-quiet data-told="It is the face now.">
                    <input type="hidden" name="id" value=id.clone()/>
                    <label class="small" for="face-persona">"The face of"</label>
                    <select id="face-persona" name="persona" required>
                        {personas.into_iter().map(|(id, name)| {
                            let chosen = of.as_ref() == Some(&id);
                            view! { <option value=id.to_string() selected=chosen>{name}</option> }
                        }).collect_view()}
                    </select>
                    <button class="button small">"Use as face"</button>
                </form>
            })}
            <PictureTools picture can_make place="-open"/>
        </Drawer>
    }
}
