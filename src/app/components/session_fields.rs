//! What can be chosen for a session of the playground. The server renders it.

use leptos::prelude::*;

use super::written::written;
use crate::{
    app::server_fns::models::NamedModel,
    domain::{
        playground::{VALUE, Variables, variable_field},
        version::{Revision, VersionSummary},
        visible::visible_in_prose,
    },
};

/// A field for each place in the prompt.
#[component]
pub fn VariableFields(
    /// What the places are called.
    names: Vec<String>,
    /// What stands in for them.
    values: Variables,
) -> impl IntoView {
    let fields = names.into_iter().map(|name| {
        let value = values.get(&name).cloned().unwrap_or_default();
        let (id, field) = (format!("variable-{name}"), variable_field(&name));
        let rows = value.lines().count().clamp(1, 8).to_string();
        view! {
            <div class="field">
                <label for=id.clone()><code>{visible_in_prose(format!("{{{{{name}}}}}"))}</code></label>
                <textarea id=id name=field rows=rows maxlength=VALUE.max_chars inner_html=written(&value)></textarea>
            </div>
        }
    });
    fields.collect_view()
}

/// The version that speaks.
#[component]
pub fn VersionChoice(
    /// Those that can be chosen, the newest first.
    versions: Vec<VersionSummary>,
    /// The one that is.
    chosen: Revision,
) -> impl IntoView {
    let known = versions.iter().any(|version| version.revision == chosen);
    let older = (!known)
        .then(|| view! { <option value=chosen.to_string() selected=true>"v" {chosen}</option> });
    view! {
        <div class="field">
            <label for="session-version">"Version"</label>
            <select id="session-version" name="revision">
                {versions.into_iter().enumerate().map(|(at, version)| {
                    let newest = if at == 0 { " (newest)" } else { "" };
                    let labels: String = version.labels.iter().map(|label| format!(" · {label}")).collect();
                    let told = visible_in_prose(format!("v{}{newest}{labels}", version.revision));
                    view! { <option value=version.revision.to_string() selected=version.revision == chosen>{told}</option> }
                }).collect_view()}
                {older}
            </select>
        </div>
    }
}

/// The model that answers.
#[component]
pub fn ModelChoice(
    /// Those that can be chosen.
    models: Vec<NamedModel>,
    /// The persona's own; empty for the default one.
    own: String,
    /// The one that is; empty for the persona's own.
    chosen: String,
) -> impl IntoView {
    let own = match own.as_str() {
        "" => "The persona’s own".to_owned(),
        own => format!("The persona’s own ({own})"),
    };
    let known = chosen.is_empty() || models.iter().any(|model| model.id == chosen);
    let gone = (!known)
        .then(|| view! { <option value=chosen.clone() selected=true>{chosen.clone()}</option> });
    view! {
        <div class="field">
            <label for="session-model">"Model"</label>
            <select id="session-model" name="model">
                <option value="" selected=chosen.is_empty()>{own}</option>
                {gone}
                {model_options(&models, &chosen)}
            </select>
        </div>
    }
}

/// The models, by the services that run them.
pub fn model_options(models: &[NamedModel], chosen: &str) -> impl IntoView + use<> {
    let mut services: Vec<&str> = Vec::new();
    for model in models {
        if !services.contains(&model.service.as_str()) {
            services.push(&model.service);
        }
    }
    let groups = services.into_iter().map(|service| {
        let own = models.iter().filter(|model| model.service == service);
        let options = own.map(|model| {
            view! { <option value=model.id.clone() selected=model.id == chosen>{model.label.clone()}</option> }
        });
        view! { <optgroup label=service.to_owned()>{options.collect_view()}</optgroup> }
    });
    groups.collect_view()
}
