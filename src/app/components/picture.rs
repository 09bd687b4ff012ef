//! A picture, or what became of the wish for one, and what can be done with it. The server renders it.

use leptos::{prelude::*, server_fn::ServerFn};

use super::{
    icon::{Glyph, Icon},
    written::written,
};
use crate::{
    app::server_fns::pictures::{DeletePicture, ImaginePicture, MakeFace, RetryPicture},
    domain::{
        id::MessageId,
        picture::{PROMPT, Picture, PictureFacts, PictureState},
        visible::visible_in_prose,
    },
};

/// The pictures of a message, and the wish for another.
#[component]
pub fn MessagePictures(
    /// The message.
    message: MessageId,
    /// Its pictures, in the order they were asked for.
    pictures: Vec<Picture>,
    /// Whether pictures are made here at all.
    can_make: bool,
) -> impl IntoView {
    let wish = if pictures.is_empty() { "Make a picture" } else { "Another picture" };
    let shown = (!pictures.is_empty()).then(|| {
        view! {
            <ul class="pictures" id=format!("pictures-{message}")>
                {pictures.into_iter().map(|picture| {
                    let element = format!("picture-{}", picture.id);
                    view! {
                        <li class="picture" id=element>
                            <PictureView picture=picture.clone() href=format!("/gallery?picture={}", picture.id) can_make/>
                            <PictureTools picture can_make/>
                        </li>
                    }
                }).collect_view()}
            </ul>
        }
    });
    view! {
        {shown}
        {can_make.then(|| view! {
            <div class="row tight small chat-tools">
                <form method="post" action=ImaginePicture::url() data-quiet>
                    <input type="hidden" name="message" value=message.to_string()/>
                    <button class="button quiet small"><Glyph icon=Icon::Picture/> {wish}</button>
                </form>
            </div>
        })}
    }
}

/// A picture; where it is not there yet, how it stands.
#[component]
pub fn PictureView(
    /// The picture.
    picture: Picture,
    /// Where it is looked at.
    href: String,
    /// Whether pictures are made here at all.
    can_make: bool,
) -> impl IntoView {
    let Picture { id, state, problem, wish, facts, file, .. } = picture;
    let problem = problem.map(visible_in_prose);
    match state {
        PictureState::Done => {
            let facts = facts.unwrap_or_default();
            let demo = facts.demo;
            view! {
                <a class="picture-frame" href=href>
                    <img src=file alt=visible_in_prose(wish.prompt) width=facts.width height=facts.height loading="lazy" decoding="async"/>
                    {demo.then(|| view! { <span class="badge demo">"Demo"</span> })}
                </a>
            }
            .into_any()
        }
        PictureState::Queued if problem.is_some() => waiting("Tried again by itself…", problem),
        PictureState::Queued => waiting("Queued…", problem),
        PictureState::Drawing => waiting("Being made…", problem),
        PictureState::Failed => {
            let told = problem.unwrap_or_else(|| "The picture could not be made.".into());
            view! {
                <div class="picture-frame missed">
                    <p class="small">{told}</p>
                    {can_make.then(|| view! {
                        <form method="post" action=RetryPicture::url() data-quiet>
                            <input type="hidden" name="id" value=id.to_string()/>
                            <button class="button small"><Glyph icon=Icon::Undo/> "Try again"</button>
                        </form>
                    })}
                </div>
            }
            .into_any()
        }
    }
}

fn waiting(told: &'static str, problem: Option<String>) -> AnyView {
    view! {
        <div class="picture-frame waits" role="status">
            <p class="small">{told}</p>
            {problem.map(|problem| view! { <p class="small faint">{problem}</p> })}
        </div>
    }
    .into_any()
}

/// What can be done with a picture: other words, a face, deleting it.
#[component]
pub fn PictureTools(
    /// The picture.
    picture: Picture,
    /// Whether pictures are made here at all.
    can_make: bool,
    /// What tells this form from another one of the same picture on the page.
    #[prop(optional)]
    place: &'static str,
) -> impl IntoView {
    let Picture { id, persona_id, message_id, state, wish, .. } = picture;
    let id = id.to_string();
    let there = state == PictureState::Done;
    let (element, field) = (format!("tools-{id}{place}"), format!("prompt-{id}{place}"));
    // What is not drawn yet has no words of its own.
    let worded = can_make && !wish.prompt.is_empty();
    let face = (there && persona_id.is_some()).then(|| {
        view! {
            <form method="post" action=MakeFace::url() data-quiet data-told="It is the face now.">
                <input type="hidden" name="id" value=id.clone()/>
                <button class="button quiet small">"Use as face"</button>
            </form>
        }
    });
    view! {
        <details class="picture-tools" id=element>
            <summary class="button quiet small">"Prompt…"</summary>
            <div class="stack tight">
                {worded.then(|| view! {
                    <form method="post" action=ImaginePicture::url() class="stack tight" data-quiet data-told="Another picture is queued.">
                        {persona_id.map(|persona| view! { <input type="hidden" name="persona" value=persona.to_string()/> })}
                        {message_id.map(|message| view! { <input type="hidden" name="message" value=message.to_string()/> })}
                        <input type="hidden" name="wish[size]" value=wish.size.word()/>
                        <input type="hidden" name="wish[model]" value=wish.model.clone()/>
                        {wish.steps.map(|steps| view! { <input type="hidden" name="wish[steps]" value=steps/> })}
                        {wish.seed.map(|seed| view! { <input type="hidden" name="wish[seed]" value=seed/> })}
                        <label class="sr" for=field.clone()>"What the picture shows"</label>
                        <textarea id=field name="prompt" rows="5" required maxlength=PROMPT.max_chars inner_html=written(&wish.prompt)></textarea>
                        <button class="button small">"Make it from these words"</button>
                    </form>
                })}
                <div class="row tight">
                    {face}
                    <form method="post" action=DeletePicture::url() data-quiet data-told="Deleted. The gallery brings it back for a month.">
                        <input type="hidden" name="id" value=id/>
                        <button class="button quiet small"><Glyph icon=Icon::Bin/> "Delete"</button>
                    </form>
                </div>
            </div>
        </details>
    }
}

/// What is known of a picture, in one line.
pub fn told_facts(facts: &PictureFacts, cost_micros: Option<i64>) -> String {
    let PictureFacts { service, model, demo, width, height, seed, .. } = facts;
    let by = match demo {
        true => "Demo: drawn here, because no image service is set".to_owned(),
        false => format!("{service}, {model}"),
    };
    let seed = seed.map(|seed| format!(" · seed {seed}")).unwrap_or_default();
    let cost = match cost_micros {
        Some(0) => String::new(),
        #[expect(clippy::cast_precision_loss, reason = "a price is small")]
        Some(micros) => format!(" · ${:.4}", micros as f64 / 1e6),
        None => " · price not known".into(),
    };
    format!("{by} · {width} × {height}{seed}{cost}")
}
