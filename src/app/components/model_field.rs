//! Choosing a model by what it is called, what it costs and what it can do. The server renders it.

use leptos::prelude::*;

use crate::{app::server_fns::models::NamedModel, domain::field::grouped};

/// The field.
#[component]
pub fn ModelField(
    /// The model string that is chosen; empty means the persona's own.
    chosen: String,
    /// The persona's own; empty means the default one.
    own: String,
    /// The models there are.
    models: Vec<NamedModel>,
) -> impl IntoView {
    let own_label = match models.iter().find(|model| model.id == own) {
        _ if own.is_empty() => "The persona’s own".to_owned(),
        Some(model) => format!("The persona’s own ({})", model.label),
        None => format!("The persona’s own ({own})"),
    };
    // One that was forgotten since stays chosen until the person chooses another.
    let forgotten = !chosen.is_empty() && models.iter().all(|model| model.id != chosen);
    let gone = forgotten.then(|| {
        view! { <option value=chosen.clone() selected=true>{format!("{chosen} (not known any more)")}</option> }
    });
    let now = if chosen.is_empty() { &own } else { &chosen };
    let facts = models.iter().find(|model| model.id == *now).map(facts);
    let options = models.iter().map(|model| {
        let (price, able) = (price(model), abilities(&model.abilities));
        let label = format!("{} · {} · {price} · {able}", model.label, model.service);
        view! { <option value=model.id.clone() selected=model.id == chosen>{label}</option> }
    });
    let options = options.collect_view();
    view! {
        <div class="field">
            <label for="chat-model">"Model"</label>
            <select id="chat-model" name="settings[model]" aria-describedby="chat-model-facts">
                <option value="" selected=chosen.is_empty()>{own_label}</option>
                {gone}
                {options}
            </select>
            <small class="faint" id="chat-model-facts">{facts}</small>
            <details class="small" id="model-list">
                <summary>"What the models cost and can do"</summary>
                <ModelList models/>
            </details>
        </div>
    }
}

/// All models with their prices and abilities, one below the other: beside a chat there is no room for columns.
#[component]
fn ModelList(models: Vec<NamedModel>) -> impl IntoView {
    view! {
        <ul class="models">
            {models.into_iter().map(|model| {
                let facts = facts(&model);
                view! {
                    <li>
                        <p><strong>{model.label}</strong> <span class="faint">" · " {model.service}</span></p>
                        <p>{facts}</p>
                    </li>
                }
            }).collect_view()}
        </ul>
    }
}

fn price(model: &NamedModel) -> String {
    match model.price {
        Some(price) if price.input == 0.0 && price.output == 0.0 => "free".to_owned(),
        Some(price) => format!("${} in, ${} out", price.input, price.output),
        None => "price not known".to_owned(),
    }
}

fn tokens(count: u64) -> String {
    match count {
        1_000_000.. => format!("{}M tokens", (count as f64 / 100_000.0).round() / 10.0),
        1000.. => format!("{}k tokens", count / 1000),
        _ => format!("{} tokens", grouped(count)),
    }
}

fn abilities(abilities: &[String]) -> String {
    if abilities.is_empty() { "words only".to_owned() } else { abilities.join(", ") }
}

fn facts(model: &NamedModel) -> String {
    let (price, tokens) = (price(model), tokens(model.context));
    let per =
        if model.price.is_some_and(|price| price.input > 0.0) { " a million tokens" } else { "" };
    format!("{price}{per} · reads up to {tokens} · {}", abilities(&model.abilities))
}
