//! What a person sets.

use leptos::{prelude::*, server_fn::ServerFn};

use crate::{
    app::{
        components::{
            budget_settings::BudgetSettingsCard, page_title::PageTitle,
            picture_settings::PictureSettingsCard, problem::PageProblem, theme_switch::ThemeSwitch,
        },
        platform::gathered,
        server_fns::models::{
            AddModel, ModelSettings, NamedModel, RemoveModel, ResetService, SaveService,
            SetDefaultModel, list_models,
        },
    },
    domain::model::{Service, ServiceStatus},
};

/// The settings. Their forms are plain ones: what is set changes what every page shows, so the page is
/// loaded anew.
#[component]
pub fn SettingsPage() -> impl IntoView {
    view! {
        <PageTitle text="Settings"/>
        <header class="page-head"><h1>"Settings"</h1></header>
        <div class="stack settings">
        <section class="card stack">
            <h2>"Colours"</h2>
            <p class="faint">"Auto follows your system. The choice is kept in this browser."</p>
            <ThemeSwitch/>
        </section>
        <Suspense>
            {Suspend::new(async move {
                match gathered(list_models()).await {
                    Ok(settings) => view! { <Models settings/> }.into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
        <BudgetSettingsCard/>
        <PictureSettingsCard/>
        </div>
    }
}

#[component]
fn Models(settings: ModelSettings) -> impl IntoView {
    let ModelSettings { services, models, default_model } = settings;
    let mine = models.iter().filter(|model| model.added).cloned().collect::<Vec<_>>();
    let names = services
        .iter()
        .filter(|status| status.service.dialect != "demo")
        .map(|status| (status.service.service.clone(), status.service.label.clone()))
        .collect::<Vec<_>>();
    let (keyed, rest): (Vec<_>, Vec<_>) = services
        .into_iter()
        .filter(|status| status.service.dialect != "demo")
        .partition(|status| status.changed || (status.ready && !status.service.key_ref.is_empty()));
    view! {
        <section class="card stack" aria-labelledby="default-title">
            <h2 id="default-title">"Default model"</h2>
            <p class="faint">"Speaks when a persona names no model of its own."</p>
            <form method="post" action=SetDefaultModel::url() class="row wrap">
                <label class="sr" for="default-model">"Default model"</label>
                <select id="default-model" name="model">
                    {models.iter().map(|model| {
                        let chosen = model.id == default_model;
                        view! { <option value=model.id.clone() selected=chosen>{model.label.clone()} " (" {model.service.clone()} ")"</option> }
                    }).collect_view()}
                </select>
                <button class="button">"Use this model"</button>
            </form>
        </section>
        <section class="card stack" aria-labelledby="services-title">
            <h2 id="services-title">"Services and keys"</h2>
            <p class="faint">
                "Best, a key stays where it is: name the variable (" <code>"env:NAME"</code> ") or the file ("
                <code>"file:/path"</code> ") that holds it, and Greenroom reads it when it is needed. A key that you paste "
                "is kept sealed; it is sent to this address only, and only its last characters are ever shown again."
            </p>
            <ul class="services">{keyed.into_iter().map(|status| view! { <ServiceRow status/> }).collect_view()}</ul>
            <ul class="services">{rest.into_iter().map(|status| view! { <ServiceRow status/> }).collect_view()}</ul>
            <details class="details">
                <summary>"Add a service"</summary>
                <form method="post" action=SaveService::url() class="stack">
                    <div class="pair">
                        <Line name="service" label="Its word in model strings" hint="my-server, for my-server/model-name" value=String::new()/>
                        <Line name="label" label="Label" hint="What you call it" value=String::new()/>
                    </div>
                    <div class="field">
                        <label for="new-dialect">"Dialect"</label>
                        <select id="new-dialect" name="dialect">
                            <option value="openai-chat">"OpenAI Chat Completions (most servers)"</option>
                            <option value="openai-responses">"OpenAI Responses"</option>
                            <option value="anthropic">"Anthropic Messages"</option>
                            <option value="gemini">"Gemini"</option>
                        </select>
                    </div>
                    <Reach service=Service::default()/>
                    <p><button class="button">"Add service"</button></p>
                </form>
            </details>
        </section>
        <section class="card stack" aria-labelledby="models-title">
            <h2 id="models-title">"Your models"</h2>
            <p class="faint">"Any model of a service can be used by its string, like " <code>"ollama/qwen3:4b"</code> ". Add it here to give it its limits and its price. Ollama cuts long prompts silently: raise its context length, or add the model with its real context."</p>
            <ul class="services">{mine.into_iter().map(|model| view! { <ModelRow model/> }).collect_view()}</ul>
            <details class="details">
                <summary>"Add a model"</summary>
                <form method="post" action=AddModel::url() class="stack">
                    <div class="pair">
                        <div class="field">
                            <label for="model-service">"Service"</label>
                            <select id="model-service" name="model[service]">
                                {names.into_iter().map(|(word, label)| view! { <option value=word>{label}</option> }).collect_view()}
                            </select>
                        </div>
                        <Line name="model[name]" label="Its name there" hint="As the service knows it" value=String::new()/>
                    </div>
                    <div class="pair">
                        <Line name="model[context]" label="Tokens it can read" hint="Its context" value="32000".into()/>
                        <Line name="model[max_output]" label="Tokens of one answer" hint="At most" value="4096".into()/>
                    </div>
                    <div class="pair">
                        <Line name="model[input_price]" label="Dollars per million read" hint="Empty when not known" value=String::new() optional=true/>
                        <Line name="model[output_price]" label="Dollars per million written" hint="Empty when not known" value=String::new() optional=true/>
                    </div>
                    <label class="row"><input type="checkbox" name="model[tools]" value="yes" checked/> "It can use tools"</label>
                    <label class="row"><input type="checkbox" name="model[reasoning]" value="yes"/> "It reasons"</label>
                    <p><button class="button">"Add model"</button></p>
                </form>
            </details>
        </section>
    }
}

/// A service, closed; open it shows how it is reached.
#[component]
fn ServiceRow(status: ServiceStatus) -> impl IntoView {
    let ServiceStatus { service, built_in, changed, ready } = status;
    let state = match (ready, service.key_ref.is_empty()) {
        (true, true) => "needs no key",
        (true, false) => "key found",
        (false, _) => "no key",
    };
    let reset = if built_in { "As it came" } else { "Remove" };
    view! {
        <li>
            <details class="details">
                <summary>
                    <strong>{service.label.clone()}</strong>
                    <span class="badge" class:good=ready && !service.key_ref.is_empty()>{state}</span>
                    {changed.then(|| view! { <span class="badge">"changed"</span> })}
                </summary>
                <form method="post" action=SaveService::url() class="stack">
                    <input type="hidden" name="service" value=service.service.clone()/>
                    <input type="hidden" name="label" value=service.label.clone()/>
                    <input type="hidden" name="dialect" value=service.dialect.clone()/>
                    <Reach service=service.clone()/>
                    <p><button class="button">"Save"</button></p>
                </form>
                {changed.then(|| view! {
                    <form method="post" action=ResetService::url()>
                        <input type="hidden" name="service" value=service.service.clone()/>
                        <button class="button quiet">{reset}</button>
                    </form>
                })}
            </details>
        </li>
    }
}

/// The fields that say how a service is reached.
#[component]
fn Reach(service: Service) -> impl IntoView {
    let word = if service.service.is_empty() { "new".into() } else { service.service };
    let (base, key) = (format!("base-{word}"), format!("key-{word}"));
    let paste = format!("paste-{word}");
    view! {
        <div class="pair">
            <div class="field">
                <label for=base.clone()>"Address"</label>
                <input id=base name="base_url" type="url" required value=service.base_url/>
                <small class="faint">"Where its API begins, like https://example.org/v1"</small>
            </div>
            <div class="field">
                <label for=key.clone()>"Key"</label>
                <input id=key name="key_ref" autocomplete="off" spellcheck="false" placeholder="env:NAME or file:/path" value=service.key_ref/>
                <small class="faint">"Where the key is found; empty when it needs none"</small>
            </div>
        </div>
        <div class="field">
            <label for=paste.clone()>"Or paste a key"</label>
            <input id=paste name="key" type="password" autocomplete="new-password" spellcheck="false"/>
            <small class="faint">"It takes the place of the one above. At another address it is forgotten."</small>
        </div>
    }
}

/// A model that was added.
#[component]
fn ModelRow(model: NamedModel) -> impl IntoView {
    view! {
        <li class="row apart">
            <span><strong>{model.label.clone()}</strong> " " <code>{model.id.clone()}</code></span>
            <form method="post" action=RemoveModel::url()>
                <input type="hidden" name="id" value=model.id.clone()/>
                <button class="button quiet" aria-label=format!("Remove {}", model.label)>"Remove"</button>
            </form>
        </li>
    }
}

/// A labelled field of one line in a plain form.
#[component]
fn Line(
    name: &'static str,
    label: &'static str,
    hint: &'static str,
    value: String,
    #[prop(optional)] optional: bool,
) -> impl IntoView {
    let id = format!("new-{}", name.replace(['[', ']'], "-"));
    view! {
        <div class="field">
            <label for=id.clone()>{label}</label>
            <input id=id name=name autocomplete="off" required=!optional value=value/>
            <small class="faint">{hint}</small>
        </div>
    }
}
