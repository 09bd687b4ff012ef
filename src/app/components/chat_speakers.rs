//! Who speaks in a chat, in order: adding, removing and moving personas, by plain forms.

use leptos::{prelude::*, server_fn::ServerFn};

use super::find_persona::FindPersona;
use crate::{
    app::server_fns::{personas::list_personas, several::SetSpeakers},
    domain::{
        chat::{Chat, MAX_MEMBERS},
        id::{ConversationId, PersonaId},
        version::Revision,
    },
};

/// The list, and who can be added.
#[component]
pub fn ChatSpeakers(
    /// The chat.
    chat: Chat,
    /// The name of somebody who is looked for.
    who: String,
) -> impl IntoView {
    let Chat { id, revision, members, .. } = chat;
    let ids: Vec<PersonaId> = members.iter().map(|member| member.persona_id.clone()).collect();
    let last = ids.len() - 1;
    let full = ids.len() >= MAX_MEMBERS;
    let order = |from: usize, to: usize| {
        let mut ids = ids.clone();
        ids.swap(from, to);
        ids
    };
    let (chat, known) = (id.clone(), ids.clone());
    view! {
        <section class="stack" aria-labelledby="speakers">
            <h3 id="speakers">"Who speaks"</h3>
            <ol class="speakers">
                {members.into_iter().enumerate().map(|(at, member)| {
                    let path = format!("/personas/{}", member.persona_id);
                    let list = |ids| List { chat: id.clone(), revision, ids };
                    let mut others = ids.clone();
                    others.remove(at);
                    let name = member.name;
                    view! {
                        <li class="row apart">
                            <span class="one-line"><a href=path>{name.clone()}</a> <span class="faint small">" v" {member.revision}</span></span>
                            <span class="row tight">
                                {(at > 0).then(|| view! { <Press list=list(order(at, at - 1)) label="↑" title=format!("{name} speaks earlier")/> })}
                                {(at < last).then(|| view! { <Press list=list(order(at, at + 1)) label="↓" title=format!("{name} speaks later")/> })}
                                {(last > 0).then(|| view! { <Press list=list(others) label="✕" title=format!("Remove {name}")/> })}
                            </span>
                        </li>
                    }
                }).collect_view()}
            </ol>
            {(!full).then(|| view! {
                <Suspense>
                    {Suspend::new(async move {
                        let page = list_personas(who.clone(), None).await.map(|list| list.page);
                        let (personas, more) = match page {
                            Ok(page) => (page.items, page.next.is_some()),
                            Err(_) => (Vec::new(), false),
                        };
                        let listed = personas.len();
                        let others = personas.into_iter().filter(|persona| !known.contains(&persona.id));
                        let others: Vec<_> = others.map(|persona| (persona.id, persona.name)).collect();
                        let action = format!("/chats/{chat}");
                        let kept = vec![("settings", "1".to_owned())];
                        view! {
                            <Add list=List { chat, revision, ids: known.clone() } others/>
                            <FindPersona action kept who listed more/>
                        }
                    })}
                </Suspense>
            })}
        </section>
    }
}

/// An order in which personas would speak.
#[derive(Clone)]
struct List {
    chat: ConversationId,
    revision: Revision,
    ids: Vec<PersonaId>,
}

/// The fields that name it to a form.
#[component]
fn Fields(list: List) -> impl IntoView {
    view! {
        <input type="hidden" name="id" value=list.chat.to_string()/>
        <input type="hidden" name="revision" value=list.revision.to_string()/>
        {list.ids.into_iter().enumerate().map(|(at, id)| view! {
            <input type="hidden" name=format!("personas[{at}]") value=id.to_string()/>
        }).collect_view()}
    }
}

#[component]
fn Press(list: List, label: &'static str, title: String) -> impl IntoView {
    view! {
        <form method="post" action=SetSpeakers::url() data-quiet>
            <Fields list/>
            <button class="icon tiny" aria-label=title.clone() title=title>{label}</button>
        </form>
    }
}

#[component]
fn Add(list: List, others: Vec<(PersonaId, String)>) -> impl IntoView {
    (!others.is_empty()).then(|| view! {
        <form method="post" action=SetSpeakers::url() class="row tight" data-quiet>
            <Fields list/>
            <label class="grow">
                <span class="sr">"Another persona"</span>
                <select name="add">
                    {others.into_iter().map(|(id, name)| view! { <option value=id.to_string()>{name}</option> }).collect_view()}
                </select>
            </label>
            <button class="button quiet small">"Add"</button>
        </form>
    })
}
