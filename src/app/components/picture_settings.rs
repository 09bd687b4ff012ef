//! What is set about pictures: whether answers get some, and what a day of them may cost.

use leptos::{prelude::*, server_fn::ServerFn};

use super::problem::PageProblem;
use crate::{
    app::{
        platform::gathered,
        server_fns::pictures::{SavePictureSettings, read_picture_settings},
    },
    domain::picture::{MAX_DAILY, PICTURES_OFF, PictureSettings},
};

/// The part of the settings page.
#[component]
pub fn PictureSettingsCard() -> impl IntoView {
    view! {
        <Suspense>
            {Suspend::new(async move {
                match gathered(read_picture_settings()).await {
                    Ok((settings, by)) => shown(settings, by).into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

fn shown(settings: PictureSettings, by: Option<String>) -> impl IntoView {
    let told = match by.as_deref() {
        None => PICTURES_OFF.to_owned(),
        Some("Demo") => "No image service is set, so a demo draws small landscapes. Start the server with --images-url to name one.".to_owned(),
        Some(by) => format!("Pictures are made by {by}."),
    };
    view! {
        <section class="card stack" id="pictures" aria-labelledby="pictures-title">
            <h2 id="pictures-title">"Pictures"</h2>
            <p class="faint">{told}</p>
            {by.map(|_| form(settings))}
        </section>
    }
}

fn form(settings: PictureSettings) -> impl IntoView {
    let PictureSettings { automatic, daily, daily_dollars } = settings;
    let dollars = daily_dollars.map(|dollars| dollars.to_string()).unwrap_or_default();
    view! {
        <form method="post" action=SavePictureSettings::url() class="stack">
            <label class="row tight">
                <input type="checkbox" name="automatic" value="1" checked=automatic/>
                "Answers in chats get pictures by themselves"
            </label>
            <div class="pair">
                <div class="field">
                    <label for="pictures-daily">"Pictures a day, at most"</label>
                    <input id="pictures-daily" type="number" name="daily" min="0" max=MAX_DAILY required value=daily/>
                </div>
                <div class="field">
                    <label for="pictures-dollars">"Dollars a day, at most"</label>
                    <input id="pictures-dollars" type="number" name="daily_dollars" min="0" max="10000" step="any" placeholder="No limit" value=dollars/>
                </div>
            </div>
            <p><button class="button">"Save"</button></p>
        </form>
    }
}
