//! Pictures, as their pages show them.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::domain::{
    change::Outcome,
    error::ApiError,
    id::{MessageId, PersonaId, PictureId},
    list::Page,
    picture::{Picture, PictureSettings, Shape},
};

/// All that the gallery shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GalleryData {
    /// The pictures.
    pub page: Page<Picture>,
    /// The one that is looked at.
    pub open: Option<Picture>,
    /// The personas that changed last, or that have a certain name, with those that the page is about.
    pub personas: Vec<(PersonaId, String)>,
    /// How many of them have that name, or changed last.
    pub listed: usize,
    /// Whether there are more.
    pub more: bool,
    /// How the persona looks whose pictures are shown.
    pub appearance: String,
    /// The image models that can be chosen, with what they are called.
    pub models: Vec<(String, String)>,
    /// Whether one of them can be told the steps and the seed.
    pub tunable: bool,
    /// Whether pictures are drawn here, because no service is set.
    pub demo: bool,
    /// Whether pictures are made here at all.
    pub can_make: bool,
}

/// The advanced part of the form. An empty field is as good as none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WishForm {
    /// The shape.
    pub size: Shape,
    /// How many steps the model takes.
    pub steps: String,
    /// Where its chance begins.
    pub seed: String,
    /// The image model.
    pub model: String,
}

/// The gallery.
#[server(prefix = "/fn", endpoint = "open_gallery")]
pub async fn open_gallery(
    /// Only the pictures of this persona.
    #[server(default)]
    persona: Option<PersonaId>,
    /// The picture to look at.
    #[server(default)]
    picture: Option<PictureId>,
    /// Those that were deleted.
    #[server(default)]
    deleted: bool,
    /// Where to go on.
    #[server(default)]
    after: Option<String>,
    /// Only personas with this in their names are listed.
    #[server(default)]
    who: String,
) -> Result<GalleryData, ApiError> {
    use crate::{
        domain::list::{MAX_PAGE_SIZE, PAGE_SIZE},
        state::desk,
        store::PictureFilter,
    };

    let desk = desk()?;
    let mut link = desk.read().await?;
    let appearance = match &persona {
        Some(persona) => {
            let fields = link.persona(persona).await?.fields;
            let known = fields.roleplay_data.map(|data| data.appearance);
            known.filter(|known| !known.is_empty()).unwrap_or(fields.appearance)
        }
        None => String::new(),
    };
    let filter = PictureFilter { persona: persona.as_ref(), deleted, ..PictureFilter::default() };
    let page = link.pictures(filter, after.as_deref(), PAGE_SIZE).await?;
    let open = match &picture {
        Some(picture) => Some(link.picture(picture).await?),
        None => None,
    };
    let list = link.personas(&who, None, MAX_PAGE_SIZE).await?;
    let (listed, more) = (list.items.len(), list.next.is_some());
    let personas = list.items.into_iter().map(|persona| (persona.id, persona.name));
    let mut personas: Vec<(PersonaId, String)> = personas.collect();
    let shown = open.as_ref().and_then(|picture| picture.persona_id.clone());
    for id in persona.into_iter().chain(shown) {
        // One in the bin is nobody's choice.
        if personas.iter().all(|(known, _)| *known != id)
            && let Ok(persona) = link.persona(&id).await
        {
            personas.insert(0, (id, persona.fields.name));
        }
    }
    let artist = desk.jobs.artist();
    let (models, tunable, demo) = (artist.models(), artist.is_tunable(), artist.is_demo());
    let can_make = desk.jobs.makes_pictures();
    Ok(GalleryData {
        page,
        open,
        personas,
        listed,
        more,
        appearance,
        models,
        tunable,
        demo,
        can_make,
    })
}

/// Has a picture made.
#[server(prefix = "/fn", endpoint = "imagine_picture")]
pub async fn imagine_picture(
    /// What it shows; empty for the moment of an answer.
    #[server(default)]
    prompt: String,
    /// Whom it shows.
    #[server(default)]
    persona: Option<PersonaId>,
    /// The message it belongs to.
    #[server(default)]
    message: Option<MessageId>,
    /// What else is wanted.
    #[server(default)]
    wish: WishForm,
) -> Result<PictureId, ApiError> {
    use crate::{
        domain::picture::Wish,
        jobs::Imagine,
        state::{desk, form_number},
    };

    let desk = desk()?;
    let WishForm { size, steps, seed, mut model } = wish;
    // Other words for a picture of a service that is gone are drawn here.
    if !desk.jobs.artist().may_have(&model) {
        model.clear();
    }
    let (steps, seed) = (form_number("steps", &steps)?, form_number("seed", &seed)?);
    let wish = Wish { prompt, size, steps, seed, model };
    let persona = persona.filter(|persona| !persona.as_str().is_empty());
    Ok(desk.jobs.imagine(&desk.scope, Imagine { persona, message, wish }).await?.id)
}

/// Tries again to make a picture.
#[server(prefix = "/fn", endpoint = "retry_picture")]
pub async fn retry_picture(
    /// Which one.
    id: PictureId,
) -> Result<(), ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    desk.jobs.retry_picture(&desk.scope, &id).await.map(drop)
}

/// Deletes a picture, or brings it back.
#[server(prefix = "/fn", endpoint = "delete_picture")]
pub async fn delete_picture(
    /// Which one.
    id: PictureId,
    /// Whether it comes back.
    #[server(default)]
    back: bool,
) -> Result<(), ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    let marked = match back {
        true => desk.jobs.restore_picture(&desk.scope, &id).await?,
        false => desk.jobs.delete_picture(&desk.scope, &id).await?,
    };
    // Whoever looked at a picture alone has nothing to look at now.
    if marked.message_id.is_none() {
        leptos_axum::redirect(if back { "/gallery?deleted=1" } else { "/gallery" });
    }
    Ok(())
}

/// Makes a picture the face of a persona.
#[server(prefix = "/fn", endpoint = "make_face")]
pub async fn make_face(
    /// Which picture.
    id: PictureId,
    /// Whose face; the persona that the picture shows unless said.
    #[server(default)]
    persona: Option<PersonaId>,
) -> Result<Outcome, ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    let persona = persona.filter(|persona| !persona.as_str().is_empty());
    desk.jobs.make_face(&desk.gate, &desk.scope, &id, persona).await
}

/// What is set about pictures, and who makes them; `None` where none are made.
#[server(prefix = "/fn", endpoint = "read_picture_settings")]
pub async fn read_picture_settings() -> Result<(PictureSettings, Option<String>), ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    let settings = desk.jobs.picture_settings(&desk.scope).await?;
    let by = desk.jobs.makes_pictures().then(|| desk.jobs.artist().label().to_owned());
    Ok((settings, by))
}

/// Sets what is wanted about pictures.
#[server(prefix = "/fn", endpoint = "save_picture_settings")]
pub async fn save_picture_settings(
    /// Set when answers in chats get pictures by themselves.
    #[server(default)]
    automatic: Option<String>,
    /// How many pictures are made in a day at most.
    daily: u32,
    /// How many dollars they may cost in a day; empty for no such limit.
    #[server(default)]
    daily_dollars: String,
) -> Result<(), ApiError> {
    use crate::state::{desk, form_number};

    let desk = desk()?;
    let daily_dollars = form_number("dailyDollars", &daily_dollars)?;
    let settings = PictureSettings { automatic: automatic.is_some(), daily, daily_dollars };
    desk.jobs.set_picture_settings(&desk.scope, &settings).await
}
