//! What a Space has set: services, models, and which model speaks when nobody says.

use super::{Link, StoreError, link::on, now};
use crate::domain::model::{Model, Service};

/// What a Space has set about models.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelSettings {
    /// The models that were added, by name.
    pub added: Vec<Model>,
    /// The services that were set up, by name.
    pub services: Vec<Service>,
    /// The model that speaks when nobody says which.
    pub preferred: Option<String>,
}

impl Link {
    /// All that was set about models, at once: every answer begins with it. The preferred model is kept
    /// under this name.
    pub async fn model_settings(&mut self, preference: &str) -> Result<ModelSettings, StoreError> {
        const SQL: &str = "select 'model' as kind, model_id as name, facts as label, '' as dialect,
                '' as base_url, '' as key_ref
            from model where space_id = $1
            union all
            select 'service', service, label, dialect, base_url, key_ref
            from service where space_id = $1
            union all
            select 'preference', name, value, '', '', ''
            from preference where space_id = $1 and name = $2
            order by 1, 2";
        let space = self.space.clone();
        let rows: Vec<(String, String, String, String, String, String)> = on!(self, wire =>
            sqlx::query_as(SQL).bind(space.as_str()).bind(preference).fetch_all(wire).await?);
        let mut settings = ModelSettings::default();
        for (kind, service, label, dialect, base_url, key_ref) in rows {
            match kind.as_str() {
                "model" => settings.added.push(StoreError::read_json(&label)?),
                "service" => {
                    settings.services.push(Service { service, label, dialect, base_url, key_ref });
                }
                _ => settings.preferred = Some(label),
            }
        }
        Ok(settings)
    }

    /// The services that were set up, by name.
    pub async fn services(&mut self) -> Result<Vec<Service>, StoreError> {
        const SQL: &str = "select service, label, dialect, base_url, key_ref from service
            where space_id = $1 order by service";
        let space = self.space.clone();
        let rows: Vec<(String, String, String, String, String)> = on!(self, wire =>
            sqlx::query_as(SQL).bind(space.as_str()).fetch_all(wire).await?);
        let service = |(service, label, dialect, base_url, key_ref)| Service {
            service,
            label,
            dialect,
            base_url,
            key_ref,
        };
        Ok(rows.into_iter().map(service).collect())
    }

    /// Sets a service up.
    pub async fn put_service(&mut self, service: &Service) -> Result<(), StoreError> {
        const SQL: &str = "insert into service
            (space_id, service, label, dialect, base_url, key_ref, updated_at)
            values ($1, $2, $3, $4, $5, $6, $7)
            on conflict (space_id, service) do update set label = excluded.label,
                dialect = excluded.dialect, base_url = excluded.base_url,
                key_ref = excluded.key_ref, updated_at = excluded.updated_at";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(&service.service).bind(&service.label)
            .bind(&service.dialect).bind(&service.base_url).bind(&service.key_ref).bind(now().0)
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Forgets how a service was set up. `false` when it was not.
    pub async fn delete_service(&mut self, service: &str) -> Result<bool, StoreError> {
        const SQL: &str = "delete from service where space_id = $1 and service = $2";
        let space = self.space.clone();
        let gone = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(service).execute(wire).await?.rows_affected());
        Ok(gone > 0)
    }

    /// The models that were added, by name.
    pub async fn added_models(&mut self) -> Result<Vec<Model>, StoreError> {
        const SQL: &str = "select facts from model where space_id = $1 order by model_id";
        let space = self.space.clone();
        let rows: Vec<String> = on!(self, wire =>
            sqlx::query_scalar(SQL).bind(space.as_str()).fetch_all(wire).await?);
        rows.iter().map(|facts| StoreError::read_json(facts)).collect()
    }

    /// Adds a model, or changes what is known of it.
    pub async fn put_model(&mut self, model: &Model) -> Result<(), StoreError> {
        const SQL: &str = "insert into model (space_id, model_id, facts, updated_at)
            values ($1, $2, $3, $4)
            on conflict (space_id, model_id) do update set facts = excluded.facts,
                updated_at = excluded.updated_at";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(&model.id).bind(serde_json::json!(model).to_string())
            .bind(now().0).execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Forgets a model. `false` when it was not added.
    pub async fn delete_model(&mut self, id: &str) -> Result<bool, StoreError> {
        const SQL: &str = "delete from model where space_id = $1 and model_id = $2";
        let space = self.space.clone();
        let gone = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id).execute(wire).await?.rows_affected());
        Ok(gone > 0)
    }

    /// What was preferred under this name.
    pub async fn preference(&mut self, name: &str) -> Result<Option<String>, StoreError> {
        const SQL: &str = "select value from preference where space_id = $1 and name = $2";
        let space = self.space.clone();
        Ok(on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(name).fetch_optional(wire).await?))
    }

    /// Prefers something under this name.
    pub async fn set_preference(&mut self, name: &str, value: &str) -> Result<(), StoreError> {
        const SQL: &str = "insert into preference (space_id, name, value, updated_at)
            values ($1, $2, $3, $4)
            on conflict (space_id, name) do update set value = excluded.value,
                updated_at = excluded.updated_at";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(name).bind(value).bind(now().0)
            .execute(wire).await.map(drop)?);
        Ok(())
    }
}
